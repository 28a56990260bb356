"""The version of this program."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["project_version"]

_PROJECT = "triton-rvv-tuner"


def project_version() -> str:
    """The installed version; if the project is not installed, the one in pyproject.toml."""
    try:
        return version(_PROJECT)
    except PackageNotFoundError:
        settings = Path(__file__).parents[1] / "pyproject.toml"
        return str(tomllib.loads(settings.read_text(encoding="utf-8"))["project"]["version"])
