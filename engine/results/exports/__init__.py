"""Studies as files of other programs. Each format is one module here, and its name is the module's.

A module has `write(study, folder)`, which writes its files to an existing folder and returns a line
for the user, or "" if the study has nothing to write.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from engine.study.trials import StoredTrials

    Writer = Callable[[StoredTrials, Path], str]

__all__ = ["format_names", "writer_of"]


def format_names() -> list[str]:
    """The names of all formats."""
    return [module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)]


def writer_of(name: str) -> Writer:
    """The function `write` of a format in `format_names()`."""
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return cast("Writer", module.write)
