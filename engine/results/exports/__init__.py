"""Studies as files of other programs. Each format is one module here, and its name is the module's.

A module whose files are about one study has `write(study, folder)`: it writes to an existing folder
and returns a line for the user, or "" if the study has nothing to write.

A module whose files hold several studies has `entry_of(study)`, what they hold of it, and
`write_entries(entries, folder, tell)`, which returns a line for each file; `tell` takes what is
done now, where it takes seconds.

`write` and `entry_of` raise `UnfitStudyError` for a study that the format cannot hold.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

__all__ = ["format_module", "format_names"]


def format_names() -> list[str]:
    """The names of all formats."""
    return [module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)]


def format_module(name: str) -> ModuleType:
    """The module of a format in `format_names()`."""
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
