"""The toolchain: everything except the kernel that determines an ELF, by name and version."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import launchers
import triton_rvv
from triton_rvv.version import folder_digest

__all__ = ["toolchain_versions"]

_TOOLS = ("triton", "llvmlite", "ziglang")
_PACKAGES = (triton_rvv, launchers)  # they change between releases too, so their files are hashed


def toolchain_versions() -> dict[str, str]:
    """The versions of compiler and linker, and digests of the back end and the launcher."""
    versions = {name: version(name) for name in _TOOLS}
    for package in _PACKAGES:
        (folder,) = package.__path__
        versions[package.__name__] = folder_digest(Path(folder))
    return versions
