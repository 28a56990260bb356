"""Reductions along one dimension of a block, with any operation that combines two elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, LoopVersion, VectorIndex
from triton_rvv.lowering.blocks.views import Plane, Reshaped, coordinates_of
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import index_loops, loop_versioning, materialise
from triton_rvv.lowering.loops.vector_groups import spanning_points
from triton_rvv.lowering.loops.vector_shape import (
    runs_together,
    spanning_width,
    vector_width,
    widest_bits,
)
from triton_rvv.lowering.reductions.combine_region import CombineRegion
from triton_rvv.lowering.reductions.counts import count_along_rows, counted
from triton_rvv.lowering.reductions.ended_rows import end_along, numbers_behind
from triton_rvv.lowering.reductions.ordered import reduce_rows_in_order
from triton_rvv.lowering.reductions.partial_reductions import PartialReductions
from triton_rvv.lowering.reductions.reduction import Reduction
from triton_rvv.lowering.reductions.row_reductions import reduce_along_rows

__all__ = ["HANDLERS"]

# Writes the code of a reduction.
_Way = Callable[[Reduction], None]


def _reduce(context: Context, operation: Operation) -> None:
    sources = [context.tensor(value) for value in operation.operands]
    shape, axis = sources[0].shape, operation.integer("axis")
    if shape[axis] == 1 and axis < len(shape) - 1:
        # Nothing is combined, and nothing computed before somebody asks.
        for value, source in zip(operation.results, sources, strict=True):
            context.bind(value, Plane(source, integer(0), axis))
        return
    truths = counted(context, operation)
    sources = sources if truths is None else truths
    combination = CombineRegion(context, operation)

    def write(tensors: Sequence[Tensor]) -> None:
        way(Reduction(context, combination, tensors, arrays))

    with materialise.walking(context, sources):
        if truths is None:
            arrays, way = _planned(context, operation, sources, combination)
        else:
            elements = [each.block.element for each in operation.operands]
            types = [TensorType(shape[:-1] or (1,), each) for each in elements]
            arrays, way = [context.buffer(each) for each in types], count_along_rows
        materialise.where_sums_fit(context, sources, write)
    for value, array in zip(operation.results, arrays, strict=True):
        scalar = VectorIndex((), integer(0), 1)
        result: Tensor | Val = array
        if not isinstance(value.type, TensorType):
            result = array.at(context.builder, scalar)
        elif value.shape != array.shape:
            result = Reshaped(value.block, array)
        context.bind(value, result)


def _planned(
    context: Context, operation: Operation, sources: Sequence[Tensor], combination: CombineRegion
) -> tuple[Sequence[Buffer], _Way]:
    """Where the results go, and the way to compute them that suits shape and combination."""
    shape, axis = sources[0].shape, operation.integer("axis")
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    kept = (*shape[:axis], *shape[axis + 1 :])
    longer = spanning_width(context, sources)
    if 0 < longer <= inner:
        # All dimensions after the reduced one are taken as one, which fills vectors.
        types = [TensorType((outer, inner), source.element) for source in sources]
        arrays = [materialise.row_major_array(context, type_) for type_ in types]
        return arrays, functools.partial(_across_planes, (outer, shape[axis], inner))
    # A result without dimensions is a block of one element until it is read back.
    results = [context.buffer(TensorType(kept or (1,), source.element)) for source in sources]
    if axis == len(shape) - 1 and (context.runs_once or not combination.is_commutative):
        return results, reduce_rows_in_order
    if kept and shape[axis] * inner <= longer and combination.is_commutative:
        return results, functools.partial(_within_runs, (shape[axis], inner))
    if axis == len(shape) - 1:
        return results, reduce_along_rows
    return results, functools.partial(_across_rows, axis)


def _across_planes(shape: tuple[int, ...], reduction: Reduction) -> None:
    """Rows are combined, of blocks of another shape."""
    sources = [Reshaped(TensorType(shape, each.element), each) for each in reduction.sources]
    _across_rows(1, replace(reduction, sources=sources))


def _within_runs(sizes: tuple[int, int], reduction: Reduction) -> None:
    """One run holds all that is combined into several elements.

    Args:
        sizes: of the reduced dimension, and of those after it together.
    """
    context, builder, sources = reduction.context, reduction.builder, reduction.sources
    kept, width, (size, _) = reduction.results[0].shape, spanning_width(context, sources), sizes

    def walk(version: LoopVersion) -> None:
        for points in spanning_points(context, sources, width, version, unrolled=False):
            parts = [functools.partial(_halved, reduction, sizes, point) for point in points]
            for point, values in zip(points, builder.interleave(parts), strict=True):
                assert point.number is not None
                number = builder.shift_right(point.number, size.bit_length() - 1)
                where = coordinates_of(builder, kept, number)
                place = VectorIndex(where[:-1], where[-1], width // size, number=number)
                reduction.write(place, values)

    loop_versioning.guarded(context, sources, walk)


def _halved(reduction: Reduction, sizes: tuple[int, int], point: VectorIndex) -> list[Val]:
    """One run, its halves along the reduced dimension combined until one element is left."""
    values, (count, inner), chosen = reduction.at(point), sizes, reduction.builder.chosen
    while count > 1:
        count //= 2
        lanes = range(values[0].width)
        low = [lane for lane in lanes if lane // inner % (2 * count) < count]
        high = [lane + count * inner for lane in low]
        halves = [[chosen(value, half) for value in values] for half in (low, high)]
        values = reduction.combination.emit(*halves)
    return values


def _across_rows(axis: int, reduction: Reduction) -> None:
    """Rows are combined with one another, a few runs of columns at a time.

    Of narrow blocks, whose runs do not hide each other's latency, several rows are computed side by
    side.
    """
    context, builder, sources = reduction.context, reduction.builder, reduction.sources
    shape = reduction.shape
    width, together = vector_width(context, sources), runs_together(context, sources)
    runs = min(together, shape[-1] // width)
    step, outer = runs * width, (*shape[:axis], *shape[axis + 1 : -1])
    beside = _rows_beside(reduction, axis, width, runs)
    is_costly = sum(each.cost for each in sources) > EXPENSIVE

    def columns_from(
        index: tuple[Val, ...], starts: Sequence[Val], parts: Sequence[_RowsTo], end: Val | None
    ) -> None:
        rows = 1 if any(part.by_one for part in parts) else beside
        points = functools.partial(_points_of_rows, context, index, axis, starts, width, rows)
        first = points(parts[0].version, integer(0))
        totals = PartialReductions(reduction, first, rows, in_order=True)
        begin = integer(rows)
        for part in parts:
            with builder.loop(begin, part.end, integer(rows)) as along:
                totals.add(points(part.version, along))
            begin = part.end if part.by_one else builder.smax(begin, part.end)
        if end is not None and (numbers := numbers_behind(reduction)) is not None:
            is_behind = builder.compare("slt", end, integer(shape[axis]))
            builder.branches(is_behind, functools.partial(totals.add_numbers, numbers))
        for at, values in zip(starts, totals.by_row(rows, across_lanes=False), strict=True):
            reduction.write(VectorIndex(index, at, width), values)

    def walk(version: LoopVersion) -> None:
        plain, size = _plain_rows(context, sources, version), integer(shape[axis])
        by_one = plain.constant is None
        ends = is_costly and not by_one and not version.unmasked
        ended = end_along(reduction, axis, width) if ends else None
        if ended is not None:
            whole, _ = builder.split(ended.first, beside)
            plain = builder.select(loop_versioning.all_of(context, ended.guards), whole, integer(0))
            size, _ = builder.split(builder.add(ended.first, integer(beside - 1)), beside)
        has_plain = builder.compare("sge", plain, integer(1))
        for index in index_loops.positions(context, outer, unrolled=False):
            for start, where in index_loops.steps_along(context, 0, shape[-1], step, version):
                starts = [builder.add(start, integer(run * width)) for run in range(runs)]
                parts = (_RowsTo(plain, PLAIN_VERSION, by_one), _RowsTo(size, where))
                end = None if ended is None else ended.first
                some = functools.partial(columns_from, index, starts, end=end)
                builder.branches(
                    has_plain,
                    functools.partial(some, parts),
                    functools.partial(some, parts[1:]),
                    likely=True,
                )

    loop_versioning.guarded(context, sources, walk, step=step if shape[-1] > step else 0)


@dataclass(frozen=True)
class _RowsTo:
    """Rows up to `end`, and what is known of them; any number of them if they go `by_one`."""

    end: Val
    version: LoopVersion
    by_one: bool = False


def _rows_beside(reduction: Reduction, axis: int, width: int, runs: int) -> int:
    """How many rows are computed side by side, so that one does not wait for another.

    Several of a block whose runs take few registers, where something is computed of little that
    lies in memory.
    """
    context, sources, size = reduction.context, reduction.sources, reduction.shape[axis]
    together, blocks = runs_together(context, sources), _blocks_in_memory(sources)
    rows = together // runs if blocks == 0 else 1
    if 0 < blocks <= _FEW_BLOCKS and len(sources) == 1 and sources[0].cost:
        lanes = max(context.run_lanes(widest_bits(sources)), width)
        rows = together * lanes // (runs * width)
    return rows if size > rows and size % rows == 0 else 1


# Blocks in memory of which rows are computed side by side: more take too many registers.
_FEW_BLOCKS = 2


def _blocks_in_memory(sources: Sequence[Tensor]) -> int:
    """How many blocks are read that are as large as what is combined."""
    size = sources[0].type.elements
    below = [each for each in recipes_under(sources) if each.type.elements >= size]
    return sum(isinstance(each, Buffer) or each.own_memory_bits() > 0 for each in below)


def _points_of_rows(
    context: Context,
    index: tuple[Val, ...],
    axis: int,
    starts: Sequence[Val],
    width: int,
    rows: int,
    version: LoopVersion,
    along: Val,
) -> list[VectorIndex]:
    """Runs of an array, each of some rows from position `along` of a dimension of them on."""
    places = [context.builder.add(along, integer(row)) for row in range(rows)]
    by_row = [
        index_loops.points_across(index, axis, starts, width, version, place) for place in places
    ]
    return [point for of_run in zip(*by_row, strict=True) for point in of_run]


def _plain_rows(context: Context, sources: Sequence[Tensor], version: LoopVersion) -> Val:
    """How many leading rows of lines that were cut into rows need no masks, as i64."""
    lines = [each.operands[0] for each in sources if isinstance(each, Reshaped)]
    columns = sources[0].shape[-1]
    is_cut = len(lines) == len(sources) and all(len(line.shape) == 1 for line in lines)
    if version.unmasked or not is_cut or len(sources[0].shape) != 2:
        return integer(0)
    elements = loop_versioning.plain_columns(context, lines, columns)
    if elements is None:
        return integer(0)
    return context.builder.shift_right(elements, columns.bit_length() - 1)


HANDLERS: Mapping[str, Handler] = {"tt.reduce": _reduce}
