"""`tl.dot` of 8-bit integers by SpacemiT's matrix instruction, 4 x 8 times 8 x 4 at once.

One vector register holds four rows of A, or four columns of B, eight steps of K each. B is copied
into an array in which those 32 bytes lie together. A tile of the result is a grid of such products:

    for k in steps of 8: for each four rows and four columns of the tile: acc += A[.., k] @ B[k, ..]
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.blocks.views import Plane
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.llvm.vectors import concatenated
from triton_rvv.lowering.loops import loop_nests, materialise
from triton_rvv.targets.cores import MATRIX_INTRINSIC
from triton_rvv.targets.target import Target

__all__ = ["fits_matrix_unit", "multiply_int8"]

# Rows and columns of one product, and its steps along K, at 256 bits in a register (SpacemiT,
# "Integrated Matrix Extension", 8-bit elements).
_SIDE, _DEPTH = 4, 8
# Products in a tile: 8 accumulators of two registers each, two registers of A and four of B.
_GRID_ROWS, _GRID_COLUMNS = 2, 4
# Steps of the loop along K that are written out.
_UNROLL = 4

_BYTES = f"<{_SIDE * _DEPTH} x i8>"
_OPERAND, _TOTAL = "<vscale x 8 x i8>", "<vscale x 4 x i32>"


def fits_matrix_unit(target: Target, left: Tensor, right: Tensor, sum_type: ScalarType) -> bool:
    """Whether the instruction can compute `left @ right`."""
    types = (left.element, right.element, sum_type)
    is_int8 = types == (ScalarType("i8"), ScalarType("i8"), ScalarType("i32"))
    is_large = min(left.shape[-2], right.shape[-1]) >= _SIDE and left.shape[-1] >= _DEPTH
    return target.has_matrix_unit and is_int8 and is_large


def multiply_int8(
    context: Context, left: Tensor, right: Tensor, start: Tensor, result: Buffer
) -> None:
    """Write `start + left @ right` to `result`, which may be the array that `start` reads."""
    materialise.prepare(context, [left, right, start])
    a, b = materialise.materialise(context, left), _columns_together(context, right)
    if len(left.shape) == 2:
        _tiles(context, a, b, start, result)
        return
    for batch in loop_nests.steps(context, left.shape[0], 1, unrolled=False):
        a_plane, b_plane, plane = (array.plane(context.builder, batch) for array in (a, b, result))
        _tiles(context, a_plane, b_plane, Plane(start, batch), plane)


def _columns_together(context: Context, right: Tensor) -> Buffer:
    """The columns of B as rows of an array that are cut into pieces of eight steps."""
    builder, source = context.builder, materialise.materialise(context, right)
    *batch, depth, columns = right.shape
    type_ = TensorType((*batch, columns, depth), right.element)
    packed = Buffer(type_, context.buffer(type_).pointer, _DEPTH)
    width = min(source.panel, context.target.lanes(8))
    in_turn = [step * width + lane for lane in range(width) for step in range(_DEPTH)]
    blocks = (*batch, depth // _DEPTH, columns // width)
    for *plane, block, group in loop_nests.positions(context, blocks, unrolled=False):
        k, column = builder.mul(block, integer(_DEPTH)), builder.mul(group, integer(width))
        steps = [builder.add(k, integer(step)) for step in range(_DEPTH)]
        rows = [source.at(builder, VectorIndex((*plane, step), column, width)) for step in steps]
        half = _DEPTH // 2
        halves = [concatenated(builder, some) for some in (rows[:half], rows[half:])]
        # LLVM makes one store of eight registers of this.
        whole = builder.shuffle(halves[0], in_turn, halves[1])
        builder.store(whole, packed.address(builder, (*plane, column, k)), 1)
    return packed


def _tiles(context: Context, a: Buffer, b: Buffer, start: Tensor, result: Buffer) -> None:
    """Every tile of a product of two matrices; the columns of B are rows here."""
    rows, columns = a.shape[0], b.shape[0]
    tile_rows = min(rows, _GRID_ROWS * _SIDE)
    tile_columns = min(columns, _GRID_COLUMNS * _SIDE, result.panel)
    for row in loop_nests.steps(context, rows, tile_rows, unrolled=False):
        for column in loop_nests.steps(context, columns, tile_columns, unrolled=False):
            places = [context.builder.add(row, integer(offset)) for offset in range(tile_rows)]
            points = [VectorIndex((place,), column, tile_columns) for place in places]
            _tile(context, a, b, start, result, points)


def _tile(
    context: Context,
    a: Buffer,
    b: Buffer,
    start: Tensor,
    result: Buffer,
    points: Sequence[VectorIndex],
) -> None:
    """One tile of the result, whose rows are at `points`."""
    builder = context.builder
    squares = range(0, points[0].width, _SIDE)
    before = [start.at(builder, point) for point in points]
    grid = [
        [Variable(builder, _square(builder, before[row : row + _SIDE], at)) for at in squares]
        for row in range(0, len(points), _SIDE)
    ]
    rows = [point.index[0] for point in points[::_SIDE]]
    columns = [builder.add(points[0].start, integer(at)) for at in squares]
    depth, unroll = a.shape[1], min(a.shape[1], _UNROLL * _DEPTH)
    for base in loop_nests.steps(context, depth, unroll, unrolled=False):
        for step in range(0, unroll, _DEPTH):
            k = builder.add(base, integer(step))
            lefts = [_rows(builder, a, k, row) for row in rows]
            rights = [_columns(builder, b, k, column) for column in columns]
            for left, totals in zip(lefts, grid, strict=True):
                for right, total in zip(rights, totals, strict=True):
                    total.write(_multiplied_and_added(builder, left, right, total.read()))
    for row, point in enumerate(points):
        first = row % _SIDE * _SIDE
        pieces = [builder.lanes(total.read(), first, _SIDE) for total in grid[row // _SIDE]]
        result.write(builder, point, concatenated(builder, pieces))


def _square(builder: Builder, rows: Sequence[Val], column: int) -> Val:
    """Four columns of four rows, as the instruction has them: one row after another."""
    return concatenated(builder, [builder.lanes(row, column, _SIDE) for row in rows])


def _rows(builder: Builder, a: Buffer, k: Val, row: Val) -> Val:
    """Four rows of A, eight steps from `k` on."""
    apart = builder.vector([row * a.panel for row in range(_SIDE)], "i64")
    addresses = builder.element_pointer("i8", a.address(builder, (row, k)), apart)
    words = builder.gather("i64", addresses, _DEPTH)
    return builder.emit(_BYTES, f"bitcast {words} to {_BYTES}")


def _columns(builder: Builder, b: Buffer, k: Val, column: Val) -> Val:
    """Four columns of B, eight steps from `k` on."""
    return builder.load(_BYTES, b.address_in_panel(builder, k, column, integer(0)), 1)


def _multiplied_and_added(builder: Builder, left: Val, right: Val, total: Val) -> Val:
    """One instruction; LLVM has it for vectors whose length it does not know."""
    scalable = functools.partial(_scalable, builder)
    operands = [scalable(total, _TOTAL), scalable(left, _OPERAND), scalable(right, _OPERAND)]
    # All elements of a register; lanes beyond them may hold anything.
    elements, policy = integer(_SIDE * _DEPTH), integer(3)
    product = builder.call(_TOTAL, MATRIX_INTRINSIC, [*operands, elements, policy])
    name = f"llvm.vector.extract.{_suffix(total.type)}.{_suffix(_TOTAL)}"
    return builder.call(total.type, name, [product, integer(0)])


def _scalable(builder: Builder, value: Val, type_: str) -> Val:
    name = f"llvm.vector.insert.{_suffix(type_)}.{_suffix(value.type)}"
    return builder.call(type_, name, [Val(type_, "poison"), value, integer(0)])


def _suffix(type_: str) -> str:
    """How LLVM writes a vector type in the name of an intrinsic."""
    text = type_.strip("<>").replace(" x ", "")
    return text.replace("vscale", "nxv") if text.startswith("vscale") else f"v{text}"
