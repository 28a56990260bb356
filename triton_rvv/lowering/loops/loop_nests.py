"""Walks over the elements of blocks: the loops, and the runs of elements in each turn."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import (
    ANY_VERSION,
    PLAIN_VERSION,
    Extents,
    LoopVersion,
    VectorIndex,
)
from triton_rvv.lowering.blocks.views import coordinates_of
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops.boundary_masks import BoundaryMasks
from triton_rvv.lowering.loops.early_loads import early_loads, visit_loading_early
from triton_rvv.lowering.loops.index_loops import (
    each_element,
    neighbours,
    positions,
    steps,
    steps_along,
)
from triton_rvv.lowering.loops.linear_segments import LinearSegments
from triton_rvv.lowering.loops.loop_versioning import guarded, guarded_within
from triton_rvv.lowering.loops.tail_vectors import tail_width
from triton_rvv.lowering.loops.vector_shape import (
    group_of_runs,
    runs_together,
    spanning_width,
    vector_width,
)

__all__ = ["UNROLLED_RUNS", "for_each_run", "spanning_points", "walk_exactly"]

# Blocks walked in at most this many runs are unrolled, so that LLVM keeps them in registers.
UNROLLED_RUNS = 8

# Sides of squares that are transposed in registers: a larger one leaves none for the results.
SMALLEST_SIDE, LARGEST_SIDE = 4, 16

T = TypeVar("T")

# Visits the plain runs of a row: what makes a group of them, and where they end.
_Early = Callable[[Callable[[Val], list[VectorIndex]], Val], None]


def for_each_run(
    context: Context,
    tensors: Sequence[Tensor],
    evaluate: Callable[[VectorIndex], T],
    commit: Callable[[VectorIndex, T], None],
    exactly: Callable[[], None] | None = None,
    is_plain: bool = True,
    within: Extents | None = None,
) -> None:
    """Walk over a block in row-major order, in runs that suit the vector registers.

    Several runs are evaluated side by side, since an in-order core waits for every result that is
    asked for too early, and then committed one after another.

    Args:
        context: where the code goes.
        tensors: what `evaluate` asks for, all of one shape; their guards decide at run time which
            path is taken.
        evaluate: writes the code that computes one run; it must not branch.
        commit: writes the code that does something with the outcome.
        exactly: writes the code for where sums in addresses or masks wrap, in a block of many
            runs; by default, elements are evaluated and committed one after another.
        is_plain: as in `loop_versioning.guarded`.
        within: the leading part of the block behind which nothing needs to be visited.
    """
    builder = context.builder
    width, points_of = _way_to_walk(context, tensors)
    unrolled = tensors[0].type.elements <= UNROLLED_RUNS * width
    by_row = points_of is _points_by_row and not unrolled
    shape = tensors[0].shape
    rows, runs = group_of_runs(context, tensors, shape, width) if by_row else (1, 0)
    step = runs * width

    early: _Early | None = None
    is_early = 0 < step < shape[-1] and not context.runs_once
    if is_early and (loads := early_loads(context, tensors, width, rows * runs)):
        early = functools.partial(visit_loading_early, context, loads, step, evaluate, commit)
    by_column, side = _loads_by_column(context, tensors)
    if by_column:
        step = 0

    together = runs_together(context, tensors)
    boundary_masks = BoundaryMasks(builder, tensors, width, together)
    parts = LinearSegments(context, tensors, width, together, boundary_masks)

    def walk_within(version: LoopVersion, extents: Extents) -> None:
        if parts.found and not version.linear:
            parts.visit(version, extents, visit)
            return
        for points in points_within(context, tensors, width, version, extents, early):
            visit(points)

    def walk(version: LoopVersion) -> None:
        if version == PLAIN_VERSION and by_column:
            _walk_squares(context, tensors[0].shape, side, by_column, evaluate, commit)
            return
        if parts.found and not version.linear:
            parts.visit(version, [None] * len(shape), visit)
            return
        ways = {"early": early} if by_row else {}
        for points in points_of(context, tensors, width, version, unrolled, **ways):
            visit(points)

    def visit(points: Sequence[VectorIndex]) -> None:
        outcomes = builder.interleave([functools.partial(evaluate, point) for point in points])
        for point, outcome in zip(points, outcomes, strict=True):
            commit(point, outcome)

    def otherwise() -> None:
        if exactly is not None and not unrolled:
            exactly()
        else:
            walk_exactly(context, tensors, evaluate, commit)

    def anywhere() -> None:
        guarded(context, tensors, walk, otherwise, is_plain, step, by_part=bool(parts.found))

    reads_arrays = any(tensor.buffers() for tensor in tensors)
    if (
        within is None
        or by_column
        or points_of is not _points_by_row
        or (unrolled and reads_arrays)
    ):
        anywhere()
    else:
        guarded_within(context, tensors, within, walk_within, anywhere, by_part=bool(parts.found))


def _loads_by_column(context: Context, tensors: Sequence[Tensor]) -> tuple[Sequence[Tensor], int]:
    """What is best loaded in squares and transposed in registers, and the side of a square.

    Nothing on the way into an array: its panels are filled sooner by gathers of whole runs.
    """
    shape = tensors[0].shape
    lanes = vector_width(context, tensors) // context.target.run_registers
    side = min(*shape[-2:], lanes, LARGEST_SIDE)
    if len(shape) < 2 or side < SMALLEST_SIDE or not context.target.transposes_registers:
        return [], 0
    if any(isinstance(tensor, Buffer) for tensor in tensors):
        return [], 0
    below = dict.fromkeys(tensor for root in tensors for tensor in root.walk())
    return [
        t for t in below if t.is_by_column and t.shape == shape and t.materialised is None
    ], side


def _walk_squares(
    context: Context,
    shape: Sequence[int],
    side: int,
    by_column: Sequence[Tensor],
    evaluate: Callable[[VectorIndex], T],
    commit: Callable[[VectorIndex, T], None],
) -> None:
    """Walk over a block on the plain path in squares.

    Args:
        context: where the code goes.
        shape: of the block.
        side: of a square.
        by_column: what is asked for whole squares.
        evaluate: writes the code that computes one run.
        commit: writes the code that does something with the outcome.
    """
    builder = context.builder
    for index in positions(context, shape[:-1], False, side):
        for start in steps(context, shape[-1], side, unrolled=False):
            rows = neighbours(context, index, side)
            points = [VectorIndex(row, start, side, PLAIN_VERSION) for row in rows]
            for load in by_column:
                for point, row in zip(points, load.square_at(builder, points), strict=True):
                    load.remember(builder, point, row)
            for point in points:
                commit(point, evaluate(point))


def walk_exactly(
    context: Context,
    tensors: Sequence[Tensor],
    evaluate: Callable[[VectorIndex], T],
    commit: Callable[[VectorIndex, T], None],
) -> None:
    """Walk over a block of which nothing is known: in little code, whatever time it takes."""
    width, points_of = _way_to_walk(context, tensors)
    if tensors[0].type.elements > UNROLLED_RUNS * width:
        for point in each_element(context, tensors[0].shape):
            commit(point, evaluate(point))
        return
    # Arrays stay in registers only as long as nobody asks for single elements.
    groups = points_of(context, tensors, width, ANY_VERSION, True)
    outcomes = [(point, evaluate(point)) for points in groups for point in points]
    for point, outcome in outcomes:
        commit(point, outcome)


# Takes what `spanning_points` does.
_Walk = Callable[..., Iterator[list[VectorIndex]]]


def _way_to_walk(context: Context, tensors: Sequence[Tensor]) -> tuple[int, _Walk]:
    """The elements in a run, and what goes from run to run."""
    width, longer = vector_width(context, tensors), spanning_width(context, tensors)
    return max(width, longer), _points_by_row if longer <= width else spanning_points


def _points_by_row(
    context: Context,
    tensors: Sequence[Tensor],
    width: int,
    version: LoopVersion,
    unrolled: bool,
    early: _Early | None = None,
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
    early: _Early | None = None,
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
