"""The toolchain: everything except the kernel that determines an ELF, by name and version."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import gpu_runner
import launchers
import triton_rvv
from foundation.errors import UserError
from triton_rvv.version import folder_digest

__all__ = ["check_toolchain", "toolchain_versions"]

_TOOLS = ("triton", "llvmlite", "ziglang")
_GPU_TOOLS = ("triton",)
_PACKAGES = (triton_rvv, launchers)  # they change between releases too, so their files are hashed
_GPU_PACKAGES = (gpu_runner,)


def toolchain_versions(backend: str = "rvv") -> dict[str, str]:
    """The versions of compiler and linker, and digests of what builds and what measures.

    Args:
        backend: the kind of code that a board runs.
    """
    is_gpu = backend in ("cuda", "hip")
    versions = {name: version(name) for name in (_GPU_TOOLS if is_gpu else _TOOLS)}
    for package in _GPU_PACKAGES if is_gpu else _PACKAGES:
        (folder,) = package.__path__
        versions[package.__name__] = folder_digest(Path(folder))
    return versions


def check_toolchain(wanted: Mapping[str, str], backend: str) -> None:
    """Do nothing if this machine builds what the tuner's own would.

    Args:
        wanted: the tuner's versions.
        backend: the kind of code that is built.

    Raises:
        UserError: if another version of something is installed here.
    """
    own = toolchain_versions(backend)
    others = [name for name in wanted if own.get(name) != wanted[name]]
    if others:
        raise UserError(
            f"{socket.gethostname()} has another version of {', '.join(others)}: "
            "install the tuner's version there"
        )
