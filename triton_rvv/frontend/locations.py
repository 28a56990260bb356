"""Lines of a kernel's source that operations come from, as MLIR's text names them."""

from __future__ import annotations

import functools
import re
from importlib.util import find_spec
from pathlib import Path

__all__ = ["Locations"]

_LOC_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_FILE_LINE = re.compile(r'^"([^"]+)":(\d+):\d+$')
_TRITON = find_spec("triton")
# Triton's own functions, such as `tl.sum`.
_LIBRARY = Path(_TRITON.origin if _TRITON and _TRITON.origin else "triton").parent / "language"


class Locations:
    """Location aliases, resolved to `file:line` of the kernel's own source.

    Inside called functions it is the innermost place that is not in Triton's own library, since
    that is a line which the author wrote.
    """

    def __init__(self, text: str) -> None:
        self._aliases = dict(_LOC_ALIAS.findall(text))
        self._resolved: dict[str, str] = {}

    def resolve(self, alias: str) -> str:
        """`file:line`, or the empty string where it is not known."""
        if alias not in self._resolved:
            self._resolved[alias] = self._read(self._aliases.get(alias, ""))
        return self._resolved[alias]

    def _read(self, body: str) -> str:
        if match := _FILE_LINE.match(body):
            return "" if _is_of_library(match[1]) else f"{match[1]}:{match[2]}"
        if body.startswith("callsite("):
            callee, _, caller = body[len("callsite(") : -1].rpartition(" at ")
            return self.resolve(callee) or self.resolve(caller)
        inner = body.rpartition("(")[2].rstrip(")")
        return self.resolve(inner) if inner.startswith("#loc") else ""


@functools.cache
def _is_of_library(file: str) -> bool:
    return _LIBRARY in Path(file).parents
