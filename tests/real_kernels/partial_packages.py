"""Imports single modules of a package whose other dependencies need not be installed.

vLLM and SGLang start servers: importing either runs code that needs dozens of packages and a GPU.
Their kernels need Triton, torch and little else. Here a package's folders are packages without
their `__init__.py`, the modules asked for are real, and everything else is an `Absent`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["Absent", "PartialPackage"]


class Absent:
    """What a missing module holds: false, empty, and a decorator that changes nothing.

    Classes may derive from it, so it has instances of itself in place of values.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Absent()

    def __call__(self, *arguments: Any, **_: Any) -> Any:
        if len(arguments) == 1 and isinstance(arguments[0], FunctionType | type):
            return arguments[0]
        return Absent()

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Any:
        return iter(())

    def __getitem__(self, _: Any) -> Any:
        return Absent()

    def __or__(self, other: Any) -> Any:
        return other

    __ror__ = __or__

    def __mro_entries__(self, _: Any) -> tuple[type, ...]:
        return (Absent,)


class PartialPackage(MetaPathFinder, Loader):
    """Finds the modules of one package for Python's import.

    Args:
        name: of the package, such as "vllm".
        real: prefixes of the modules that are imported as they are; of the folders below these
            too, no `__init__.py` is run unless it is named with "!", as in "vllm.triton_utils!".
        values: attributes of modules that are not imported, by "module:attribute".
        third_party: packages outside that are `Absent` where they are not installed.
    """

    def __init__(
        self,
        name: str,
        real: Sequence[str],
        values: Mapping[str, Any] | None = None,
        third_party: Sequence[str] = (),
    ) -> None:
        self.name = name
        self._real = tuple(prefix.rstrip("!") for prefix in real)
        self._run = {prefix.rstrip("!") for prefix in real if prefix.endswith("!")}
        self._values: dict[str, dict[str, Any]] = {}
        for key, value in (values or {}).items():
            module, attribute = key.split(":")
            self._values.setdefault(module, {})[attribute] = value
        self._third_party = {
            package for package in third_party if importlib.util.find_spec(package) is None
        }

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """A real module, a folder without its `__init__.py`, or one that holds `Absent`."""
        top = name.partition(".")[0]
        if top in self._third_party:
            return ModuleSpec(name, self, is_package=True)
        if top != self.name:
            return None
        found = PathFinder.find_spec(name, path)
        is_package = found is not None and found.submodule_search_locations is not None
        real = any(name == prefix or name.startswith(f"{prefix}.") for prefix in self._real)
        if found is not None and (name in self._run or (real and not is_package)):
            return found
        spec = ModuleSpec(name, self, is_package=True)
        if is_package:
            spec.submodule_search_locations = found.submodule_search_locations
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module whose attributes are the values given for it, and else `Absent`."""
        module = _AbsentModule(spec.name)
        vars(module).update(self._values.get(spec.name, {}))
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


class _AbsentModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        inner = f"{self.__name__}.{name}"
        if PathFinder.find_spec(inner, self.__path__) is not None:
            return importlib.import_module(inner)
        return Absent()
