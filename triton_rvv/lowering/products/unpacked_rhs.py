"""Right operands that are read where they lie, and not copied into panels first.

So they are where few tiles take all rows of the left operand that count: one reads each line once,
and the others find lines in the L1 cache, or in L2 at less than a copy costs.
"""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.rules import rule
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops.vector_shape import vector_width
from triton_rvv.lowering.memory.in_lines import in_lines
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.products.dot_extents import WHOLE, DotExtents
from triton_rvv.lowering.products.rhs_tiles import ComputedRhs, Rhs, RhsInPlace
from triton_rvv.targets.machine import Machine

__all__ = ["UnpackedRhs", "unpacked_rhs"]


@dataclass(frozen=True)
class UnpackedRhs:
    """A right operand that is read once.

    Args:
        guards: truth values under which it can be.
        live: how much of the product is to be computed then.
    """

    columns: Rhs
    guards: list[Val]
    live: DotExtents


def _lies_by_row(context: Context, right: Load) -> bool:
    """Whether a block's rows lie in memory as the code of this target reads them best."""
    if context.target.backend != "rvv":
        return False
    stride = right.pointers.last_stride(context.builder, linear=True)
    return stride is not None and stride.constant == 1


def _tiles(context: Context, left: Tensor, live: DotExtents) -> int:
    """How many tiles take all rows that count, by sizes and grid, rounded up to a power of two."""
    tile_rows, count = context.target.tile_rows, 1
    while count * tile_rows < left.shape[-2]:
        most = integer(count * tile_rows)
        if live.rows and context.builder.intervals.decided("sle", live.rows, most):
            break
        count *= 2
    return count


def _stays_in_caches(machine: Machine, tiles: int, steps: int, may_collide: bool) -> bool:
    """Whether tiles find again what the first of them has read of a panel.

    Args:
        tiles: how many read the same columns.
        steps: rows of B.
        may_collide: whether these may share few sets of the L1 cache.
    """
    if tiles == 1:
        return True
    if may_collide:
        return tiles == 2 and steps <= machine.max_colliding_steps
    if tiles == 2:
        return True
    return tiles <= machine.max_unpacked_tiles and steps <= machine.max_unpacked_steps


@rule("read-in-place", lambda *_: [])
def unpacked_rhs(
    context: Context, left: Tensor, right: Tensor, in_place: bool, live: DotExtents
) -> list[UnpackedRhs]:
    """The right operand of a product with so few rows that copying it does not pay.

    Where it can be read in several ways, the first one whose guards hold is the best.

    Args:
        in_place: whether the right one is a matrix that nobody else loads.
    """
    builder, tile_rows, rows = context.builder, context.target.tile_rows, left.shape[-2]
    if len(right.shape) > 2 or isinstance(right, Buffer) or right.materialised is not None:
        return []
    ways = list[UnpackedRhs]()
    if in_place and isinstance(right, Load):
        lines = in_lines(builder, right)
        if _lies_by_row(context, lines):
            found = _in_place(context, lines, rows, _tiles(context, left, live), live)
            ways += [] if found is None else [found]
            if lines is right:
                return ways
    panel = vector_width(context, [right])
    runs = min(tile_rows // rows, right.shape[-1] // panel)
    if runs < context.target.machine.min_runs_computed:
        return ways
    columns = ComputedRhs(right, panel, context.target.machine)
    return [*ways, UnpackedRhs(columns, right.plain_guards(builder), WHOLE)]


def _in_place(
    context: Context, right: Load, rows: int, tiles: int, live: DotExtents
) -> UnpackedRhs | None:
    """A matrix whose rows lie in one piece each.

    Args:
        tiles: how many take all of them that count.
    """
    builder, tile_rows, machine = context.builder, context.target.tile_rows, context.target.machine
    may_collide = right.rows_are_apart(builder, machine.conflict_bytes).truth is not True
    if not _stays_in_caches(machine, tiles, right.shape[-2], may_collide):
        return None
    _, stride = right.rows_in_place(builder, integer(0))
    row_bytes = builder.mul(builder.resize(stride, "i64"), integer(right.element.size_bytes))
    columns = RhsInPlace(
        right,
        _run_width(context, right),
        machine,
        row_bytes=builder.of_unknown_origin(row_bytes),
        may_collide=may_collide,
    )
    guards = [
        *live.guards_in_place(builder),
        *right.guards_in_place(builder, [live.depth, live.columns]),
    ]
    if live.columns is not None:
        # A single tile takes its columns even where none count.
        widest = columns.of_tiles(tile_rows // min(rows, machine.min_tile_rows)).width
        guards.append(builder.compare("ne", live.columns, integer(0)))
        guards.append(builder.compare("eq", builder.split(live.columns, widest)[1], integer(0)))
    return UnpackedRhs(columns, guards, live)


def _run_width(context: Context, right: Tensor) -> int:
    """Columns of a run: as many as a run of the sums has, which have 32 bits at least."""
    return min(right.shape[-1], context.run_lanes(max(right.element.bits, 32)))
