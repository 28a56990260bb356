"""Assembly of a GPU that converts pairs of floats to four bits (e2m1) or back, by what it does.

There is no other way to write such a conversion in the language. A conversion stands among moves
that put bytes together or apart, and elements of bytes are packed, four to a register.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.frontend.types import Type, element_type

__all__ = ["HALVES_OF_PAIR", "conversion", "pair_symbol"]

HALVES_OF_PAIR = "triton_rvv_halves_of_four_bits"


def pair_symbol(bits: int, is_swapped: bool) -> str:
    """The function of two floats that gives an integer of so many bits, the first above the other.

    Args:
        bits: of the integer.
        is_swapped: whether the second float is above the first instead.
    """
    return f"triton_rvv_four_bits_{'21' if is_swapped else '12'}_i{bits}"


_TYPES = {"f32", "i8", "i16", "i32"}

# An element of an operand: the operand's number, and its place in the pack.
_Element = tuple[int, int]


@dataclass(frozen=True)
class _Pair:
    """A byte: what its upper and its lower half were converted from."""

    upper: _Part
    lower: _Part


@dataclass(frozen=True)
class _Halves:
    """Two halves in 32 bits: the byte that they were converted from."""

    byte: _Part


# What a register holds, the lowest part first. None is a part of zeros.
_Part = _Element | _Pair | _Halves | None
_Parts = tuple[_Part, ...]

_MOVE = re.compile(r"(?:mov\.[bus](?:16|32)|cvt\.u(?:16|32)\.u(?:8|16))")
_NARROW, _WIDEN = "cvt.rn.satfinite.e2m1x2.f32", "cvt.rn.f16x2.e2m1x2"
_ARGUMENT = re.compile(r"\{[^{}]*\}|[^\s,{}]+")


def conversion(
    text: str, packed: int, operands: Sequence[Type], results: Sequence[Type]
) -> str | None:
    """The symbol of the function that assembly computes for each element.

    Args:
        text: the assembly.
        packed: the number of elements that it takes at once.
        operands: their types.
        results: their types.

    Returns:
        None where the assembly does anything else.
    """
    types = [str(element_type(one)) for one in (*operands, *results)]
    if len(results) != 1 or not set(types) <= _TYPES or types[-1] == "f32":
        return None
    widths = [int(name[1:]) for name in types]
    computed = _computed(text, packed, widths[:-1], widths[-1])
    found = {_same_in_each(part, place) for place, part in enumerate(computed or ())}
    if computed is None or len(computed) != packed or len(found) != 1:
        return None
    part = found.pop()
    if part == _Halves((0, 0)) and types == ["i8", "i32"]:
        return HALVES_OF_PAIR
    if types[:-1] == ["f32", "f32"] and part in (_Pair((0, 0), (1, 0)), _Pair((1, 0), (0, 0))):
        return pair_symbol(widths[-1], part == _Pair((1, 0), (0, 0)))
    return None


def _same_in_each(part: _Part, place: int) -> _Part:
    """What is computed for one element, written as for the first of a pack."""
    if isinstance(part, _Pair):
        return _Pair(_same_in_each(part.upper, place), _same_in_each(part.lower, place))
    if isinstance(part, _Halves):
        return _Halves(_same_in_each(part.byte, place))
    return (part[0], part[1] - place) if part is not None else None


def _computed(text: str, packed: int, operands: Sequence[int], result: int) -> _Parts | None:
    """What each element of the result is; None where a statement is not known."""
    registers: dict[str, _Parts] = {}
    outputs = [f"${number}" for number in range(max(1, packed * result // 32))]
    number = len(outputs)
    for operand, bits in enumerate(operands):
        together = packed // max(1, packed * bits // 32)
        for first in range(0, packed, together):
            elements = range(first, first + together)
            registers[f"${number}"] = tuple((operand, place) for place in elements)
            number += 1
    for statement in re.sub(r"^\s*\{|\}\s*$", "", text.strip()).split(";"):
        name, arguments = [*statement.split(None, 1), "", ""][:2]
        if name not in ("", ".reg") and not _run(name, arguments, registers):
            return None
    parts = [registers.get(name, ()) for name in outputs]
    if len(outputs) == 1:
        return _without_zeros(parts[0])
    return tuple(part[0] for part in parts) if all(len(part) == 1 for part in parts) else None


def _run(name: str, arguments: str, registers: dict[str, _Parts]) -> bool:
    """Whether the statement is known; `registers` then hold what it leaves."""
    written = _ARGUMENT.findall(arguments)
    sources = [part for each in written[1:] for part in _read(each, registers)]
    targets = [name for each in written[:1] for name in _names(each)]
    if name == _NARROW and len(sources) == 2 and len(targets) == 1:
        registers[targets[0]] = (_Pair(sources[0], sources[1]),)
        return True
    if name == _WIDEN and len(sources) == 1 and len(targets) == 1:
        registers[targets[0]] = (_Halves(sources[0]),)
        return True
    if not (_MOVE.fullmatch(name) and sources and targets) or len(sources) % len(targets):
        return False
    each = len(sources) // len(targets)
    for place, target in enumerate(targets):
        registers[target] = tuple(sources[place * each : (place + 1) * each])
    return True


def _names(argument: str) -> list[str]:
    return [name.strip() for name in argument.strip("{}").split(",")]


def _read(argument: str, registers: dict[str, _Parts]) -> _Parts:
    parts: list[_Part] = []
    for name in _names(argument):
        parts += (None,) if name == "0" else registers.get(name, ())
    return tuple(parts)


def _without_zeros(parts: _Parts) -> _Parts:
    """The parts below the zeros at the upper end."""
    count = len(parts)
    while count and parts[count - 1] is None:
        count -= 1
    return parts[:count]
