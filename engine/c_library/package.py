"""Writes the library's folder: header, archive, and what build systems read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from engine.c_library.library_winner import LibraryWinner, best_winners
from engine.c_library.objects import archive, compile_c, compile_variants
from engine.c_library.sources import header, sources
from engine.c_library.variant import Function
from engine.c_library.variants import library_functions
from foundation.scratch import UNFINISHED, scratch_folder

__all__ = ["write_library"]


def write_library(
    winners: Sequence[LibraryWinner], folder: Path, tell: Callable[[str], None]
) -> list[Function]:
    """Write the library of these winners; the same winners give the same bytes.

    Writes include/tuned.h, lib/libtuned.a, CMakeLists.txt and lib/pkgconfig/tuned.pc.

    Args:
        winners: of any number of studies.
        folder: made if it is missing; files of an earlier library are replaced.
        tell: takes what is done now, for each step that takes seconds.

    Returns:
        The functions; none without winners, and then nothing is written.

    Raises:
        UserError: for winners that cannot be in one library.
        ZigError: if this machine cannot compile it.
    """
    compiled = []
    for function in library_functions(best_winners(winners), tell):
        tell(f"compiling {function.name}, variants: {len(function.variants)}")
        compiled.append(compile_variants(function))
    if not compiled:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    functions = [function for function, _ in compiled]
    kernels = {entry: code for _, objects in compiled for entry, code in objects.items()}
    tell("compiling the library around them")
    with scratch_folder(UNFINISHED, folder) as scratch:
        objects = compile_c(sources(functions), scratch)
        for part in ("include", "lib/pkgconfig"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        archive({**objects, **kernels}, folder / "lib" / "libtuned.a", scratch)
    own = files("engine.c_library")
    (folder / "include" / "tuned.h").write_text(header(functions))
    (folder / "CMakeLists.txt").write_text((own / "CMakeLists.txt").read_text())
    described = (own / "tuned.pc").read_text().replace("{{ version }}", version("triton-rvv-tuner"))
    (folder / "lib" / "pkgconfig" / "tuned.pc").write_text(described)
    return functions
