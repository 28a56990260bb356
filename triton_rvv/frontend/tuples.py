"""Tuples among a kernel's arguments: `xs` of two elements has the parts `xs[0]` and `xs[1]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["in_order", "nested", "path_of"]

_PLACE = re.compile(r"\[(\d+)\]")


def path_of(part: str, parameters: Sequence[str]) -> tuple[int, ...]:
    """Where a part is: the number of its parameter, and its places in tuples."""
    parameter, bracket, rest = part.partition("[")
    places = map(int, _PLACE.findall(bracket + rest))
    return (parameters.index(parameter), *places)


def in_order(parts: Iterable[str], parameters: Sequence[str]) -> list[str]:
    """Parts in the order in which a compiled kernel takes them."""
    return sorted(parts, key=lambda part: path_of(part, parameters))


def nested(name: str, parts: Mapping[str, Any]) -> Any:
    """What stands for a parameter: its own entry, or a tuple of those of its parts.

    Raises:
        KeyError: if there is neither.
    """
    if name in parts:
        return parts[name]
    found: list[Any] = []
    while any(part.startswith(f"{name}[{len(found)}]") for part in parts):
        found.append(nested(f"{name}[{len(found)}]", parts))
    if not found:
        raise KeyError(name)
    return tuple(found)
