"""How much of a block's product is to be computed: blocks at the edge of a matrix are not whole.

A program multiplies whole blocks and stores what its mask lets through, and along K it loads zeros
behind the end. Rows and columns that nobody stores, and steps along K in which both operands are 0,
are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.memory.permute import swapped
from triton_rvv.lowering.products.pack import demanded_count, pack_part

__all__ = ["WHOLE", "DotExtents", "dot_extents", "packed_columns", "packed_rows", "packed_steps"]


@dataclass(frozen=True)
class DotExtents:
    """How many leading rows, columns and steps along K count, as i64; None for all.

    Args:
        rows: of A and of the result.
        columns: of B and of the result.
        depth: columns of A and rows of B.
    """

    rows: Val | None = None
    columns: Val | None = None
    depth: Val | None = None

    def padded_depth(self, builder: Builder, unroll: int) -> Val | None:
        """The depth as whole turns of a loop that takes `unroll` steps each."""
        if self.depth is None:
            return None
        more = builder.add(self.depth, integer(unroll - 1))
        return builder.binary("and", more, integer(-unroll))

    def guards_in_place(self, builder: Builder) -> list[Val]:
        """Truth values under which tiles can read A where it lies, and no steps behind its end."""
        if self.depth is None:
            return []
        _, rest = builder.split(self.depth, builder.abilities.machine.tail_k)
        zero = integer(0)
        # Tiles load the first step before they know of a second one.
        return [builder.compare("eq", rest, zero), builder.compare("ne", self.depth, zero)]


WHOLE = DotExtents()


def dot_extents(
    context: Context, operation: Operation, left: Tensor, right: Tensor, sum_type: ScalarType
) -> DotExtents:
    """What of the operation's product counts, as far as it pays to leave the rest out."""
    rank, result = len(left.shape), operation.result
    depth, columns = left.shape[-1], right.shape[-1]
    several_runs = columns > context.run_lanes(sum_type.bits)
    return DotExtents(
        _rows(context, operation, left, several_runs) if _may_be_cut(left) else None,
        demanded_count(context, result, rank - 1) if several_runs and _may_be_cut(right) else None,
        _depth(context.builder, left, right)
        if depth > 2 * context.target.machine.unroll_k
        else None,
    )


def _rows(context: Context, operation: Operation, left: Tensor, several_runs: bool) -> Val | None:
    """The rows that count; of a block of one tile, only where their number is known.

    Otherwise it would not stay in registers from one product to the next.
    """
    count = demanded_count(context, operation.result, len(left.shape) - 2)
    is_one_tile = left.shape[-2] <= context.target.tile_rows and not several_runs
    return None if count is None or (is_one_tile and count.constant is None) else count


def _may_be_cut(operand: Tensor) -> bool:
    """Whether the kernel provides for a block at an edge: loads of whole blocks have no masks."""
    return any(isinstance(t, Mask) or t.own_linear_guards() for t in operand.walk())


def _depth(builder: Builder, left: Tensor, right: Tensor) -> Val | None:
    """The steps along K before all others are 0 times 0, which is 0 whatever the type."""
    rank = len(left.shape)
    ends = [left.zero_from(builder, rank - 1), right.zero_from(builder, rank - 2)]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return None
    depth = builder.smax(*known)
    return None if depth.constant == left.shape[-1] else depth


def packed_rows(context: Context, left: Tensor, live: DotExtents) -> Buffer:
    """A in panels, as far as it counts; behind the last step of a row are zeros for a turn."""
    around = [None] * (len(left.shape) - 2)
    turn = min(context.run_lanes(left.element.bits), context.target.machine.unroll_k)
    extents = [*around, live.rows, live.depth]
    return pack_part(context, left, extents, whole_columns=turn)


@rule("pack-transposed", nothing)
def packed_steps(context: Context, left: Tensor, live: DotExtents) -> Buffer | None:
    """The transpose of A in panels, as far as it counts, where A lies by column; else None.

    Behind the last step along K are zeros for a whole turn.
    """
    transpose = swapped(left)
    if transpose is None or context.run_lanes(left.element.bits) < context.target.tile_rows:
        return None
    around = [None] * (len(left.shape) - 2)
    return pack_part(
        context, transpose, [*around, live.depth, live.rows], context.target.machine.unroll_k
    )


def packed_columns(context: Context, right: Tensor, live: DotExtents) -> Buffer:
    """B in panels, as far as it counts; behind the last step along K are zeros for a whole turn."""
    around = [None] * (len(right.shape) - 2)
    return pack_part(
        context, right, [*around, live.depth, live.columns], context.target.machine.unroll_k
    )
