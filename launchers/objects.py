"""The launcher as an object file, compiled once for each target and kept in the user's cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from foundation.scratch import UNFINISHED, scratch_folder
from foundation.user_folders import cache_folder
from triton_rvv.codegen.zig import run_zig_cc, zig_target_flags, zig_version
from triton_rvv.targets.target import Backend, Target

__all__ = ["MATRIX_SOURCES", "RACE_SOURCES", "SOURCES", "launcher_object", "race_check_object"]

COMPILE_TIMEOUT_S = 120.0

_SOURCE_FOLDER = Path(__file__).parent
SOURCES = (
    *("launcher.c", "arena.c", "caches.c", "check.c", "clock.c", "data_file.c", "helpers.c"),
    *("cores.c", "orders.c", "places.c", "portions.c", "report.c", "vector_unit.c"),
)
# For targets with a matrix unit, which emulators lack.
MATRIX_SOURCES = ("matrix_unit.c",)
# Of the program that looks for races, on this machine.
RACE_SOURCES = (
    *("race_check.c", "history.c", "interleaved.c", "arena.c", "check.c", "clock.c"),
    *("cores.c", "data_file.c", "orders.c", "places.c", "portions.c", "report.c"),
)
_FLAGS = ("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Werror", "-r")


def launcher_object(target: Target) -> Path:
    """The path of the launcher's object file for `target`, compiled on the first call.

    The launcher uses no vectors itself (it is plain rv64gc on RISC-V) and takes their length from
    the kernel's own object, so all targets of one kind share a file, but for those with a matrix
    unit, which get what stands in for it in emulators. Its name is a hash of all that
    it is made from; any number of processes may ask at once.

    Raises:
        ZigError: where it does not compile, as with a full disk.
    """
    sources = (*SOURCES, *(MATRIX_SOURCES if target.matrix_unit else ()))
    return _compiled(target.backend, sources)


def race_check_object() -> Path:
    """The same of the program that looks for races of a kernel, which runs on this machine.

    Raises:
        ZigError: like `launcher_object`.
    """
    return _compiled("host", RACE_SOURCES)


def _compiled(backend: Backend, sources: Sequence[str]) -> Path:
    folder = cache_folder() / "launchers"
    cached = folder / f"{_key(backend, sources)}.o"
    if cached.exists():
        return cached
    folder.mkdir(parents=True, exist_ok=True)
    with scratch_folder(UNFINISHED, folder) as temporary:
        compiled = temporary / "launcher.o"
        run_zig_cc(
            [*_FLAGS, *sources, "-o", str(compiled)],
            timeout_s=COMPILE_TIMEOUT_S,
            folder=_SOURCE_FOLDER,
            backend=backend,
        )
        compiled.replace(cached)
    return cached


def _key(backend: Backend, sources: Sequence[str]) -> str:
    """A hash of the sources, the compiler's version and the flags."""
    digest = hashlib.sha256()
    digest.update("\0".join([zig_version(), *zig_target_flags(backend), *_FLAGS]).encode())
    for name in sorted([*sources, *(path.name for path in _SOURCE_FOLDER.glob("*.h"))]):
        digest.update(f"\0{name}\0".encode() + (_SOURCE_FOLDER / name).read_bytes())
    return digest.hexdigest()[:32]
