"""Finds functions of a user's file that give something else when they are called again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from foundation.errors import UserError
from kernels.own.exact_reference import largest
from kernels.own.expected import tensors_of
from kernels.own.launch import Launch
from kernels.own.tolerance import relative_tolerance
from kernels.spec import Grid

__all__ = ["refuse_unrepeatable", "repeatable_grid"]

_DRAW = (
    "draw random numbers by torch, random or numpy.random, which get a seed, or by a generator "
    "that it makes from a seed, and keep nothing from call to call"
)


def refuse_unrepeatable(
    launch: Launch, values: Mapping[str, Any], said: Mapping[str, torch.Tensor | None] | None
) -> None:
    """Call the functions of the file once more.

    Args:
        launch: with the default configuration.
        values: what its function gave for the arguments.
        said: what `reference` gave for these; None if that is not to be called again.

    Raises:
        UserError: if one of them gives other numbers than before, beyond what sums in another order
            make of floats, or another number of programs.
    """
    again = launch.values()
    maker = launch.file.maker().__name__
    if names := [name for name, value in values.items() if _differ(value, again.get(name))]:
        raise UserError(_sentence(launch, maker, f"other numbers for {', '.join(names)}"))
    repeatable_grid(launch, values)
    if said is None:
        return
    outputs, others = tensors_of(said), tensors_of(launch.reference(values))
    if names := [name for name, value in outputs.items() if _differ(value, others.get(name))]:
        raise UserError(_sentence(launch, "reference", f"other numbers for {', '.join(names)}"))


def repeatable_grid(launch: Launch, values: Mapping[str, Any]) -> Grid:
    """The grid of a launch with these values of its arguments.

    Raises:
        UserError: if it is another one when it is asked for again.
    """
    one, other = launch.grid(values), launch.grid(values)
    if one != other:
        function = "grid" if launch.file.optional("grid") else launch.file.maker().__name__
        what = f"another number of programs ({_counts(one)}, then {_counts(other)})"
        raise UserError(_sentence(launch, function, what))
    return one


def _sentence(launch: Launch, function: str, what: str) -> str:
    return f"{launch.file.path}: {function} gives {what} each time that it is called: {_DRAW}"


def _counts(grid: Grid) -> str:
    return "x".join(map(str, grid))


def _differ(one: Any, other: Any) -> bool:
    if not isinstance(one, torch.Tensor):
        return isinstance(one, int | float) and repr(one) != repr(other)  # a NaN is no other one
    if not isinstance(other, torch.Tensor) or (other.shape, other.dtype) != (one.shape, one.dtype):
        return True
    if torch.equal(one, other):  # mostly; what follows takes many times the memory
        return False
    if not one.is_floating_point():
        return True
    first, second = one.double(), other.double()
    off = torch.where(first == second, 0.0, (first - second).abs())
    off = torch.where(first.isnan() & second.isnan(), 0.0, off)
    return not bool((off <= relative_tolerance(one.dtype) * largest([one])).all())
