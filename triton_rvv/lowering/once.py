"""Right operands that are read once, where they lie, and not copied into panels first.

So they are where one tile takes all rows of the left operand that count.
"""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.lowering.buffer import Buffer
from triton_rvv.lowering.columns import Columns, ColumnsComputedOnce, ColumnsInPlace
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.live import WHOLE, Live
from triton_rvv.lowering.memory import Load
from triton_rvv.lowering.prefetches import CONFLICT_BYTES
from triton_rvv.lowering.runs import run_width
from triton_rvv.lowering.tensors import Tensor
from triton_rvv.lowering.values import Val, integer

__all__ = ["ReadOnce", "columns_read_once"]

# What is computed on the way is waited for: that pays where few rows multiply it.
RUNS_COMPUTED_ONCE = 4
# As many rows as a tile of the most runs has.
FEWEST_ROWS = 2


@dataclass(frozen=True)
class ReadOnce:
    """A right operand that is read once.

    Args:
        columns: the operand.
        guards: truth values under which it can be.
        live: how much of the product is to be computed then.
    """

    columns: Columns
    guards: list[Val]
    live: Live


def _lies_by_row(context: Context, right: Tensor) -> bool:
    """Whether a block's rows lie in memory as the code of this target reads them best."""
    if context.target.backend != "rvv" or not isinstance(right, Load):
        return False
    stride = right.pointers.last_stride(context.builder, linear=True)
    return stride is not None and stride.constant == 1


def _are_few(context: Context, live: Live) -> bool:
    """Whether sizes and grid say that one tile takes all rows that count."""
    if live.rows is None:
        return False
    return (
        context.builder.compare("sle", live.rows, integer(context.target.tile_rows)).ref == "true"
    )


def columns_read_once(
    context: Context, left: Tensor, right: Tensor, in_place: bool, live: Live
) -> ReadOnce | None:
    """The right operand of a product with so few rows that copying it does not pay.

    Args:
        context: where the code goes.
        left, right: the operands.
        in_place: whether the right one is a matrix that nobody else loads.
        live: how much of the product counts.
    """
    builder, tile_rows, rows = context.builder, context.target.tile_rows, left.shape[-2]
    if len(right.shape) > 2 or isinstance(right, Buffer) or right.settled is not None:
        return None
    if in_place and isinstance(right, Load) and _lies_by_row(context, right):
        # Where that is only found out at run time, both ways would double the code.
        if rows > tile_rows and not _are_few(context, live):
            return None
        apart = right.rows_are_apart(builder, CONFLICT_BYTES)
        may_collide = apart.ref != "true"
        columns = ColumnsInPlace(right, _run_width(context, right), may_collide=may_collide)
        guards = [
            *live.guards_in_place(builder),
            *right.guards_in_place(builder, [live.depth, live.columns]),
        ]
        if live.columns is not None:
            # A single tile takes its columns even where none count.
            widest = columns.of_tiles(tile_rows // min(rows, FEWEST_ROWS)).width
            guards.append(builder.compare("ne", live.columns, integer(0)))
            guards.append(builder.compare("eq", builder.split(live.columns, widest)[1], integer(0)))
        return ReadOnce(columns, guards, live)
    panel = run_width(context, [right])
    runs = min(tile_rows // rows, right.shape[-1] // panel)
    if runs < RUNS_COMPUTED_ONCE:
        return None
    return ReadOnce(ColumnsComputedOnce(right, panel), right.plain_guards(builder), WHOLE)


def _run_width(context: Context, right: Tensor) -> int:
    """Columns of a run: as many as a run of the sums has, which have 32 bits at least."""
    return min(right.shape[-1], context.run_lanes(max(right.element.bits, 32)))
