"""The stored winners of several kernels at one shape, beside what the board allows at best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from engine.winners.lookup import Found, NotTunedError, find, wanted
from engine.workers.devices import load_board
from foundation.shapes import Shape
from kernels.registry import declared, load_kernel, make_problem
from kernels.spec import KernelSpec, Problem
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.limits import Limits
from rvv_runner.usage import split_usage

__all__ = ["AtShape", "limits_of_device", "winners_at"]

_FLOATS = ("fp", "bf")


@dataclass(frozen=True)
class AtShape:
    """A kernel with one element type at a shape.

    Args:
        problem: the kernel with its sizes and type.
        found: its winner at exactly this shape; None if nothing was tuned there.
        bound: the shortest time that the board's limits allow, as a part of the winner's; None
            without a winner, for a board whose limits are not known, or if they allow any.
    """

    problem: Problem
    found: Found | None
    bound: float | None


def limits_of_device(device: str) -> Limits | None:
    """What bounds the times on an emulated board; None for others, whose limits are not known.

    Raises:
        UserError, BoardError: for a device that there is not or that cannot be opened.
    """
    board = load_board(device)
    if not isinstance(board, EmulatedBoard):
        return None
    if board.info.target.matrix_unit is None:
        return board.limits
    # What a matrix unit could do, no table says.
    return replace(board.limits, float_operations_per_s=math.inf, integer_operations_per_s=math.inf)


def winners_at(
    kernels: Iterable[str],
    shape: Shape,
    dtype: str | None,
    device: str,
    storage: str,
    limits: Limits | None,
) -> list[AtShape]:
    """Each kernel in each of its element types, the fastest first, those without a winner last.

    Args:
        kernels: their names, or files.
        shape: sizes by name; those left out keep the kernel's default.
        dtype: the only element type; None for all that each has, and the first of a file, which
            may take any.
        device: name of the board.
        storage: where studies are stored.
        limits: of the board, where they are known.

    Raises:
        UserError: for a shape or a type that a kernel does not have, or an unreadable storage.
    """
    rows = [
        _at_shape(make_problem(spec, shape, one), device, storage, limits)
        for spec in map(load_kernel, kernels)
        for one in _dtypes(spec, dtype)
    ]
    return sorted(rows, key=_time_s)


def _dtypes(spec: KernelSpec, asked: str | None) -> Sequence[str]:
    if asked is not None:
        return [asked]
    return spec.dtypes if declared(spec.load_name) else spec.dtypes[:1]


def _at_shape(problem: Problem, device: str, storage: str, limits: Limits | None) -> AtShape:
    asked = wanted(problem.spec.load_name, problem.shape, problem.dtype, device)
    try:
        found = find(asked, storage)
    except NotTunedError:
        return AtShape(problem, None, None)
    if found.how != "exact":
        return AtShape(problem, None, None)
    return AtShape(problem, found, _bound(problem, limits, device, found.winner.time_s))


def _bound(problem: Problem, limits: Limits | None, device: str, time_s: float) -> float | None:
    flops = problem.spec.flops
    if limits is None:
        return None
    least_s = limits.least_time_s(
        problem.spec.traffic_bytes(problem),
        None if flops is None else flops(problem),
        is_float=problem.dtype.startswith(_FLOATS),
        is_warm=split_usage(device)[1].timing != "cold",
    )
    return least_s / time_s if least_s else None


def _time_s(row: AtShape) -> tuple[bool, float, str]:
    time_s = 0.0 if row.found is None else row.found.winner.time_s
    return row.found is None, time_s, row.problem.spec.name
