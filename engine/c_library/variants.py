"""Which code a function of the library holds: a variant for each winner, and for sizes between."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from engine.c_library.winners import LibraryWinner
from foundation.config import Config, ParameterValue
from foundation.errors import UserError
from foundation.shapes import Shape
from kernels.plain_calls import plain_call
from kernels.plain_calls.call import PlainCall, config_at
from kernels.registry import load_kernel
from kernels.spec import KernelSpec, Problem
from triton_rvv.targets.target import RVVTarget

__all__ = ["Function", "Variant", "library_functions"]

# The smallest size for which a block that covers it has code of its own.
_LEAST_COVERED = 16


@dataclass(frozen=True)
class Variant:
    """A configuration of a kernel for one vector length.

    Args:
        target: what its code is made for.
        config: the configuration.
        shape: the sizes for which it is right, or near which it is taken.
        covers: the largest size that its block covers; 0 if none has to be covered.
        winner: what it comes from. Its configuration, target and shape may differ.
        entry: the symbol of its code; variants that differ in their shape share one.
    """

    target: RVVTarget
    config: Config
    shape: Shape
    covers: int
    winner: LibraryWinner
    entry: str = ""

    @property
    def is_tuned(self) -> bool:
        """Whether exactly this was measured."""
        winner = self.winner
        return (self.config, self.target) == (winner.config, winner.target)


@dataclass(frozen=True)
class Function:
    """A kernel with one element type, as the library has it: `name` in C."""

    kernel: str
    dtype: str
    variants: tuple[Variant, ...]

    @property
    def name(self) -> str:
        """Its name in C."""
        return f"tuned_{self.kernel}_{self.dtype}"

    @property
    def spec(self) -> KernelSpec:
        """The kernel."""
        return load_kernel(self.kernel)

    @property
    def call(self) -> PlainCall:
        """The kernel's plain call."""
        return plain_call(self.kernel)

    def problem(self, shape: Shape) -> Problem:
        """The kernel at a shape."""
        return Problem(self.spec, shape, self.dtype)

    def constants(self, variant: Variant) -> dict[str, ParameterValue | None]:
        """Of a variant's code: right for every size that the call takes.

        A kernel may leave out masks where its blocks divide the sizes of the study; the sizes that
        stand here for all others are odd, so that none is left out.
        """
        call = self.call
        odd = {
            name: (size // call.multiple_of.get(name, 1) | 1) * call.multiple_of.get(name, 1)
            for name, size in variant.shape.items()
        }
        if call.covered is not None:
            odd[call.covered.size] = max(variant.covers - 1, 1)
        return dict(self.problem(odd).constants(variant.config))


def library_functions(winners: Sequence[LibraryWinner]) -> list[Function]:
    """A function for each kernel and element type, with variants for every vector length.

    Where a function was not tuned at a vector length, it has the winners of the nearest one.

    Raises:
        UserError: if boards with one vector length need different code.
    """
    targets = _targets(winners)
    names = sorted({(winner.kernel, winner.dtype) for winner in winners})
    functions = []
    for kernel, dtype in names:
        empty = Function(kernel, dtype, ())
        own = [winner for winner in winners if (winner.kernel, winner.dtype) == (kernel, dtype)]
        variants = [v for target in targets for v in _variants(empty, own, target)]
        functions.append(replace(empty, variants=_named(empty.name, variants)))
    return functions


def _named(function: str, variants: Sequence[Variant]) -> tuple[Variant, ...]:
    """The variants with their entries."""
    entries: dict[object, str] = {}
    for variant in variants:
        entry = f"{function}_vlen{variant.target.vlen_bits}_{len(entries)}"
        entries.setdefault((variant.config, variant.target), entry)
    return tuple(replace(v, entry=entries[v.config, v.target]) for v in variants)


def _targets(winners: Sequence[LibraryWinner]) -> list[RVVTarget]:
    targets: dict[int, LibraryWinner] = {}
    for winner in winners:
        vlen_bits = winner.target.vlen_bits
        other = targets.setdefault(vlen_bits, winner)
        if other.target != winner.target:
            raise UserError(
                f"a library has one core's code for vectors of {vlen_bits} bits, and the studies "
                f"{other.study} ({other.target}) and {winner.study} ({winner.target}) are of two: "
                "export them to two libraries"
            )
    return [targets[vlen_bits].target for vlen_bits in sorted(targets)]


def _variants(
    function: Function, winners: Sequence[LibraryWinner], target: RVVTarget
) -> list[Variant]:
    """One function's variants for one vector length."""
    lengths = {winner.target.vlen_bits for winner in winners}
    nearest = min(lengths, key=lambda bits: (abs(math.log2(bits / target.vlen_bits)), bits))
    tuned = [
        Variant(target, w.config, w.shape, _covers(function, w.shape), w)
        for w in winners
        if w.target.vlen_bits == nearest
    ]
    return [*tuned, *_between(function, tuned)]


def _covers(function: Function, shape: Shape) -> int:
    covered = function.call.covered
    return 0 if covered is None else _power_above(shape[covered.size])


def _power_above(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _between(function: Function, tuned: Sequence[Variant]) -> Iterator[Variant]:
    """Variants for sizes that have to be covered, and that no winner covers closely."""
    covered = function.call.covered
    if covered is None:
        return
    known = {variant.covers for variant in tuned}
    size = _LEAST_COVERED
    while size <= covered.most:
        if size not in known:
            apart = min(abs(math.log2(covers / size)) for covers in known)
            near = [v for v in tuned if abs(math.log2(v.covers / size)) == apart]
            yield from _unique(_resized(function, variant, size) for variant in near)
        size *= 2


def _resized(function: Function, variant: Variant, size: int) -> Variant:
    covered = function.call.covered
    assert covered is not None
    shape = {**variant.shape, covered.size: size}
    config = config_at(function.problem(shape), variant.config, function.call)
    return replace(variant, config=config, shape=shape, covers=size)


def _unique(variants: Iterator[Variant]) -> list[Variant]:
    """The first with each configuration and number of cores."""
    first: dict[tuple[Config, int], Variant] = {}
    for variant in variants:
        first.setdefault((variant.config, variant.winner.cores), variant)
    return list(first.values())
