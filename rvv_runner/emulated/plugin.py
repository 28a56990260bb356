"""Compiles the QEMU plug-in with the system's C compiler and keeps it in the user's cache."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from foundation.scratch import UNFINISHED, scratch_folder
from foundation.user_folders import cache_folder
from rvv_runner.board import BoardError

__all__ = ["MODEL_VERSION", "build_folder", "build_plugin", "write_once"]

# Estimates of one version can be compared, and share studies. Make it another one when any estimate
# changes: tests/rvv_runner/test_same_estimates.py says when.
MODEL_VERSION = "e2b85d174f6c903a"
COMPILE_TIMEOUT_S = 300.0  # seconds on an idle core; over a minute on a starved one

_SOURCE_FOLDER = Path(__file__).parent
_SOURCES = (
    "arithmetic.c",
    "block.c",
    "cache.c",
    "calendar.c",
    "chip.c",
    "compressed.c",
    "core.c",
    "costs.c",
    "decode.c",
    "decode_vector.c",
    "memories.c",
    "plugin.c",
    "registers.c",
    "report.c",
    "scoreboard.c",
    "sharing.c",
    "software.c",
    "streams.c",
    "tracker.c",
    "window.c",
)
Kind = Literal["one", "family", "explaining"]

_FLAGS = ("-shared", "-fPIC", "-O2", "-std=gnu11", "-fvisibility=hidden", "-pthread", "-Wno-psabi")
_KIND_FLAGS: Mapping[Kind, tuple[str, ...]] = {
    "one": (),  # a scoreboard for each model
    "family": ("-DLANES=8",),  # one for all models, of a core that issues in order
    "explaining": ("-DEXPLAIN",),  # it also says where the cycles went, and estimates the same
}
# With these, a processor adds eight lanes at once.
_WIDE_FLAG, _WIDE_FEATURE = "-mavx2", "avx2"


def build_folder() -> Path:
    """The folder of built files, created if missing."""
    folder = cache_folder() / "emulated"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _sources_key(flags: Sequence[str]) -> str:
    """A hash of what the plug-in is built from."""
    digest = hashlib.sha256("\0".join([platform.machine(), *flags]).encode())
    for name in sorted([*_SOURCES, *(path.name for path in _SOURCE_FOLDER.glob("*.h"))]):
        digest.update(f"\0{name}\0".encode() + (_SOURCE_FOLDER / name).read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def _has_wide_lanes() -> bool:
    """Whether this machine's processor, which runs what is compiled here, has AVX2."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return _WIDE_FEATURE in flags.split()


def build_plugin(kind: Kind = "one") -> Path:
    """The path of the plug-in, compiled on the first call; safe to call from several processes.

    Args:
        kind: for how many models, and whether its reports also say where the cycles went.

    Raises:
        BoardError: if there is no C compiler, or it does not compile the plug-in.
    """
    folder = build_folder()
    wide = (_WIDE_FLAG,) if kind == "family" and _has_wide_lanes() else ()
    flags = (*_FLAGS, *_KIND_FLAGS[kind], *wide)
    built = folder / f"{kind}-{_sources_key(flags)}.so"
    if built.exists():
        return built
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise BoardError(
            "there is no C compiler for the emulated board: run sudo apt-get install gcc libc6-dev"
        )
    with scratch_folder(UNFINISHED, folder) as temporary:
        compiled = temporary / "plugin.so"
        command = [compiler, *flags, "-o", str(compiled)]
        _compile([*command, *(str(_SOURCE_FOLDER / name) for name in _SOURCES)])
        compiled.replace(built)
    return built


def write_once(name: str, text: str) -> Path:
    """Store `text` in the build folder as `name`, which must identify its contents."""
    path = build_folder() / name
    if not path.exists():
        with scratch_folder(UNFINISHED, path.parent) as folder:
            written = folder / name
            written.write_text(text, encoding="utf-8")
            written.replace(path)
    return path


def _compile(command: list[str]) -> None:
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BoardError(f"the emulated board's plug-in could not be compiled: {error}") from error
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines() or ["the compiler gave no reason"]
        reason = next((line for line in lines if "error" in line), lines[0])
        raise BoardError(
            f"the emulated board's plug-in does not compile with {command[0]} ({reason}): "
            "set CC to gcc 9 or newer, or clang 10 or newer"
        )
