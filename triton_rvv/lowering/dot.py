"""`tl.dot` as register tiles.

The product of an M x K and a K x N block is computed tile by tile. A tile keeps its part of the
accumulator in vector registers and walks along K:

    for k: b = B[k, columns]; for each row r of the tile: acc[r] += A[r, k] * b

which is one vector load, and one scalar load and one `vfmacc.vf` a row.

Small floats are multiplied and summed in float32, 8-bit integers in 32 bits: operands are converted
once, when they are copied into panels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from triton_rvv.errors import CompileError
from triton_rvv.lowering import sinks
from triton_rvv.lowering.arith import Emit, call_intrinsic
from triton_rvv.lowering.builder import Builder, Val, Variable, integer, vector_type
from triton_rvv.lowering.casts import conversion
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.memory import Load
from triton_rvv.lowering.registry import Handler, block_type
from triton_rvv.lowering.tensors import Buffer, Elementwise, Plane, Point, Tensor
from triton_rvv.ttir import Operation
from triton_rvv.types import PointerType, ScalarType, TensorType

__all__ = ["HANDLERS"]

# Steps along K that are written out. Loads are hidden behind earlier steps only within these.
UNROLL_K = 16
# A row of B is loaded this many steps before it is used: a load of LMUL 2 takes about 18 cycles
# on the X60, and a step with 8 rows 16.
LOOK_AHEAD = 2


# Up to this many panels of B, reading A where it lies is quicker than copying it first: a copy
# costs about as much as a third of the multiply-adds with one panel.
PANELS_IN_PLACE = 4
# B blocks up to half an L1 cache of 32 KiB stay there while the rows of A go by.
RESIDENT_B_BYTES = 16 << 10

# Reads one element of a row of A: (first column of a run, offset in the run) -> element.
RowReader = Callable[[Val, Val], Val]
RowsOfA = Callable[[Sequence[Val]], list[RowReader]]


@dataclass(frozen=True)
class _Product:
    """A dot product on its way: `result = start + A @ b`.

    Args:
        rows, depth: the shape of A.
        b: the right operand, in panels of one run.
        start: the accumulator before, in the type of the sums.
        result: the accumulator after; it may be the array that `start` reads.
        rounded: converts sums to the type of the result.
    """

    rows: int
    depth: int
    b: Buffer
    start: Tensor
    result: Buffer
    rounded: Emit


def _dot(context: Context, operation: Operation) -> None:
    operands = [context.tensor(value) for value in operation.operands]
    sum_type = _sum_type(operation, operands[2].element)
    result = _destination(context, operation, operands[2])
    left, right, start = (_converted(tensor, sum_type) for tensor in operands)
    in_place = isinstance(left, Load) and left.uses == 1 and left in context.pending_loads
    sinks.prepare(context, [left, right, start])
    b = sinks.materialise(context, right)
    product = _Product(
        left.shape[-2], left.shape[-1], b, start, result, _rounding(sum_type, result)
    )

    def packed() -> None:
        _multiply_packed(context, sinks.materialise(context, left), product)

    def where_it_lies() -> None:
        assert isinstance(left, Load)
        _tiles(context, product, lambda places: left.rows_in_place(context.builder, places))

    if isinstance(left, Load) and in_place and b.shape[-1] <= PANELS_IN_PLACE * b.panel:
        plain = sinks.all_of(context, left.guards_in_place(context.builder))
        context.builder.branches(plain, where_it_lies, packed)
    else:
        packed()
    context.bind(operation.result, result)


def _sum_type(operation: Operation, result: ScalarType | PointerType) -> ScalarType:
    """The type in which products are summed."""
    assert isinstance(result, ScalarType)
    if result.name in ("f64", "i32", "i64"):
        return result
    if not result.is_float:
        raise CompileError(f"tl.dot into {result.name} is not supported: use int32", operation.line)
    return ScalarType("f32")


def _converted(tensor: Tensor, target: ScalarType) -> Tensor:
    if tensor.element == target:
        return tensor
    assert isinstance(tensor.element, ScalarType)
    emit = conversion(tensor.element, target)
    return Elementwise(TensorType(tensor.shape, target), emit, [tensor])


def _rounding(sum_type: ScalarType, result: Buffer) -> Emit:
    assert isinstance(result.element, ScalarType)
    return conversion(sum_type, result.element)


def _multiply_packed(context: Context, a: Buffer, product: _Product) -> None:
    """Multiply operands that lie in panels, plane by plane where there is a batch of them."""
    builder = context.builder
    if len(a.shape) == 2:
        _tiles(context, product, lambda places: _packed_rows(builder, a, places))
        return
    for batch in sinks.steps(context, a.shape[0], 1, unrolled=False):
        plane = a.plane(builder, batch)
        one = replace(
            product,
            b=product.b.plane(builder, batch),
            start=Plane(product.start, batch),
            result=product.result.plane(builder, batch),
        )
        _tiles(context, one, functools.partial(_packed_rows, builder, plane))


def _destination(context: Context, operation: Operation, start: Tensor) -> Buffer:
    """Where the result goes: in place of an accumulator that nobody else reads."""
    if isinstance(start, Buffer) and start.uses == 1 and context.is_local(start):
        return start.alias()
    return context.buffer(block_type(operation))


def _tiles(context: Context, product: _Product, rows_of_a: RowsOfA) -> None:
    """Every tile of the result; the operand that fits the L1 cache is walked over innermost.

    Args:
        context: where the code goes.
        product: what is multiplied.
        rows_of_a: for each of the given rows, what reads its elements.
    """
    b, tile_rows = product.b, min(product.rows, context.target.tile_rows)
    columns = b.shape[1]
    # A single tile stays in registers from one product to the next.
    single = (tile_rows, b.panel) == (product.rows, columns)
    if b.type.elements * b.element.size_bytes <= RESIDENT_B_BYTES:
        for row in sinks.steps(context, product.rows, tile_rows, single):
            for column in sinks.steps(context, columns, b.panel, single):
                _tile(context, product, rows_of_a, (row, column))
    else:
        for column in sinks.steps(context, columns, b.panel, single):
            for row in sinks.steps(context, product.rows, tile_rows, single):
                _tile(context, product, rows_of_a, (row, column))


def _tile(context: Context, product: _Product, rows_of_a: RowsOfA, corner: tuple[Val, Val]) -> None:
    """One tile of the result, its upper left element at `corner`, a row and a column."""
    builder, b = context.builder, product.b
    row, column = corner
    tile_rows = min(product.rows, context.target.tile_rows)
    places = [builder.add(row, integer(offset)) for offset in range(tile_rows)]
    points = [Point((place,), column, b.panel) for place in places]
    totals = [Variable(builder, product.start.at(builder, point)) for point in points]
    readers = rows_of_a(places)
    run = min(product.depth, context.run_lanes(b.element.bits))
    unroll = min(run, UNROLL_K)
    for first in sinks.steps(context, product.depth, run, unrolled=False):
        for base in sinks.steps(context, run, unroll, unrolled=False):
            ks = [builder.add(base, integer(offset)) for offset in range(unroll)]
            _multiply_add(builder, readers, (b, column), (first, ks), totals)
    for point, total in zip(points, totals, strict=True):
        product.result.write(builder, point, product.rounded(builder, [total.read()]))


def _multiply_add(
    builder: Builder,
    readers: Sequence[RowReader],
    panel: tuple[Buffer, Val],
    steps: tuple[Val, Sequence[Val]],
    totals: Sequence[Variable],
) -> None:
    """A few steps along K, written in the order in which an in-order core best runs them.

    Args:
        builder: writes the code.
        readers: of the rows of A.
        panel: B and the first column of the tile.
        steps: the first position along K of a run, and offsets in it, ascending.
        totals: the accumulator of each row.
    """
    (b, column), (first, ks) = panel, steps
    b_rows = [_load_b(builder, b, builder.add(first, k), column) for k in ks[:LOOK_AHEAD]]
    elements = [read(first, ks[0]) for read in readers]
    for step in range(len(ks)):
        for k in ks[step + LOOK_AHEAD : step + LOOK_AHEAD + 1]:
            b_rows.append(_load_b(builder, b, builder.add(first, k), column))
        following = []
        for read, element, total in zip(readers, elements, totals, strict=True):
            following += [read(first, k) for k in ks[step + 1 : step + 2]]
            factors = (builder.splat(element, b.panel), b_rows[step])
            total.write(_multiplied_and_added(builder, *factors, total.read()))
        elements = following


def _multiplied_and_added(builder: Builder, left: Val, right: Val, total: Val) -> Val:
    if total.element.startswith("i"):
        return builder.add(total, builder.mul(left, right))
    return call_intrinsic(builder, "llvm.fma", (left, right, total))


def _packed_rows(builder: Builder, a: Buffer, places: Sequence[Val]) -> list[RowReader]:
    def reader(place: Val) -> RowReader:
        def read(first: Val, offset: Val) -> Val:
            address = a.address_in_panel(builder, first, place, offset)
            return builder.load(a.element.llvm, address, a.element.size_bytes)

        return read

    return [reader(place) for place in places]


def _load_b(builder: Builder, b: Buffer, row: Val, column: Val) -> Val:
    address = b.address_in_panel(builder, column, row, integer(0))
    return builder.load(vector_type(b.element.llvm, b.panel), address, b.element.size_bytes)


HANDLERS: Mapping[str, Handler] = {"tt.dot": _dot}
