"""A number of programs that is written down as a formula: "cdiv(n, BLOCK) * 4"."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

__all__ = ["evaluated"]


def evaluated(text: str, values: Mapping[str, Any]) -> int:
    """The value of a product of integers, parameters, sizes such as x.shape[0], and cdiv(a, b).

    Args:
        text: the formula.
        values: of the kernel's parameters.

    Raises:
        ValueError: for a formula that has something else, or a parameter without a value.
    """
    return _value(ast.parse(text, mode="eval").body, values)


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
        case ast.Subscript(value=whole, slice=ast.Constant(value=int(place))):
            found = _argument(whole, values)
            return found[place] if isinstance(found, list | tuple) else None
    return None
