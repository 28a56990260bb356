"""A number of programs that is written down as a formula: "cdiv(n, BLOCK) * 4"."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Division", "divisions", "followed"]


@dataclass(frozen=True)
class Division:
    """A size that a formula divides by a block.

    Args:
        names: the parameters that make the block.
        size_names: the parameters that the size is read from.
        sizes: one of them is meant.
        block: the value.
    """

    names: frozenset[str]
    size_names: frozenset[str]
    sizes: tuple[int, ...]
    block: int

    @property
    def reaches_behind(self) -> bool:
        """Whether the last block is not full, whichever size is meant."""
        return all(size % self.block for size in self.sizes)

    @property
    def is_even(self) -> bool:
        """Whether all blocks are full, whichever size is meant."""
        return not any(size % self.block for size in self.sizes)


def divisions(text: str, values: Mapping[str, Any]) -> list[Division]:
    """What a formula divides.

    Args:
        text: as in `followed`.
        values: those of the kernel's parameters.

    Raises:
        ValueError: if a value is missing, or for a formula that has something else.
    """
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [
        Division(
            _names(block),
            _names(size),
            tuple(_value(one, values) for one in _readings(size)),
            _value(block, values),
        )
        for size, block in (call.args for call in calls)
    ]


def _names(node: ast.expr) -> frozenset[str]:
    return frozenset(part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def followed(text: str, before: Mapping[str, Any], after: Mapping[str, Any], programs: int) -> int:
    """How many programs a launch has with other constants.

    Args:
        text: a product of integers, parameters, sizes such as x.shape[0], parts of tuples, and
            cdiv(a, b). In `a | b`, both were the same where the formula was found, so that one of
            them decides.
        before: the values of the kernel's parameters as the program launches it.
        after: the same with the other constants.
        programs: how many the program launches.

    Raises:
        ValueError: if no way to read the formula gives that number, if several do and differ
            with the other constants, or for a formula that has something else.
    """
    found = set()
    for reading in _readings_of(text):
        with contextlib.suppress(ValueError):
            if _value(reading, before) == programs:
                found.add(_value(reading, after))
    if len(found) != 1:
        raise ValueError(f"{text} does not say how many programs follow from {programs}")
    return found.pop()


@functools.cache
def _readings_of(text: str) -> tuple[ast.expr, ...]:
    return tuple(_readings(ast.parse(text, mode="eval").body))


def _readings(node: ast.expr) -> Iterator[ast.expr]:
    """The formulas that have one side of each `a | b`."""
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _readings(left)
            yield from _readings(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for one, other in itertools.product(_readings(left), _readings(right)):
                yield ast.BinOp(one, ast.Mult(), other)
        case ast.Call(func=function, args=[size, block]):
            for one in _readings(size):
                yield ast.Call(function, [one, block], [])
        case _:
            yield node


def _value(node: ast.expr, values: Mapping[str, Any]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _value(left, values) * _value(right, values)
        case ast.Call(func=ast.Name(id="cdiv"), args=[size, block]):
            return -(-_value(size, values) // _value(block, values))
        case ast.Subscript(
            value=ast.Attribute(value=argument, attr="shape"), slice=ast.Constant(value=int(axis))
        ) if hasattr(found := _argument(argument, values), "shape"):
            return int(found.shape[axis])
        case _ if isinstance(found := _argument(node, values), int):
            return int(found)
    raise ValueError(f"{ast.unparse(node)} is no part of a grid's formula")


def _argument(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """A parameter's value, or that of a part of a tuple; None for anything else."""
    match node:
        case ast.Name(id=name):
            return values.get(name)
        case ast.Attribute(value=ast.Subscript() as place):  # a field's name behind its place
            return _argument(place, values)
        case ast.Subscript(value=whole, slice=ast.Constant(value=int(place))):
            found = _argument(whole, values)
            return found[place] if isinstance(found, list | tuple) else None
    return None
