"""A kernel made again of what `triton_rvv.launches.definition` recorded of it."""

from __future__ import annotations

import collections
import importlib
import itertools
import json
import linecache
import sys
import textwrap
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import triton
from triton import language

__all__ = ["defined"]

_MAKER = "_make_captured"
_numbers = itertools.count()


def defined(text: str) -> Any:
    """The function of a definition, as made by `@triton.jit`.

    Raises:
        Exception: whatever an import or the text of a function raises.
    """
    return _function(json.loads(text))


def _function(record: Mapping[str, Any]) -> Any:
    """The function in a module of its own, with its globals, and made where its variables are."""
    captured = {name: _value(inner) for name, inner in record["captured"].items()}
    own = f"@{_MAKER}_decorator\n{record['source']}\nreturn {record['name']}\n"
    text = f"def {_MAKER}({', '.join(captured)}):\n{textwrap.indent(own, '    ')}"
    name = f"defined_{next(_numbers)}"
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = ModuleType(name)
    sys.modules[name] = module  # where Triton looks for a kernel's globals
    module.__dict__.update({n: _value(inner) for n, inner in record["globals"].items()})
    module.__dict__[f"{_MAKER}_decorator"] = getattr(triton, record["decorator"])
    exec(compile(text, file, "exec"), module.__dict__)
    return module.__dict__[_MAKER](**captured)


def _value(record: Mapping[str, Any]) -> Any:
    ((kind, of),) = record.items()
    if kind == "constexpr":
        return language.constexpr(of)
    if kind == "module":
        return importlib.import_module(of)
    if kind == "dtype":
        return language.dtype(of)
    if kind == "attribute":
        return getattr(importlib.import_module(of[0]), of[1])
    if kind == "named_tuple":
        name, fields = of
        return collections.namedtuple(name, fields)
    return _function(of) if kind == "function" else of
