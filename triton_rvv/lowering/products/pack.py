"""The leading part of a block: how much of one is wanted, and copies of no more than that.

Runs that lie whole in the part are copied without masks. Of the last run of each row, only the
lanes in the part are loaded; the others are 0.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import Buffer, memory_type
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, Extents, LoopVersion, VectorIndex
from triton_rvv.lowering.blocks.views import line_along
from triton_rvv.lowering.llvm.values import Val, integer, type_suffix, vector_type
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.llvm.vp_memory import first_lanes
from triton_rvv.lowering.loops import index_loops, loop_nests, loop_versioning, materialise
from triton_rvv.lowering.loops.vector_shape import vector_width
from triton_rvv.lowering.memory.in_lines import with_lines
from triton_rvv.lowering.memory.listed_runs import with_runs

__all__ = ["copy_part", "demanded_count", "pack_part", "prepare_demanded"]

ONE = integer(1, "i32")


def prepare_demanded(context: Context, product: Operation) -> None:
    """Find out here, before a loop around a product, how much of its result is wanted."""
    for axis in range(len(product.result.block.shape)):
        demanded_count(context, product.result, axis)


def demanded_count(context: Context, value: Value, axis: int) -> Val | None:
    """How many leading positions of a dimension are wanted, as i64; None if all or not known."""
    wanted = context.kernel.demanded.masks(value, axis)
    masks = sorted(wanted, key=lambda mask: (mask[0].name, mask[1]))
    counts = [_true_before(context, *mask) for mask in masks]
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        return None
    count = context.builder.smax(*known)
    return None if count.constant == value.shape[axis] else count


def _true_before(context: Context, value: Value, axis: int) -> Val | None:
    """How many leading positions of a mask's dimension hold all of its true elements."""
    if not context.is_known_here(value):
        return None
    mask = context.lowered(value)
    if not isinstance(mask, Mask):
        return None

    def count() -> Val | None:
        counts = [mask.false_from(context.builder, axis)]
        lines = [line_along(other, axis) for other in mask.operands]
        counts += [_last_true(context, line) for line in lines if line is not None]
        known = [each for each in counts if each is not None]
        if not known:
            return None
        return context.builder.smin(*known)

    return context.once((mask, axis), count)


def _last_true(context: Context, line: Tensor) -> Val:
    """How many leading positions of a line hold all of its true elements, found at run time."""
    builder, found = context.builder, Variable(context.builder, integer(0))
    materialise.prepare(context, [line])

    def note(point: VectorIndex, true: Val) -> None:
        if point.lanes is not None:  # behind them may be anything
            inside = first_lanes(builder, point.lanes, point.width)
            true = builder.conjunction(true, inside)
        start = builder.splat(builder.add(builder.resize(point.start, "i32"), ONE), point.width)
        ends = builder.add(start, builder.iota("i32", point.width))
        ends = builder.select(true, ends, builder.splat(integer(0, "i32"), point.width))
        end = ends
        if point.width > 1:
            end = builder.call("i32", f"llvm.vector.reduce.smax.{type_suffix(ends)}", [ends])
        found.write(builder.smax(found.read(), builder.resize(end, "i64")))

    loop_nests.for_each_run(context, [line], functools.partial(line.at, builder), note)
    return found.read()


def pack_part(
    context: Context, tensor: Tensor, extents: Extents, whole_rows: int = 1, whole_columns: int = 1
) -> Buffer:
    """An array that holds the elements of a part, as they are now, and anything behind it.

    What is behind the last element of a row is 0 up to a multiple of `whole_columns`, and so are
    rows behind the last one up to a multiple of `whole_rows`, for a block whose elements are 0
    there. Both are powers of two.
    """
    if isinstance(tensor, Buffer) or tensor.materialised or tensor.uses > 1:
        return materialise.materialise(context, tensor)
    builder = context.builder
    is_whole = all(count is None for count in extents) and not tensor.lies_by_column
    guards = None if is_whole else tensor.guards_within(builder, extents)
    if guards is None:
        return materialise.materialise(context, tensor)
    array = context.buffer(tensor.type, tensor.panel_bits)
    lines = with_lines(builder, tensor)

    def copy(source: Tensor) -> None:
        copy_part(context, source, array, extents, whole_rows, whole_columns)

    def copy_as_it_is() -> None:
        builder.branches(
            loop_versioning.all_of(context, guards),
            lambda: copy(tensor),
            lambda: _copy_edge(context, tensor, array),
            likely=True,
        )

    within = None if lines is tensor else lines.guards_within(builder, extents)
    if within is None:
        copy_as_it_is()
    else:
        in_lines = loop_versioning.all_of(context, within)
        builder.branches(in_lines, lambda: copy(lines), copy_as_it_is, likely=True)
    return array


def _copy_edge(context: Context, tensor: Tensor, array: Buffer) -> None:
    """Copy a block of which not even the part that counts is plain."""

    def exactly() -> None:
        materialise.copy(context, tensor, array, is_plain=False)

    if not tensor.lies_by_column:
        exactly()
        return
    everywhere, version = [None] * len(tensor.shape), LoopVersion(fits=True)
    context.builder.branches(
        loop_versioning.all_fit(context, [tensor]),
        lambda: copy_part(context, tensor, array, everywhere, 1, 1, version),
        exactly,
    )


