"""Tuples among a kernel's arguments: `xs` of two elements has the parts `xs[0]` and `xs[1]`.

Parts of a named tuple `m` have the names of its fields too, as in `m[0].data` and `m[1].rows`.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["element_names", "in_order", "named", "nested", "path_of"]

_PLACE = re.compile(r"\[(\d+)\]")
_FIELD = re.compile(r"\.(\w+)")


def element_names(name: str, count: int, fields: Sequence[str]) -> list[str]:
    """The names of a tuple's elements as parts.

    Args:
        name: of the tuple.
        count: how many elements it has.
        fields: the names of its fields; none for a plain tuple.
    """
    ends = [f".{field}" for field in fields] or [""] * count
    return [f"{name}[{number}]{end}" for number, end in enumerate(ends)]


def named(elements: Iterable[Any], fields: Sequence[str]) -> tuple[Any, ...]:
    """A tuple of elements, whose fields have names if any are given."""
    if not fields:
        return tuple(elements)
    made: tuple[Any, ...] = collections.namedtuple("Parts", fields, rename=True)(*elements)
    return made


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
    fields: list[str] = []
    while inside := [part for part in parts if part.startswith(f"{name}[{len(found)}]")]:
        element = f"{name}[{len(found)}]"
        field = _FIELD.match(inside[0], len(element))
        fields += [field[1]] if field else []
        found.append(nested(element + (field[0] if field else ""), parts))
    if not found:
        raise KeyError(name)
    return named(found, fields)
