"""Builds the programs that published measurements are compared by, for a core with extensions."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from triton_rvv.codegen.zig import run_zig_cc

__all__ = ["build_program"]

_BUILD_TIMEOUT_S = 120.0


def build_program(
    flags: Sequence[str], sources: Sequence[Path], output: Path, *, folder: Path | None = None
) -> None:
    """Compile each source with these flags, and link without them.

    zig builds a C library for each set of flags that it links with, which takes minutes; without
    any, it is the one that this project has already.

    Args:
        flags: of the compiler, such as `-mcpu`.
        sources: in C or assembly.
        output: the executable.
        folder: where the compiler runs.

    Raises:
        ZigError: if one does not compile, or not within two minutes.
    """
    with tempfile.TemporaryDirectory() as objects:
        built = []
        for number, source in enumerate(sources):
            built.append(str(Path(objects) / f"{number}.o"))
            compile_one = [*flags, "-c", str(source), "-o", built[-1]]
            run_zig_cc(compile_one, timeout_s=_BUILD_TIMEOUT_S, folder=folder)
        run_zig_cc(["-static", *built, "-o", str(output)], timeout_s=_BUILD_TIMEOUT_S)
