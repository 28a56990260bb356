"""`tl.dot` as register tiles.

The product of an M x K and a K x N block is computed tile by tile, in an order that keeps one
operand in the L1 cache. Small floats are multiplied and summed in float32, 8-bit integers in 32
bits: operands are converted once, when they are copied into panels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from triton_rvv.errors import CompileError
from triton_rvv.lowering import paths, sinks, walks
from triton_rvv.lowering.begun import Start, start_of
from triton_rvv.lowering.buffer import Buffer
from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.casts import conversion
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.grouped_dot import is_grouped, multiply_in_groups
from triton_rvv.lowering.live import (
    WHOLE,
    Live,
    live_part,
    packed_columns,
    packed_rows,
    packed_steps,
)
from triton_rvv.lowering.math.lanes import Emit
from triton_rvv.lowering.matrix_dot import fits_matrix_unit, multiply_int8
from triton_rvv.lowering.memory import Load
from triton_rvv.lowering.operands import (
    TAIL_K,
    Columns,
    ColumnsReadOnce,
    PackedColumns,
    PackedRows,
    PackedSteps,
    Rows,
    RowsInPlace,
)
from triton_rvv.lowering.prefetches import CONFLICT_BYTES
from triton_rvv.lowering.registry import Handler, block_type
from triton_rvv.lowering.runs import run_width
from triton_rvv.lowering.straight_stores import StraightStore
from triton_rvv.lowering.tensors import Elementwise, Point, Tensor, memory_type
from triton_rvv.lowering.tile import Tile
from triton_rvv.lowering.values import Val, integer
from triton_rvv.ttir import Operation
from triton_rvv.types import PointerType, ScalarType, TensorType

__all__ = ["HANDLERS", "converted", "multiply"]

# Up to this many panels of B, reading A where it lies is quicker than copying it first: a copy
# costs about as much as a third of the multiply-adds with one panel.
PANELS_IN_PLACE = 4
# With fewer neighbouring runs in a tile, reading B without a copy is slower: rows may share a few
# sets of the cache, and those on their way drive one another out. With 4 it is 3 times as fast.
RUNS_READ_ONCE = 4
# B blocks up to half an L1 cache of 32 KiB stay there while the rows of A go by.
RESIDENT_B_BYTES = 16 << 10

# Sums of narrower elements, which some multiply-adds widen.
WIDE_BITS = 32

# The rows of A for a tile that starts at the given one.
RowsOfA = Callable[[Val], Rows]


@dataclass(frozen=True)
class _Product:
    """A dot product on its way: `result = start + A @ b`.

    Args:
        live: how many rows, columns and steps along K there are to compute.
        rows, depth: the shape of A.
        b: the right operand.
        start: the accumulator before, in the type of the sums.
        result: the accumulator after; it may be the array that `start` reads.
        rounded: converts sums to the type of the result.
        store: what to do with complete tiles in the last turn of a loop.
    """

    live: Live
    rows: int
    depth: int
    b: Columns
    start: Start
    result: Buffer
    rounded: Emit
    store: StraightStore | None


class _Narrow(Elementwise):
    """A right operand for multiply-adds that widen it: panels are as wide as those of the sums."""

    def own_bits(self) -> int:
        return self.panel_bits

    @property
    def panel_bits(self) -> int:
        return WIDE_BITS


def _dot(context: Context, operation: Operation) -> None:
    left, right, start = (context.tensor(value) for value in operation.operands)
    multiply(context, operation, left, right, start)


def multiply(
    context: Context, operation: Operation, left: Tensor, right: Tensor, start: Tensor
) -> None:
    """Bind the operation's result to `start + left @ right`.

    Raises:
        CompileError: for a result in which nothing is summed.
    """
    sum_type = _sum_type(operation, start.element)
    result = _destination(context, operation, start)
    if fits_matrix_unit(context.target, left, right, sum_type):
        multiply_int8(context, left, right, start, result)
        context.bind(operation.result, result)
        return
    start = converted(start, sum_type)
    rounded = _rounding(sum_type, result)
    if is_grouped(context.target, left, right, sum_type):
        multiply_in_groups(context, operation, left, right, start, result, rounded)
        context.bind(operation.result, result)
        return
    left, right, read_once = _operands(context, left, right, sum_type)
    in_place = _is_matrix_in_memory(context, left)
    sinks.prepare(context, [left, right, start])
    rows, depth = left.shape[-2:]
    before = start_of(start)
    store = before.store if before.store and before.store.product is operation else None
    if store is not None:
        store.is_taken = True

    def product(b: Columns, live: Live = WHOLE) -> _Product:
        return _Product(live, rows, depth, b, before, result, rounded, store)

    if read_once is not None:
        _multiply_reading_once(context, left, right, product, read_once)
    else:
        live = live_part(context, operation, left, right, sum_type)
        b = _panels(context, packed_columns(context, right, live))
        _multiply_by_panels(context, left, in_place, product(b, live))
    context.bind(operation.result, result)


def _operands(
    context: Context, left: Tensor, right: Tensor, sum_type: ScalarType
) -> tuple[Tensor, Tensor, ColumnsReadOnce | None]:
    """The operands in the types in which they are multiplied; B as it lies if it is read once."""
    assert isinstance(right.element, ScalarType)
    wide = [converted(tensor, sum_type) for tensor in (left, right)]
    read_once = _columns_read_once(context, *wide)
    narrow = context.target.widened_by_product(right.element.name)
    is_alike = left.element == right.element
    if read_once is not None or narrow is None or not is_alike or sum_type.bits != WIDE_BITS:
        return wide[0], wide[1], read_once
    target = ScalarType(narrow)
    type_ = TensorType(right.shape, target)
    return left, _Narrow(type_, conversion(right.element, target), [right], keeps_zero=True), None


def _panels(context: Context, block: Buffer) -> PackedColumns:
    # Processors of hosts foresee what is read in sequence.
    return PackedColumns(block, is_prefetched=context.target.backend == "rvv")


def _columns_read_once(context: Context, left: Tensor, right: Tensor) -> ColumnsReadOnce | None:
    """B as it lies, where A has so few rows that copying B costs more than multiplying it.

    A tile then takes several runs of columns, for as many accumulators as others have.
    """
    if len(right.shape) > 2 or isinstance(right, Buffer) or right.settled is not None:
        return None
    panel = run_width(context, [right])
    runs = min(context.target.tile_rows // left.shape[0], right.shape[-1] // panel)
    return ColumnsReadOnce(right, panel, runs) if runs >= RUNS_READ_ONCE else None


def _multiply_reading_once(
    context: Context,
    left: Tensor,
    right: Tensor,
    product: Callable[[Columns], _Product],
    b: ColumnsReadOnce,
) -> None:
    """Multiply by B as it lies, if nothing of it is masked or wraps, and else by a copy."""
    a = sinks.materialise(context, left)

    def copied() -> None:
        with context.region():
            panels = _panels(context, sinks.materialise(context, right))
            _multiply_packed(context, a, product(panels))

    plain = paths.all_of(context, right.plain_guards(context.builder))
    context.builder.branches(plain, lambda: _multiply_packed(context, a, product(b)), copied)


def _multiply_by_panels(context: Context, left: Tensor, in_place: bool, product: _Product) -> None:
    """Multiply by B in panels, and by A where it lies or in panels too."""
    b, live = product.b, product.live

    def packed() -> None:
        steps = packed_steps(context, left, live)
        if steps is not None:
            _multiply_packed(context, steps, product, PackedSteps)
        else:
            _multiply_packed(context, packed_rows(context, left, live), product)

    def where_it_lies() -> None:
        assert isinstance(left, Load)
        _tiles(context, product, functools.partial(_rows_in_place, context, left, live.rows))

    if isinstance(left, Load) and in_place and b.shape[-1] <= PANELS_IN_PLACE * b.panel:
        # Panels that stay in the cache leave fewer places there to rows that share a set.
        conflict_bytes = CONFLICT_BYTES if b.size_bytes > RESIDENT_B_BYTES else CONFLICT_BYTES // 2
        extents = [live.rows, live.depth]
        guards = left.guards_in_place(context.builder, extents, conflict_bytes)
        plain = paths.all_of(context, [*live.guards_in_place(context.builder), *guards])
        context.builder.branches(plain, where_it_lies, packed)
    else:
        packed()


def _is_matrix_in_memory(context: Context, tensor: Tensor) -> bool:
    """Whether nobody has loaded the matrix yet, and nobody else will."""
    is_own = tensor.uses == 1 and tensor in context.pending_loads
    return is_own and isinstance(tensor, Load) and len(tensor.shape) == 2


def _sum_type(operation: Operation, result: ScalarType | PointerType) -> ScalarType:
    """The type in which products are summed."""
    assert isinstance(result, ScalarType)
    if result.name in ("f64", "i32", "i64"):
        return result
    if not result.is_float:
        raise CompileError(f"tl.dot into {result.name} is not supported: use int32", operation.line)
    return ScalarType("f32")


def converted(tensor: Tensor, target: ScalarType) -> Tensor:
    """The tensor's numbers as another type, of which both have to be integers or floats."""
    if tensor.element == target:
        return tensor
    assert isinstance(tensor.element, ScalarType)
    emit = conversion(tensor.element, target)
    return Elementwise(TensorType(tensor.shape, target), emit, [tensor], keeps_zero=True)


