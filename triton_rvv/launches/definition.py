"""A kernel with all that it reads, as JSON: what makes it again where no file does.

Such are kernels of text that a program runs with `exec`, those that a function makes of others, and
those of modules into which a program puts names that their files do not define.
"""

from __future__ import annotations

import ast
import json
import sys
import textwrap
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

from triton_rvv.launches.source import captured_values, constant_text, is_of_triton, read_globals

__all__ = ["definition"]


def definition(kernel: Any) -> str:
    """A kernel and the functions that it reaches: [{"name", "source", "decorator", "globals",
    "captured"}, ...], the kernel first.

    The last two have a record by name for what the function reads of its module, and of the
    function that made it: {"constant": text} of `constant_text`, {"module": name}, {"attribute":
    [module, name]} of what a module has under its name, {"named_tuple": [name, fields]}, or
    {"function": position in the list}. Other values are left out.

    Args:
        kernel: made by `@triton.jit`.
    """
    functions = _Functions()
    functions.place(kernel)
    return json.dumps(functions.records)


class _Functions:
    """The functions that a kernel reaches, each once: a helper may be called by many others."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self._places: dict[int, int] = {}  # by the identity of the kernel

    def place(self, kernel: Any) -> int | None:
        """Where a function stands among the records; None where it cannot be made again."""
        function = kernel.fn
        if not isinstance(function, FunctionType):
            return None
        if id(kernel) not in self._places:
            self._places[id(kernel)] = len(self.records)
            source = textwrap.dedent(kernel.src)
            record: dict[str, Any] = {
                "name": function.__name__,
                "source": source,
                "decorator": "jit" if hasattr(kernel, "device_caches") else "constexpr_function",
            }
            self.records.append(record)
            record["globals"] = self._of(read_globals(function, _names_in_head(source)))
            record["captured"] = self._of(captured_values(function))
        return self._places[id(kernel)]

    def _of(self, values: Mapping[str, Any]) -> dict[str, Any]:
        records = {name: self._record(value) for name, value in values.items()}
        return {name: record for name, record in records.items() if record is not None}

    def _record(self, value: Any) -> dict[str, Any] | None:
        if hasattr(value, "src") and hasattr(value, "fn") and not _is_of_triton(value):
            place = self.place(value)
            return None if place is None else {"function": place}
        return _plain_record(value)


def _names_in_head(source: str) -> list[str]:
    """The names in the annotations and defaults of a function's parameters."""
    try:
        (function,) = ast.parse(source).body
    except (SyntaxError, ValueError):
        return []
    head = function.args if isinstance(function, ast.FunctionDef) else function
    return [node.id for node in ast.walk(head) if isinstance(node, ast.Name)]


def _plain_record(value: Any) -> dict[str, Any] | None:
    """The record of what is no function of a program or a package."""
    text = constant_text(value)
    if text is not None:
        return {"constant": text}
    if isinstance(value, ModuleType):
        return {"module": value.__name__}
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        return {"named_tuple": [value.__name__, list(value._fields)]}
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
    is_named = isinstance(module, str) and module != "__main__"
    is_there = is_named and getattr(sys.modules.get(str(module)), name, None) is value
    return {"attribute": [module, name]} if is_there else None


def _is_of_triton(value: Any) -> bool:
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and is_of_triton(module)
