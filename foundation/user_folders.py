"""The user's folders, by the XDG base directory specification."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from foundation.errors import UserError

__all__ = ["cache_folder", "config_folder", "home", "triton_elsewhere"]

_NAME = "triton-rvv-tuner"


def home() -> Path:
    """The user's home.

    Raises:
        UserError: if it is not known, or a relative path, which would change with the folder.
    """
    try:
        found = Path.home()
    except RuntimeError:
        raise UserError("this user has no home: set HOME to a folder") from None
    if not found.is_absolute():
        raise UserError(f"HOME is the relative path {found}: set it to an absolute one")
    return found


def cache_folder() -> Path:
    """Where the project keeps what it can make again.

    Raises:
        UserError: if the user's home is not known.
    """
    return _base("XDG_CACHE_HOME", ".cache") / _NAME


def config_folder() -> Path:
    """Where the user keeps board files.

    Raises:
        UserError: if the user's home is not known.
    """
    return _base("XDG_CONFIG_HOME", ".config") / _NAME


def triton_elsewhere(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that let Triton keep kernels elsewhere, where it may not write to the user's home.

    Empty where it may, or where the environment says already where they are kept. Homes that are
    read-only, or that do not exist, are common in containers.
    """
    if environment.get("TRITON_CACHE_DIR"):
        return {}
    if _has_room_for_triton(environment.get("TRITON_HOME", "")):
        return {}
    given = Path(environment.get("XDG_CACHE_HOME", ""))
    is_usable = given.is_absolute() and _may_be_made(given)
    return {"TRITON_CACHE_DIR": str((given / _NAME if is_usable else _temporary()) / "triton")}


def _has_room_for_triton(given: str) -> bool:
    """Whether Triton may write to its home: the given one, or else the user's."""
    try:
        base = Path(given) if given else Path.home()
    except RuntimeError:  # the system does not know the user, as in containers
        return False
    return _may_be_made(base / ".triton")


def _temporary() -> Path:
    """A folder of this user alone, the same each time: kernels are code."""
    folder = Path(tempfile.gettempdir()) / f"{_NAME}-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return Path(tempfile.mkdtemp(prefix=f"{_NAME}-"))
    return folder


def _may_be_made(folder: Path) -> bool:
    """Whether a folder is there and may be written to, or can be made."""
    # Path.exists raises below a folder that others have closed, such as /root.
    there = next(one for one in (folder, *folder.parents) if os.access(one, os.F_OK))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _base(variable: str, below_home: str) -> Path:
    given = Path(os.environ.get(variable, ""))
    # The specification: a relative path is to be ignored.
    return given if given.is_absolute() else home() / below_home