def _rounding(sum_type: ScalarType, result: Buffer) -> Emit:
    assert isinstance(result.element, ScalarType)
    return conversion(sum_type, result.element)


def _multiply_packed(
    context: Context,
    a: Buffer,
    product: _Product,
    rows: type[PackedRows] | type[PackedSteps] = PackedRows,
) -> None:
    """Multiply operands that lie in panels, plane by plane where there is a batch of them.

    `rows` reads the array of A, or of its transpose.
    """
    builder, tile_rows = context.builder, min(product.rows, context.target.tile_rows)
    if len(a.shape) == 2:
        _tiles(context, product, lambda row: rows(builder, a, row, tile_rows))
        return
    assert isinstance(product.b, PackedColumns)
    for batch in walks.steps(context, a.shape[0], 1, unrolled=False):
        plane = a.plane(builder, batch)
        one = replace(
            product,
            b=_panels(context, product.b.block.plane(builder, batch)),
            start=product.start.plane(batch),
            result=product.result.plane(builder, batch),
        )
        _tiles(context, one, functools.partial(rows, builder, plane, count=tile_rows))


def _destination(context: Context, operation: Operation, start: Tensor) -> Buffer:
    """Where the result goes: in place of an accumulator that nobody else reads."""
    type_ = block_type(operation)
    array = _read_by_nobody_else(context, start, type_)
    return context.buffer(type_) if array is None else array.alias()


