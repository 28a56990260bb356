"""A kernel with all that it reads, as JSON, for kernels that no file and no name leads to.

Such are kernels of text that a program runs with `exec`, and those that a function makes of others.
"""

from __future__ import annotations

import ast
import json
import sys
import textwrap
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

from triton_rvv.launches.source import captured_values, is_of_triton, read_globals

__all__ = ["definition"]

_PLAIN = (int, float, bool, str, type(None))


def definition(kernel: Any) -> str:
    """What makes a kernel again: {"name", "source", "decorator", "globals", "captured"}.

    The last two have a record by name for what the function reads of its module, and of the
    function that made it: {"plain": value}, {"constexpr": value}, {"module": name}, {"dtype": name}
    of Triton's, {"attribute": [module, name]}, {"named_tuple": [name, fields]}, or {"function":
    definition}. Other values are left out, such as objects of a package.

    Args:
        kernel: made by `@triton.jit`.
    """
    return json.dumps(_function(kernel, frozenset()))


def _function(kernel: Any, around: frozenset[int]) -> dict[str, Any] | None:
    """The definition of a function; None where it cannot be made again."""
    function = kernel.fn
    if not isinstance(function, FunctionType) or id(kernel) in around:
        return None
    source = textwrap.dedent(kernel.src)
    inside = around | {id(kernel)}
    return {
        "name": function.__name__,
        "source": source,
        "decorator": "jit" if hasattr(kernel, "device_caches") else "constexpr_function",
        "globals": _records(read_globals(function, _names_in_head(source)), inside),
        "captured": _records(captured_values(function), inside),
    }


def _names_in_head(source: str) -> list[str]:
    """The names in the annotations and defaults of a function's parameters."""
    try:
        (function,) = ast.parse(source).body
    except (SyntaxError, ValueError):
        return []
    head = function.args if isinstance(function, ast.FunctionDef) else function
    return [node.id for node in ast.walk(head) if isinstance(node, ast.Name)]


def _records(values: Mapping[str, Any], around: frozenset[int]) -> dict[str, Any]:
    records = {name: _record(value, around) for name, value in values.items()}
    return {name: record for name, record in records.items() if record is not None}


def _record(value: Any, around: frozenset[int]) -> dict[str, Any] | None:
    if isinstance(value, _PLAIN):
        return {"plain": value}
    if type(value).__name__ == "constexpr" and isinstance(value.value, _PLAIN):
        return {"constexpr": value.value}
    if isinstance(value, ModuleType):
        return {"module": value.__name__}
    if type(value).__name__ == "dtype" and is_of_triton(type(value).__module__):
        return {"dtype": value.name}
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        return {"named_tuple": [value.__name__, list(value._fields)]}
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
    if isinstance(module, str) and is_of_triton(module):
        is_there = getattr(sys.modules.get(module), name, None) is value
        return {"attribute": [module, name]} if is_there else None
    if hasattr(value, "src") and hasattr(value, "fn"):
        made = _function(value, around)
        return None if made is None else {"function": made}
    return None
