"""The user's folders, by the XDG base directory specification."""

from __future__ import annotations

import os
from pathlib import Path

from foundation.errors import UserError

__all__ = ["cache_folder", "config_folder", "home"]

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


def _base(variable: str, below_home: str) -> Path:
    given = Path(os.environ.get(variable, ""))
    # The specification: a relative path is to be ignored.
    return given if given.is_absolute() else home() / below_home
