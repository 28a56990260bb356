"""A kernel made again of what `triton_rvv.launches.definition` recorded of it, or completed."""

from __future__ import annotations

import collections
import contextlib
import importlib
import itertools
import json
import linecache
import sys
import textwrap
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import triton
from triton import language

from triton_rvv.launches.source import captured_values

__all__ = ["defined", "give_what_is_missing"]

_MAKER = "_make_captured"
_numbers = itertools.count()


def defined(text: str) -> Any:
    """The function of a definition, as made by `@triton.jit`.

    Raises:
        Exception: whatever the text of a function raises.
    """
    return _Functions(json.loads(text)).made(0)


def give_what_is_missing(kernel: Any, text: str) -> None:
    """Give a kernel, and functions that it reaches, the globals that only the program's had.

    A program may put names into a module that the module's file does not define, and a name may
    be one that cannot be found without the imports of its module.

    Args:
        kernel: made by `@triton.jit`, of a file.
        text: its definition; "" for none.
    """
    if text:
        _Functions(json.loads(text)).complete(kernel, 0, set())


class _Functions:
    """The functions of a definition, each made once, when it is needed."""

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self._records = records
        self._made: dict[int, Any] = {}
        # By the place of a function that is being made: where those that call it look for it.
        self._awaited: dict[int, list[tuple[dict[str, Any], str]]] = {}

    def made(self, place: int) -> Any:
        """A function in a module of its own, with its globals, and made where its variables are."""
        if place in self._made:
            return self._made[place]
        record = self._records[place]
        self._made[place] = None  # to those that it calls, if they call it, until it is made
        captured = self._values(record["captured"])
        own = f"@{_MAKER}_decorator\n{record['source']}\nreturn {record['name']}\n"
        text = f"def {_MAKER}({', '.join(captured)}):\n{textwrap.indent(own, '    ')}"
        name = f"defined_{next(_numbers)}"
        file = f"<{name}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        module = ModuleType(name)
        sys.modules[name] = module  # where Triton looks for a kernel's globals
        scope = module.__dict__
        scope.update(self._values(record["globals"]))
        for global_name, one in record["globals"].items():
            if "function" in one and self._made.get(one["function"]) is None:
                self._awaited.setdefault(one["function"], []).append((scope, global_name))
        scope[f"{_MAKER}_decorator"] = getattr(triton, record["decorator"])
        exec(compile(text, file, "exec"), scope)
        made = self._made[place] = scope[_MAKER](**captured)
        for caller_scope, global_name in self._awaited.pop(place, ()):
            caller_scope[global_name] = made
        return made

    def complete(self, kernel: Any, place: int, seen: set[int]) -> None:
        """Give a function, and those that it reaches, what their scopes lack."""
        if place in seen or not isinstance(getattr(kernel, "fn", None), FunctionType):
            return
        seen.add(place)
        record, scope = self._records[place], kernel.fn.__globals__
        lacking = {n: one for n, one in record["globals"].items() if n not in scope}
        known = {**scope, **captured_values(kernel.fn)}
        for name, inner in {**record["globals"], **record["captured"]}.items():
            if "function" in inner and name in known:
                self.complete(known[name], inner["function"], seen)
        scope.update(self._values(lacking))

    def _values(self, records: Mapping[str, Any]) -> dict[str, Any]:
        """By name; without what cannot be imported here, which the kernel may not need."""
        values: dict[str, Any] = {}
        for name, record in records.items():
            with contextlib.suppress(Exception):  # whatever a module does when it is imported
                values[name] = self._value(record)
        return values

    def _value(self, record: Mapping[str, Any]) -> Any:
        ((kind, of),) = record.items()
        if kind == "constant":
            return eval(of, {"tl": language})
        if kind == "module":
            return importlib.import_module(of)
        if kind == "attribute":
            return getattr(importlib.import_module(of[0]), of[1])
        if kind == "named_tuple":
            name, fields = of
            return collections.namedtuple(name, fields)
        return self.made(of)
