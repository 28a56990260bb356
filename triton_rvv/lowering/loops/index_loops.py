"""Loops over the indices of blocks: rows, columns, and single elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, LoopVersion, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = [
    "each_element",
    "left_over",
    "neighbours",
    "points_across",
    "positions",
    "steps",
    "steps_along",
]


def steps_along(
    context: Context, first: int, size: int, step: int, version: LoopVersion, unrolled: bool = False
) -> Iterator[tuple[Val, LoopVersion]]:
    """first, first + step, ... below `size`, and the path on which each so many columns are.

    The body of the caller's `for` is the body of the loops, of which there are two where a path has
    plain columns: at least `first` of them, in whole steps.
    """
    if unrolled or size <= step:
        for known in range(first, size, step):
            yield integer(known), version
        return
    begin = integer(first)
    if version.plain_columns is not None:
        with context.builder.loop(begin, version.plain_columns, integer(step)) as position:
            yield position, PLAIN_VERSION
        begin, version = version.plain_columns, replace(version, plain_columns=None)
    with context.builder.loop(begin, integer(size), integer(step)) as position:
        yield position, version


def points_across(
    index: tuple[Val, ...],
    axis: int,
    starts: Sequence[Val],
    width: int,
    version: LoopVersion,
    along: Val,
) -> list[VectorIndex]:
    """Runs of an array, at position `along` of a dimension that `index` leaves out."""
    where = (*index[:axis], along, *index[axis:])
    return [VectorIndex(where, start, width, version) for start in starts]


def neighbours(context: Context, index: tuple[Val, ...], rows: int) -> list[tuple[Val, ...]]:
    """`index` and the rows that follow it."""
    if not index:
        return [index]
    *outer, last = index
    return [(*outer, context.builder.add(last, integer(row))) for row in range(rows)]


def each_element(context: Context, shape: Sequence[int]) -> Iterator[VectorIndex]:
    """Every element of a block; nothing is known of it."""
    for index in positions(context, shape, unrolled=False):
        yield VectorIndex(index[:-1], index[-1], 1)


def positions(
    context: Context, sizes: Sequence[int | Val], unrolled: bool, step: int = 1
) -> Iterator[tuple[Val, ...]]:
    """Every index of the given dimensions in row-major order, the last one in steps of `step`.

    The body of the caller's `for` is the body of the loops.
    """
    if not sizes:
        yield ()
        return
    for position in steps(context, sizes[0], step if len(sizes) == 1 else 1, unrolled):
        for rest in positions(context, sizes[1:], unrolled, step):
            yield (position, *rest)


def steps(context: Context, size: int | Val, step: int, unrolled: bool) -> Iterator[Val]:
    """0, step, 2 * step, ... below `size`, as a loop at run time unless `unrolled`.

    The body of the caller's `for` is the body of the loop.
    """
    end = integer(size) if isinstance(size, int) else size
    if (known := end.constant) is not None and (unrolled or known <= step):
        yield from map(integer, range(0, known, step))
        return
    with context.builder.loop(integer(0), end, integer(step)) as position:
        yield position


def left_over(builder: Builder, first: Val, end: Val, most: int) -> Val:
    """How many positions from the first one on are before the end: 0 to `most`."""
    count = builder.smax(builder.binary("sub", end, first), integer(0))
    return builder.smin(count, integer(most))
