"""Does something before or after a program imports a module."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

__all__ = ["before_import", "when_imported"]


def when_imported(name: str, act: Callable[[ModuleType], None]) -> None:
    """Call a function with a module, now or when it is imported."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    if module is not None and not getattr(spec, "_initializing", False):
        act(module)
    else:
        sys.meta_path.insert(0, _Finder(name, act))


def before_import(name: str, act: Callable[[], None]) -> None:
    """Call a function before a module is run; it may import parts of the same package."""
    if name not in sys.modules:
        sys.meta_path.insert(0, _Finder(name, act, is_early=True))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module as the others do, and wraps what loads it."""

    def __init__(self, name: str, act: Callable[..., None], *, is_early: bool = False) -> None:
        self._name, self._act, self._is_early = name, act, is_early

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name or self not in sys.meta_path:
            return None
        place = sys.meta_path.index(self)
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            sys.meta_path.insert(place, self)  # a program may only ask whether the module is there
        if spec is not None and spec.loader is not None:
            act_around = _act_before_loading if self._is_early else _act_when_loaded
            act_around(spec.loader, self)
        return spec

    def act(self, *module: ModuleType) -> None:
        """Do it, once."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._act(*module)


# Several finders for one module wrap one loader, and the last to do so is the first to be called.


def _act_before_loading(loader: Any, finder: _Finder) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        mine = sys.modules.pop(module.__name__)
        try:
            finder.act()
        finally:
            sys.modules[module.__name__] = mine
        execute(module)

    loader.exec_module = exec_module


def _act_when_loaded(loader: Any, finder: _Finder) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        execute(module)
        finder.act(module)

    loader.exec_module = exec_module