def _read_by_nobody_else(context: Context, start: Tensor, type_: TensorType) -> Buffer | None:
    """An array of this type, each element of which is read for this place of `start` alone."""
    if start.settled is not None or start.uses > 1:
        return None
    if isinstance(start, Buffer):
        is_own = start.uses == 1 and start.type == type_ and context.is_local(start)
        return start if is_own else None
    parts = start.operands if isinstance(start, Elementwise) else ()
    found = (_read_by_nobody_else(context, part, type_) for part in parts)
    return next((array for array in found if array is not None), None)


def _rows_in_place(context: Context, left: Load, live_rows: Val | None, row: Val) -> Rows:
    """The rows of a tile that starts at `row`; behind the last one that counts, that one again."""
    builder, count = context.builder, min(left.shape[0], context.target.tile_rows)
    start, stride = left.rows_in_place(builder, row)
    starts = [start]
    while len(starts) < count:
        distance = stride
        if live_rows is not None:
            is_there = builder.compare("slt", builder.add(row, integer(len(starts))), live_rows)
            distance = builder.select(is_there, stride, integer(0, stride.type))
        starts.append(builder.element_pointer(memory_type(left.element), starts[-1], distance))
    run = min(left.shape[1], context.run_lanes(left.element.bits))
    return RowsInPlace(builder, left.element, starts, stride, run)


