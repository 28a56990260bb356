"""Which code a function of the library holds: a variant for each winner, and for sizes between."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from engine.c_library.library_winner import LibraryWinner
from engine.c_library.own_kernel import OwnKernel
from engine.c_library.shipped_kernel import ShippedKernel
from engine.c_library.variant import Function, LibraryKernel, Variant
from foundation.errors import UserError
from foundation.triton_options import PREFETCH
from rvv_runner.usage import without_cores
from triton_rvv.targets.target import RVVTarget

__all__ = ["library_functions"]


def library_functions(
    winners: Sequence[LibraryWinner], tell: Callable[[str], None]
) -> list[Function]:
    """A function for each kernel and element type, with variants for every vector length.

    Where a function was not tuned at a vector length, it has the winners of the nearest one. `tell`
    takes what is done now, for each kernel that is run at other sizes.

    Raises:
        UserError: if boards with one vector length need different code, or two kernels have one
            name.
    """
    targets = _targets(winners)
    kernels = sorted({(winner.kernel, winner.dtype, winner.file) for winner in winners})
    functions: dict[str, Function] = {}
    for kernel, dtype, file in kernels:
        own = [w for w in winners if (w.kernel, w.dtype, w.file) == (kernel, dtype, file)]
        name = f"tuned_{kernel.strip('_')}_{dtype}"
        if file:
            tell(f"{name}: running it at other sizes on this machine")
        code = _own(file, dtype, own) if file else ShippedKernel(kernel, dtype)
        if name in functions:
            raise UserError(
                f"two kernels would be {name} in C, and one of them is in {file}: "
                "export their studies to two libraries"
            )
        variants = code.variants([v for target in targets for v in _tuned(own, target)])
        # Of two that are as near, the first is taken.
        variants = [*_exact(code, variants), *variants]
        functions[name] = Function(name, dtype, code, _named(name, code, variants))
    return list(functions.values())


def _own(file: str, dtype: str, winners: Sequence[LibraryWinner]) -> OwnKernel:
    kernel = OwnKernel(file, dtype)
    for winner in winners:
        kernel.add(winner.config, winner.shape)
    return kernel


def _named(function: str, code: LibraryKernel, variants: Sequence[Variant]) -> tuple[Variant, ...]:
    """The variants with their entries."""
    entries: dict[str, str] = {}
    named = []
    for variant in variants:
        constants = repr(sorted(code.constants(variant).items(), key=str))
        at = sorted(variant.shape.items()) if variant.exact else None
        key = constants, variant.config.get(PREFETCH), variant.target, at
        entry = f"{function}_vlen{variant.target.vlen_bits}_{len(entries)}"
        named.append(replace(variant, entry=entries.setdefault(repr(key), entry)))
    return tuple(named)


def _exact(code: LibraryKernel, variants: Sequence[Variant]) -> list[Variant]:
    """What was measured, beside the code of the same configurations for any sizes."""
    return [
        replace(variant, exact=True)
        for variant in variants
        if code.is_tuned(variant) and variant.shape == variant.winner.shape
    ]


def _targets(winners: Sequence[LibraryWinner]) -> list[RVVTarget]:
    targets: dict[int, LibraryWinner] = {}
    for winner in winners:
        vlen_bits = winner.target.vlen_bits
        other = targets.setdefault(vlen_bits, winner)
        if other.target != winner.target:
            raise UserError(
                f"a library has one core's code for vectors of {vlen_bits} bits, and the studies "
                f"{other.study} ({other.target}) and {winner.study} ({winner.target}) are of two: "
                f"export them to two libraries, one with --device {without_cores(other.device)} "
                f"and one with --device {without_cores(winner.device)}, each with its own --out"
            )
    return [targets[vlen_bits].target for vlen_bits in sorted(targets)]


def _tuned(winners: Sequence[LibraryWinner], target: RVVTarget) -> list[Variant]:
    """One function's tuned variants for one vector length."""
    lengths = {winner.target.vlen_bits for winner in winners}
    nearest = min(lengths, key=lambda bits: (abs(math.log2(bits / target.vlen_bits)), bits))
    own = (winner for winner in winners if winner.target.vlen_bits == nearest)
    return [Variant(target, winner.config, winner.shape, winner) for winner in own]
