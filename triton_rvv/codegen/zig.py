"""Runs the zig that ships as a Python package: a C compiler, a linker and a libc."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import platform
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from triton_rvv.codegen.zig_files import shared_zig
from triton_rvv.targets.target import Backend

__all__ = [
    "ZigError",
    "ZigStopped",
    "has_libc",
    "run_zig_ar",
    "run_zig_cc",
    "run_zig_lld",
    "zig_cache_folder",
    "zig_program",
    "zig_target_flags",
    "zig_version",
]


# EM_RISCV of elf(5).
_RISC_V = 243
# The index of musl's archive takes 95 kB.
_ARCHIVE_INDEX_BYTES = 2**20
# For musl, zig keeps some files open for each of its sources; containers may allow 1,024 only.
_TOO_MANY_FILES = "FdQuotaExceeded"


class ZigError(Exception):
    """A compile or link that failed; the message is the first line that says why."""


class ZigStopped(ZigError):
    """A compile or link that this machine did not let run to its end, whatever its input."""


def zig_target_flags(backend: Backend) -> tuple[str, ...]:
    """The flags of every compile and link for a kind of target; zig builds a libc for each set.

    For RISC-V the base is rv64gc, so that a program gets as far as finding out whether there is a
    vector unit.
    """
    if backend == "host":
        return ("-target", f"{platform.machine()}-linux-musl", "-mcpu=baseline")
    return ("-target", "riscv64-linux-musl", "-mcpu=baseline_rv64")


def zig_program() -> Path:
    """The program that runs, with its own files beside it.

    Raises:
        ZigError: where no package has one.
    """
    return _program(zig_cache_folder().absolute())


def zig_version() -> str:
    """The version of the installed package, such as "0.17.0"."""
    return importlib.metadata.version("ziglang")


def has_libc(backend: Backend) -> bool:
    """Whether zig's cache holds a C library for the machine code of a kind of target.

    If not, the first link builds one, which takes minutes on a small machine.
    """
    try:
        machine = _RISC_V if backend == "rvv" else _elf_machine(Path(sys.executable))
        return any(_elf_machine(file) == machine for file in zig_cache_folder().glob("o/*/libc.a"))
    except OSError:  # another process cleans the cache
        return False


def zig_cache_folder() -> Path:
    """zig's global cache, by the rules of `zig env`."""
    own = os.environ.get("ZIG_GLOBAL_CACHE_DIR")
    shared = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(own) if own else Path(shared).expanduser() / "zig"


def _elf_machine(file: Path) -> int | None:
    """`e_machine` of an ELF file, or of the first one in an archive; elf(5)."""
    with file.open("rb") as opened:
        start = opened.read(_ARCHIVE_INDEX_BYTES)
    at = start.find(b"\x7fELF")
    return None if at < 0 else int.from_bytes(start[at + 18 : at + 20], sys.byteorder)


def run_zig_cc(
    arguments: Sequence[str],
    *,
    timeout_s: float,
    folder: Path | None = None,
    backend: Backend = "rvv",
) -> str:
    """Runs `zig cc` for a kind of target; prints nothing.

    The binary is called without Python around it, which saves 15 ms of the 40 that a link takes.

    Args:
        arguments: for zig's C compiler. Paths are absolute, or relative to `folder`.
        timeout_s: seconds until it is ended.
        folder: where it runs; where zig is, if that is not given. What links a libc leaves it out:
            zig builds another for each way from its working directory to its own files.
        backend: the kind of target.

    Returns:
        What it says on stderr, such as the commands that it runs if there is a `-v`.

    Raises:
        ZigError: where it fails; a ZigStopped if it does not end within `timeout_s` seconds, or
            the machine ends it.
    """
    return _run_zig(["cc", *zig_target_flags(backend), *arguments], timeout_s, folder)


def run_zig_lld(arguments: Sequence[str], *, timeout_s: float) -> None:
    """Runs the linker in zig by itself, which knows neither a target nor a libc; prints nothing.

    Raises:
        ZigError: where it fails; a ZigStopped if it does not end within `timeout_s` seconds, or
            the machine ends it.
    """
    _run_zig(["ld.lld", *arguments], timeout_s, None)


def run_zig_ar(arguments: Sequence[str], *, timeout_s: float, folder: Path) -> None:
    """Runs `zig ar`, which makes static libraries, in `folder`; prints nothing.

    Raises:
        ZigError: where it fails; a ZigStopped if it does not end within `timeout_s` seconds, or
            the machine ends it.
    """
    _run_zig(["ar", *arguments], timeout_s, folder)


def _run_zig(arguments: Sequence[str], timeout_s: float, folder: Path | None) -> str:
    zig = zig_program()
    try:
        done = subprocess.run(
            [str(zig), *arguments],
            cwd=folder or zig.parent,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ZigStopped(f"zig did not finish within {timeout_s:g} s") from None
    except OSError as error:
        raise ZigStopped(f"zig cannot be started: {error}") from error
    if -done.returncode in (signal.SIGKILL, signal.SIGTERM):
        raise ZigStopped(f"zig was ended from outside, by {signal.Signals(-done.returncode).name}")
    if done.returncode != 0 and _TOO_MANY_FILES in done.stderr:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        raise ZigStopped(
            f"zig needs more open files than the limit of {most}: raise it, with ulimit -Hn 4096 "
            "as root or, for a container, with --ulimit nofile=4096:4096"
        )
    if done.returncode != 0:
        raise ZigError(_first_useful_line(done.stderr, done.returncode))
    return done.stderr


def _environment() -> dict[str, str]:
    """This process's, where a relative path of the cache keeps its meaning in any folder."""
    own = os.environ.get("ZIG_GLOBAL_CACHE_DIR")
    return {**os.environ, **({"ZIG_GLOBAL_CACHE_DIR": str(Path(own).absolute())} if own else {})}


@functools.cache
def _program(cache: Path) -> Path:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        raise ZigError("the package ziglang is not installed: run pip install ziglang")
    return shared_zig(Path(spec.origin).with_name("zig"), cache, zig_version())


def _first_useful_line(stderr: str, returncode: int) -> str:
    """The first line that names an error, or else the first that says anything."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    fallback = lines[0] if lines else f"zig ended with status {returncode} and said nothing"
    return next((line for line in lines if "error:" in line), fallback)
