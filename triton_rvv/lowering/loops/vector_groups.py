"""The vectors that each turn of a loop over a block visits side by side."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, Extents, LoopVersion, VectorIndex
from triton_rvv.lowering.blocks.views import coordinates_of
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops.index_loops import neighbours, positions, steps, steps_along
from triton_rvv.lowering.loops.vector_shape import group_of_runs, runs_together, tail_width

__all__ = ["VisitEarly", "points_by_row", "points_within", "spanning_points"]

# Visits the plain vectors of a row: what makes a group of them, and where they end.
VisitEarly = Callable[[Callable[[Val], list[VectorIndex]], Val], None]


def points_by_row(
    context: Context,
    tensors: Sequence[Tensor],
    width: int,
    version: LoopVersion,
    unrolled: bool,
    early: VisitEarly | None = None,
) -> Iterator[list[VectorIndex]]:
    """Runs over a whole block, each within a row, as many side by side as suit it.

    The body of the caller's `for` is the body of the loops, but for what `early` visits.
    """
    builder, shape = context.builder, tensors[0].shape
    rows, runs = group_of_runs(context, tensors, shape, width)
    step = runs * width
    plain = integer(shape[-1]) if version == PLAIN_VERSION else version.plain_columns
    for index in positions(context, shape[:-1], unrolled, rows):
        indices = neighbours(context, index, rows)
        group = functools.partial(_group, context, shape[-1], (runs, width), indices)
        if early is None or plain is None:
            for start, where in steps_along(context, 0, shape[-1], step, version, unrolled):
                yield group(start, where)
            continue
        early(group, plain)
        if plain.constant != shape[-1]:
            with builder.loop(plain, integer(shape[-1]), integer(step)) as start:
                yield group(start, replace(version, plain_columns=None))


def _group(
    context: Context,
    columns: int,
    sizes: tuple[int, int],
    rows: Sequence[tuple[Val, ...]],
    start: Val,
    version: LoopVersion = PLAIN_VERSION,
) -> list[VectorIndex]:
    """Runs that are visited side by side: `sizes` are those in each row, and their elements."""
    runs, width = sizes
    starts = [context.builder.add(start, integer(run * width)) for run in range(runs)]
    row_runs = columns // width
    return [
        VectorIndex(index, at, width, version, rows_together=len(rows), row=row, row_runs=row_runs)
        for row, index in enumerate(rows)
        for at in starts
    ]


def spanning_points(
    context: Context, tensors: Sequence[Tensor], width: int, version: LoopVersion, unrolled: bool
) -> Iterator[list[VectorIndex]]:
    """Runs over a whole block in row-major order, as many side by side as suit it.

    The body of the caller's `for` is the body of the loop.
    """
    shape, elements = tensors[0].shape, tensors[0].type.elements
    together = min(runs_together(context, tensors), elements // width)
    for first in steps(context, elements, together * width, unrolled):
        points = []
        for run in range(together):
            number = context.builder.add(first, integer(run * width))
            where = coordinates_of(context.builder, shape, number)
            points.append(VectorIndex(where[:-1], where[-1], width, version, number=number))
        yield points


def points_within(
    context: Context,
    tensors: Sequence[Tensor],
    width: int,
    version: LoopVersion,
    extents: Extents,
    early: VisitEarly | None = None,
) -> Iterator[list[VectorIndex]]:
    """Runs over the leading part of a block, the last one of each row with as many lanes as count.

    The body of the caller's `for` is the body of the loops, but for what `early` visits.
    """
    builder, shape = context.builder, tensors[0].shape
    rows, runs = group_of_runs(context, tensors, shape, width)
    *outer, end = [
        integer(size) if count is None else count
        for size, count in zip(shape, extents, strict=True)
    ]
    whole, rest = builder.split(end, runs * width)
    for index, together in _rows_within(context, outer, rows):
        indices = neighbours(context, index, together)
        group = functools.partial(_group, context, shape[-1], (runs, width), indices)
        if early is not None and version == PLAIN_VERSION:
            early(group, whole)
        else:
            for start in steps(context, whole, runs * width, unrolled=False):
                yield group(start, version)
        if rest.constant != 0:
            count = builder.intervals.number(end)
            known = 1 if count is None else count % (runs * width)
            last = tail_width(builder, tensors, width, runs, known)
            with builder.loop(whole, end, integer(last)) as start:
                lanes = builder.binary("sub", end, start)
                size = len(indices)
                yield [
                    VectorIndex(
                        index, start, last, version, rows_together=size, row=row, lanes=lanes
                    )
                    for row, index in enumerate(indices)
                ]


def _rows_within(
    context: Context, sizes: Sequence[Val], together: int
) -> Iterator[tuple[tuple[Val, ...], int]]:
    """Every index of the given dimensions in row-major order, and how many rows from there on.

    As many as `together`, and single ones at the end.
    """
    if not sizes:
        yield (), 1
        return
    for outer in positions(context, sizes[:-1], unrolled=False):
        whole, rest = context.builder.split(sizes[-1], together)
        for row in steps(context, whole, together, unrolled=False):
            yield (*outer, row), together
        if rest.constant != 0:
            with context.builder.loop(whole, sizes[-1], integer(1)) as row:
                yield (*outer, row), 1
