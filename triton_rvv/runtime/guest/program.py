"""A kernel's object as a program for QEMU, linked once and kept in Triton's cache."""

from __future__ import annotations

import functools
import hashlib
import stat
import tempfile
from pathlib import Path

from triton.runtime.cache import get_cache_manager

from triton_rvv.codegen.link import LINK_TIMEOUT_S, link_elf
from triton_rvv.codegen.zig import run_zig_cc, zig_target_flags, zig_version

__all__ = ["linked_program"]

_SOURCE = Path(__file__).with_name("program.c")
_FLAGS = ("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Werror")
_KERNEL, _MAIN, _PROGRAM = "kernel.o", "main.o", "program.elf"


def linked_program(kernel: bytes) -> Path:
    """The path of the executable that runs the kernel in `kernel`, an object for RISC-V.

    Any number of processes may ask at once.

    Raises:
        LinkError: where it does not link.
        ZigError: where the program around it does not compile, as with a full disk.
    """
    cache = get_cache_manager(hashlib.sha256(_main_key().encode() + kernel).hexdigest())
    found = cache.get_file(_PROGRAM)
    if found is not None:
        return Path(found)
    with tempfile.TemporaryDirectory(prefix="triton-rvv-link-") as folder:
        compiled, linked = Path(folder, _KERNEL), Path(folder, _PROGRAM)
        compiled.write_bytes(kernel)
        link_elf([compiled, _main_object()], linked)
        path = Path(cache.put(linked.read_bytes(), _PROGRAM, binary=True))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def _main_object() -> Path:
    """The object of the program without the kernel, compiled on the first call."""
    cache = get_cache_manager(_main_key())
    found = cache.get_file(_MAIN)
    if found is not None:
        return Path(found)
    with tempfile.TemporaryDirectory(prefix="triton-rvv-link-") as folder:
        compiled = Path(folder, _MAIN)
        command = [*_FLAGS, "-c", str(_SOURCE), "-o", str(compiled)]
        run_zig_cc(command, timeout_s=LINK_TIMEOUT_S)
        return Path(cache.put(compiled.read_bytes(), _MAIN, binary=True))


@functools.cache
def _main_key() -> str:
    digest = hashlib.sha256("\0".join([zig_version(), *zig_target_flags("rvv"), *_FLAGS]).encode())
    digest.update(_SOURCE.read_bytes())
    return digest.hexdigest()