def _tiles(context: Context, product: _Product, rows_of_a: RowsOfA) -> None:
    """Every tile of the result; the operand that fits the L1 cache is walked over innermost.

    Args:
        context: where the code goes.
        product: what is multiplied.
        rows_of_a: the rows of A for a tile that starts at the given one.
    """
    b, tile_rows = product.b, min(product.rows, context.target.tile_rows)
    columns = b.shape[1]
    width = b.panel * b.runs
    # A single tile stays in registers from one product to the next.
    single = (tile_rows, width) == (product.rows, columns)
    live_rows = _extent(product.live.rows, product.rows, tile_rows)
    live_columns = _extent(product.live.columns, columns, width)
    if b.size_bytes > RESIDENT_B_BYTES:
        for column in walks.steps(context, live_columns, width, single):
            for row in walks.steps(context, live_rows, tile_rows, single):
                to_next = None if single else (tile_rows, 0)
                _tile(context, product, rows_of_a(row), (row, column), to_next)
    else:
        for row in walks.steps(context, live_rows, tile_rows, single):
            rows = rows_of_a(row)
            for column in walks.steps(context, live_columns, width, single):
                to_next = None if single else (0, width)
                _tile(context, product, rows, (row, column), to_next)


def _extent(count: Val | None, size: int, step: int) -> Val | int:
    """How far a loop goes; where one step is all there is, it is taken in any case."""
    return size if count is None or size <= step else count


def _tile(
    context: Context,
    product: _Product,
    rows: Rows,
    corner: tuple[Val, Val],
    to_next: tuple[int, int] | None,
) -> None:
    """One tile of the result, its upper left element at `corner`, a row and a column.

    The next tile is so many rows and columns further on; None if there is none.
    """
    builder, (row, column) = context.builder, corner
    tile = Tile(builder, rows, product.b, column, stays=to_next is None or to_next[1] == 0)
    # Loads take longest where they come first.
    depth, end = _depth_and_turns(builder, product, tile)
    ahead = tile.begin(depth)
    places = [builder.add(row, integer(offset)) for offset in range(rows.count)]
    starts = [builder.add(column, integer(run * product.b.panel)) for run in range(product.b.runs)]
    points = [Point((place,), start, product.b.panel) for place in places for start in starts]
    totals = product.start.read(builder, points)
    if to_next is not None:
        _prefetch_start(builder, product, points, to_next)
    for base in walks.steps(context, end, tile.unroll, unrolled=False):
        if product.store is not None:
            after = builder.add(base, integer(tile.unroll))
            ends = builder.compare("sge", after, end)
            now = builder.conjunction(product.store.is_now, ends)
            builder.branches(now, functools.partial(product.store.prefetch, builder, points))
        tile.multiply_add(base, depth, ahead, totals)
    if end is not depth:
        with builder.loop(end, depth, integer(TAIL_K)) as base:
            replace(tile, longest=TAIL_K).multiply_add(base, depth, ahead, totals)
    sums = [product.rounded(builder, [total.read()]) for total in totals]

    def to_array() -> None:
        for point, value in zip(points, sums, strict=True):
            product.result.write(builder, point, value)

    if (store := product.store) is None:
        to_array()
    else:
        to_memory = functools.partial(store.write, builder, points, sums)
        builder.branches(store.is_now, to_memory, to_array)


def _depth_and_turns(builder: Builder, product: _Product, tile: Tile) -> tuple[Val, Val]:
    """How far a tile goes along K, and how far of that in whole turns: all, if it is one value."""
    live = product.live
    if live.depth is None:
        depth = integer(product.depth)
        return depth, depth
    if tile.rows.is_padded:
        padded = live.padded_depth(builder, tile.unroll)
        assert padded is not None
        return padded, padded
    whole, rest = builder.split(live.depth, tile.unroll)
    return live.depth, live.depth if rest.constant == 0 else whole


def _prefetch_start(
    builder: Builder, product: _Product, points: Sequence[Point], to_next: tuple[int, int]
) -> None:
    """Ask for the accumulators of the next tile, unless these are neither read nor written."""
    before, (down, right) = product.start.usual, to_next
    if not isinstance(before, Buffer):
        return

    def ask() -> None:
        for point in points:
            (place,) = point.index
            later = (builder.add(place, integer(down)), builder.add(point.start, integer(right)))
            builder.prefetch(before.address(builder, later))

    if product.store is None:
        ask()
    else:
        is_only = builder.conjunction(product.start.is_first, product.store.is_now)
        builder.branches(is_only, lambda: None, ask)


HANDLERS: Mapping[str, Handler] = {"tt.dot": _dot}
