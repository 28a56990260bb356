"""The version of this program."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["project_version"]

_PROJECT = "triton-rvv-tuner"


def project_version() -> str:
    """As it was installed; in a folder of sources that was not, as pyproject.toml there says."""
    try:
        return version(_PROJECT)
    except PackageNotFoundError:
        settings = Path(__file__).parents[1] / "pyproject.toml"
        return str(tomllib.loads(settings.read_text(encoding="utf-8"))["project"]["version"])
