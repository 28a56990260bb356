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
from triton_rvv.lowering import sinks
from triton_rvv.lowering.arith import call_intrinsic
from triton_rvv.lowering.builder import Builder, Val, Variable, integer, vector_type
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.registry import Handler, block_type
from triton_rvv.lowering.tensors import Buffer, Point, Tensor
from triton_rvv.ttir import Operation
from triton_rvv.types import ScalarType

__all__ = ["HANDLERS"]

# Rows of a tile: 8 accumulators of LMUL 2 and three rows of B leave registers to spare, and eight
# independent chains hide the latency of a multiply-add.
TILE_ROWS = 8
# Steps along K that are written out. Loads are hidden behind earlier steps only within these.
UNROLL_K = 16
# A row of B is loaded this many steps before it is used: a load of LMUL 2 takes about 18 cycles
# on the X60, and a step with 8 rows 16.
LOOK_AHEAD = 2


@dataclass(frozen=True)
class _Tile:
    """Size of a register tile, in elements."""

    rows: int
    columns: int


def _dot(context: Context, operation: Operation) -> None:
    left, right, start = (context.tensor(value) for value in operation.operands)
    _check(operation, (left, right, start))
    sinks.prepare(context, [left, right, start])
    a, b = sinks.materialise(context, left), sinks.materialise(context, right)
    result = _destination(context, operation, start)
    rows, columns = left.shape[0], right.shape[1]
    tile = _Tile(min(rows, TILE_ROWS), b.panel)
    # A single tile stays in registers from one product to the next.
    single = tile == _Tile(rows, columns)
    for column in sinks.steps(context, columns, tile.columns, single):
        for row in sinks.steps(context, rows, tile.rows, single):
            _tile(context, tile, (a, b, start, result), row, column)
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
        return start.alias()
    return context.buffer(block_type(operation))


def _tile(
    context: Context,
    tile: _Tile,
    blocks: tuple[Buffer, Buffer, Tensor, Buffer],
    row: Val,
    column: Val,
) -> None:
    """One tile of the result, its upper left element at (row, column)."""
    a, b, start, result = blocks
    builder = context.builder
    rows = [builder.add(row, integer(offset)) for offset in range(tile.rows)]
    points = [Point((position,), column, tile.columns) for position in rows]
    totals = [Variable(builder, start.at(builder, point)) for point in points]
    unroll = min(a.panel, UNROLL_K)
    for panel in sinks.steps(context, a.shape[1], a.panel, unrolled=False):
        for base in sinks.steps(context, a.panel, unroll, unrolled=False):
            ks = [builder.add(base, integer(offset)) for offset in range(unroll)]
            _multiply_add(builder, (a, b), (rows, column), (panel, ks), totals)
    for point, total in zip(points, totals, strict=True):
        result.write(builder, point, total.read())


def _multiply_add(
    builder: Builder,
    blocks: tuple[Buffer, Buffer],
    tile: tuple[Sequence[Val], Val],
    steps: tuple[Val, Sequence[Val]],
    totals: Sequence[Variable],
) -> None:
    """A few steps along K, written in the order in which an in-order core best runs them.

    Args:
        builder: writes the code.
        blocks: A and B.
        tile: the tile's rows and its first column.
        steps: the first column of A's panel, and positions in it, ascending.
        totals: the accumulator of each row.
    """
    (a, b), (rows, column), (panel, ks) = blocks, tile, steps
    b_rows = [_load_b(builder, b, builder.add(panel, k), column) for k in ks[:LOOK_AHEAD]]
    elements = [_load_a(builder, a, panel, row, ks[0]) for row in rows]
    for step in range(len(ks)):
        for k in ks[step + LOOK_AHEAD : step + LOOK_AHEAD + 1]:
            b_rows.append(_load_b(builder, b, builder.add(panel, k), column))
        following = []
        for row, element, total in zip(rows, elements, totals, strict=True):
            following += [_load_a(builder, a, panel, row, k) for k in ks[step + 1 : step + 2]]
            factors = (builder.splat(element, b.panel), b_rows[step])
            total.write(call_intrinsic(builder, "llvm.fma", (*factors, total.read())))
        elements = following


def _load_a(builder: Builder, a: Buffer, panel: Val, row: Val, column: Val) -> Val:
    address = a.address_in_panel(builder, panel, row, column)
    return builder.load(a.element.llvm, address, a.element.size_bytes)


def _load_b(builder: Builder, b: Buffer, row: Val, column: Val) -> Val:
    address = b.address_in_panel(builder, column, row, integer(0))
    return builder.load(vector_type(b.element.llvm, b.panel), address, b.element.size_bytes)


HANDLERS: Mapping[str, Handler] = {"tt.dot": _dot}
