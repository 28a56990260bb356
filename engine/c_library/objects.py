"""The members of the library's archive: an object for each configuration, and the C around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from engine.c_library.variant import Function, Variant
from foundation.c_expressions import Expression
from foundation.errors import UserError
from foundation.triton_options import PREFETCH
from triton_rvv.codegen.zig import run_zig_ar, run_zig_cc
from triton_rvv.errors import CompileError
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.machine import Prefetch
from triton_rvv.targets.target import with_prefetch

__all__ = ["archive", "compile_c", "compile_variants", "parameters", "symbolic_sizes"]

# The C is for any libc: it shares with it only what the system's own interface fixes.
_C_FLAGS = ("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Werror", "-fwrapv", "-fPIC", "-c")
_TIMEOUT_S = 120.0


def parameters(function: Function) -> dict[str, str]:
    """Triton's type of each of the kernel's arguments at run time, in the kernel's order."""
    call = function.call
    types = {
        argument: f"*{array.element_type(function.dtype)}"
        for array in call.arrays
        for argument in (array.argument, *array.also)
    }
    types |= dict.fromkeys([array.stride for array in call.strided], "i32")
    types |= dict.fromkeys(call.integers(symbolic_sizes(function)), "i32")
    types |= call.integer_types
    types |= {number.argument: number.dtype for number in call.numbers}
    types |= {name: f"*{dtype}" for name, dtype in call.unused.items()}
    types |= {room.argument: f"*{room.dtype}" for room in call.rooms}
    return {name: types[name] for name in function.kernel.function.arg_names if name in types}


def symbolic_sizes(function: Function) -> dict[str, Expression]:
    """The sizes of a call as the C function names them."""
    return {name: Expression(name) for name in function.call.sizes}


def compile_variants(function: Function) -> tuple[Function, dict[str, bytes]]:
    """The function without variants that nobody tuned and that do not compile, and objects by the
    entry of the others.

    Raises:
        UserError: if a stored winner does not compile.
    """
    compiled: dict[str, bytes] = {}
    kept = []
    for variant in function.variants:
        if variant.entry not in compiled:
            try:
                compiled[variant.entry] = _compile(function, variant)
            except UserError:
                if function.kernel.is_tuned(variant) or not function.kernel.may_lack_variants:
                    raise
                continue
        kept.append(variant)
    return replace(function, variants=tuple(kept)), compiled


def _compile(function: Function, variant: Variant) -> bytes:
    """The code of a variant: for its shape alone, as it was measured, or right for any size, where
    only what every call has is a constant."""
    try:
        compiled = compile_kernel(
            function.kernel.function,
            parameters(function),
            function.kernel.constants(variant),
            with_prefetch(variant.target, cast(Prefetch | None, variant.config.get(PREFETCH))),
            known=_known(function, variant),
            # The function refuses arrays that overlap.
            disjoint_arguments=not any(array.also for array in function.call.arrays),
            entry=variant.entry,
            asks_threads=True,
            grid=_known_grid(function, variant),
        )
    except CompileError as error:
        raise UserError(
            f"{variant.config} of the study {variant.winner.study} does not compile: {error}; "
            "tune the kernel again, or leave the study out"
        ) from error
    return compiled.object


def _known(function: Function, variant: Variant) -> dict[str, int]:
    """The kernel's integers that are the same in every call that takes the variant."""
    call, sizes = function.call, symbolic_sizes(function)
    if not variant.exact:
        return {n: value for n, value in call.integers(sizes).items() if isinstance(value, int)}
    apart = {array.stride: array.shape(variant.shape)[-1] for array in call.strided}
    return {name: int(n) for name, n in {**apart, **call.integers(variant.shape)}.items()}


def _known_grid(function: Function, variant: Variant) -> Sequence[int] | None:
    if not variant.exact:
        return None
    return [n for n in function.kernel.grid(variant, variant.shape) if isinstance(n, int)]


def compile_c(sources: Mapping[str, str], folder: Path) -> dict[str, bytes]:
    """Objects from C for rv64gc, by the stem of their source.

    Args:
        sources: texts by file name, headers among them.
        folder: an empty folder to compile in.

    Raises:
        ZigError: if this machine cannot compile them, as with a full disk.
    """
    for name, text in sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    found = {}
    for name in sources:
        source = Path(name)
        if source.suffix == ".c":
            output = f"{source.stem}.o"
            run_zig_cc([*_C_FLAGS, name, "-o", output], timeout_s=_TIMEOUT_S, folder=folder)
            found[source.stem] = (folder / output).read_bytes()
    return found


def archive(objects: Mapping[str, bytes], path: Path, folder: Path) -> None:
    """Write a static library; the same objects give the same bytes.

    Args:
        objects: by the stem of their names.
        path: of the library.
        folder: an empty folder to work in.

    Raises:
        ZigError: if this machine cannot write it.
    """
    names = [f"{stem}.o" for stem in objects]
    for name, contents in zip(names, objects.values(), strict=True):
        (folder / name).write_bytes(contents)
    run_zig_ar(["rcsD", "library.a", *names], timeout_s=_TIMEOUT_S, folder=folder)
    (folder / "library.a").replace(path)