def copy_part(
    context: Context,
    tensor: Tensor,
    array: Buffer,
    extents: Extents,
    whole_rows: int,
    whole_columns: int,
    version: LoopVersion = PLAIN_VERSION,
) -> None:
    """Write what `pack_part` says to an array, where the guards within the part hold.

    Where only its sums fit, all of it is written on a path that says no more.
    """
    builder, shape = context.builder, tensor.shape
    *around, rows, columns = [
        integer(size) if count is None else count
        for size, count in zip(shape, extents, strict=True)
    ]
    copy = _Copy(context, tensor, array, vector_width(context, [tensor, array]), version)
    # Shorter than that are runs of a block with a mask of wider elements, for example.
    cleared = max(copy.width, min(whole_columns, shape[-1]))
    whole, rest = builder.split(columns, cleared)
    for outer in index_loops.positions(context, around, unrolled=False):
        if tensor.lies_by_column:
            copy.by_column(outer, rows, whole)
        else:
            copy.by_row(outer, rows, whole)
        if rest.constant != 0:
            copy.last_runs(outer, rows, whole, rest, cleared)
    if rows.constant is None and whole_rows > 1:
        _clear_rows(context, array, [*around, rows, columns], whole_rows)


@dataclass(frozen=True)
class _Copy:
    """Writes a block to an array.

    Args:
        version: what is known of the block.
    """

    context: Context
    tensor: Tensor
    array: Buffer
    width: int
    version: LoopVersion

    def by_row(self, outer: Sequence[Val], rows: Val, whole: Val) -> None:
        """Row by row, as far as runs are whole."""
        context, together = self.context, self._together
        grouped, _ = context.builder.split(rows, together)
        for row in index_loops.steps(context, grouped, together, unrolled=False):
            for start in index_loops.steps(context, whole, self.width, unrolled=False):
                self._runs(self.tensor, outer, row, together, start)
        self._rows_left(outer, rows, whole)

    def by_column(self, outer: Sequence[Val], rows: Val, whole: Val) -> None:
        """Panel by panel, as far as runs are whole.

        Runs of neighbouring rows read the same cache lines, and those of a whole row are more than
        the cache holds; or their addresses are as far from each other in all rows.
        """
        context, together = self.context, self._together
        grouped, _ = context.builder.split(rows, together)
        for start in index_loops.steps(context, whole, self.width, unrolled=False):

            def copy_rows(source: Tensor, start: Val = start) -> None:
                for row in index_loops.steps(context, grouped, together, unrolled=False):
                    self._runs(source, outer, row, together, start)

            if self.version == PLAIN_VERSION:
                with_runs(context, self.tensor, start, self.width, copy_rows)
            else:
                copy_rows(self.tensor)
        self._rows_left(outer, rows, whole)

    def last_runs(
        self, outer: Sequence[Val], rows: Val, whole: Val, rest: Val, cleared: int
    ) -> None:
        """What of each row is behind the whole runs, `rest` elements, and zeros up to `cleared`."""
        builder, zero = self.context.builder, integer(0)
        end = builder.select(builder.compare("eq", rest, zero), zero, rows)
        for row in index_loops.steps(self.context, end, 1, unrolled=False):
            for done in range(0, cleared, self.width):
                lanes = builder.binary("sub", rest, integer(done))
                lanes = lanes if done == 0 else builder.smax(lanes, zero)
                start = builder.add(whole, integer(done))
                self._runs(self.tensor, outer, row, 1, start, lanes)

    @property
    def _together(self) -> int:
        return min(self.context.target.machine.copied_rows, self.tensor.shape[-2])

    def _rows_left(self, outer: Sequence[Val], rows: Val, whole: Val) -> None:
        builder = self.context.builder
        grouped, left_over = builder.split(rows, self._together)
        if left_over.constant != 0:
            with builder.loop(grouped, rows, integer(1)) as row:
                for start in index_loops.steps(self.context, whole, self.width, unrolled=False):
                    self._runs(self.tensor, outer, row, 1, start)

    def _runs(
        self,
        source: Tensor,
        outer: Sequence[Val],
        first: Val,
        rows: int,
        start: Val,
        lanes: Val | None = None,
    ) -> None:
        """A run of each of some rows side by side."""
        builder = self.context.builder
        indices = [(*outer, builder.add(first, integer(row))) for row in range(rows)]
        points = [
            VectorIndex(index, start, self.width, self.version, lanes=lanes, clears=True)
            for index in indices
        ]
        values = builder.interleave([functools.partial(source.at, builder, p) for p in points])
        for point, value in zip(points, values, strict=True):
            self.array.write(builder, replace(point, lanes=None), value)


def _clear_rows(context: Context, array: Buffer, sizes: list[Val], whole_rows: int) -> None:
    """Put 0 into the rows behind a part, up to a multiple of `whole_rows`."""
    builder, width = context.builder, array.panel
    more = builder.add(sizes[-2], integer(whole_rows - 1))
    end = builder.binary("and", more, integer(-whole_rows))
    zeros = Val(vector_type(memory_type(array.element), width), "zeroinitializer")
    for outer in index_loops.positions(context, sizes[:-2], unrolled=False):
        with builder.loop(sizes[-2], end, integer(1)) as row:
            for start in index_loops.steps(context, sizes[-1], width, unrolled=False):
                array.write(builder, VectorIndex((*outer, row), start, width), zeros)
