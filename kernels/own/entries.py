"""The `triton.Config` entries of a user's file, before any is dropped."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from foundation.config import Config
from foundation.errors import UserError
from kernels.own.kernel_file import KernelFile
from kernels.own.module import call_by_name

__all__ = ["entry_of", "first_entry", "made_entries"]


def first_entry(file: KernelFile, known: Mapping[str, Any]) -> Any:
    """The first of the file's list; None if the list cannot be made of what is known.

    Args:
        file: the file that lists them.
        known: sizes and other values by name.

    Raises:
        UserError: if the function that lists the configurations fails.
    """
    entries = _entries(file, known)
    return entries[0] if entries else None


def entry_of(file: KernelFile, known: Mapping[str, Any], config: Config) -> Any:
    """The first entry whose values a configuration has; the list's first if there is none.

    Args:
        file, known: as in `first_entry`.
        config: the tuned parameters.

    Raises:
        UserError: like `first_entry`.
    """
    entries = _entries(file, known)
    alike = (e for e in entries if all(config.get(n) == v for n, v in _values(e).items()))
    return next(alike, entries[0] if entries else None)


def _entries(file: KernelFile, known: Mapping[str, Any]) -> Sequence[Any]:
    if file.tuner is not None:
        return list(file.tuner.configs)
    make = file.optional(file.lister)
    if make is None:
        return ()
    parameters = inspect.signature(make).parameters.values()
    if any(p.default is p.empty and p.name not in known for p in parameters):
        return ()
    return made_entries(file, make, known)


def made_entries(file: KernelFile, make: Callable[..., Any], known: Mapping[str, Any]) -> list[Any]:
    """What the file's function gives that lists the configurations.

    Raises:
        UserError: if it fails, or gives anything but a list of `triton.Config`.
    """
    found = call_by_name(file.path, make, known)
    entries = list(found) if isinstance(found, Iterable) else [found]
    for entry in entries:
        if not hasattr(entry, "kwargs"):
            raise UserError(
                f"{file.path}: {make.__name__} gives {type(entry).__name__} where a triton.Config "
                'belongs: return a list such as [triton.Config({"BLOCK_SIZE": 64})]'
            )
    return entries


def _values(entry: Any) -> Mapping[str, Any]:
    return dict(entry.kwargs)
