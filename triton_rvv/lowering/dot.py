"""`tl.dot` as register tiles.

The product of an M x K and a K x N block is computed tile by tile. A tile keeps its part of the
accumulator in vector registers and walks along K:

    for k: b = B[k, columns]; for each row r of the tile: acc[r] += A[r, k] * b

which is one vector load, and one scalar load and one `vfmacc.vf` a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.errors import CompileError
from triton_rvv.lowering.arith import call_intrinsic
from triton_rvv.lowering.builder import Val, integer
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.registry import Handler, block_type
from triton_rvv.lowering.tensors import Buffer, Point, Tensor
from triton_rvv.ttir import Operation
from triton_rvv.types import ScalarType

__all__ = ["HANDLERS"]

# Rows and register groups of a tile: 8 accumulators of LMUL 2 and two rows of B leave registers
# to spare, and eight independent chains hide the latency of a multiply-add.
TILE_ROWS = 8
TILE_LMUL = 2
# Steps along K that share the loop's overhead.
UNROLL_K = 4


@dataclass(frozen=True)
class _Tile:
    """Size of a register tile, in elements."""

    rows: int
    columns: int


def _dot(context: Context, operation: Operation) -> None:
    left, right, start = (context.tensor(value) for value in operation.operands)
    _check(operation, (left, right, start))
    context.prepare([left, right, start])
    a, b = context.materialise(left), context.materialise(right)
    result = _destination(context, operation, start)
    (rows, depth), columns = left.shape, right.shape[1]
    lanes = context.target.lanes(start.element.bits)
    width = min(columns, TILE_LMUL * lanes)
    tile = _Tile(min(rows, TILE_ROWS * TILE_LMUL * lanes // max(width, lanes)), width)
    # A single tile stays in registers from one product to the next.
    single = tile == _Tile(rows, columns)
    for column in context.steps(columns, tile.columns, single):
        for row in context.steps(rows, tile.rows, single):
            _tile(context, tile, depth, (a, b, start, result), row, column)
    context.bind(operation.result, result)


def _check(operation: Operation, tensors: Sequence[Tensor]) -> None:
    if len(block_type(operation).shape) != 2 or any(
        tensor.element != ScalarType("f32") for tensor in tensors
    ):
        raise CompileError(
            "tl.dot of other than two-dimensional fp32 blocks is not supported: convert to fp32",
            operation.line,
        )


def _destination(context: Context, operation: Operation, start: Tensor) -> Buffer:
    """Where the result goes: in place of an accumulator that nobody else reads."""
    if isinstance(start, Buffer) and start.uses == 1:
        return Buffer(start.type, start.pointer)
    return context.buffer(block_type(operation))


def _tile(
    context: Context,
    tile: _Tile,
    depth: int,
    blocks: tuple[Buffer, Buffer, Tensor, Buffer],
    row: Val,
    column: Val,
) -> None:
    """One tile of the result, its upper left element at (row, column)."""
    a, b, start, result = blocks
    builder = context.builder
    points = [
        Point((builder.add(row, integer(offset)),), column, tile.columns)
        for offset in range(tile.rows)
    ]
    slots = []
    for point in points:
        value = start.at(builder, point)
        slot = builder.alloca(value.type, 1)
        builder.store(value, slot, 4)
        slots.append((slot, value.type))
    unroll = min(depth, UNROLL_K)
    for base in context.steps(depth, unroll, unrolled=False):
        for offset in range(unroll):
            k = builder.add(base, integer(offset))
            b_row = b.at(builder, Point((k,), column, tile.columns))
            for point, (slot, type_) in zip(points, slots, strict=True):
                element = a.at(builder, Point(point.index, k, 1))
                factors = (builder.splat(element, tile.columns), b_row)
                total = call_intrinsic(
                    builder, "llvm.fma", (*factors, builder.load(type_, slot, 4))
                )
                builder.store(total, slot, 4)
    for point, (slot, type_) in zip(points, slots, strict=True):
        result.write(builder, point, builder.load(type_, slot, 4))


HANDLERS: Mapping[str, Handler] = {"tt.dot": _dot}
