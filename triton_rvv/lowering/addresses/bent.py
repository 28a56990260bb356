"""Lines of integers that are others beyond a limit, as where a signal is mirrored at its ends.

    at = tl.abs(at)                                     at = at - shift
    at = tl.where(at < n, at, 2 * n - 2 - at)           at = tl.where(at < 0, at + n, at)

Where a block, or a part of it, does not reach the limit, its integers rise evenly.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.clamped import Clamped, columns_of, fit_32_bits, with_columns
from triton_rvv.lowering.addresses.line import Line
from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.math.lanes import Emit

__all__ = ["bent"]


@dataclass(frozen=True, eq=False)
class Bent(Clamped):
    """32-bit integers that rise evenly up to a limit, or from one on; any others are beyond it.

    Args:
        others: what integers beyond the limit are among, with or without their sign.
    """

    others: Sequence[Affine]

    goes_on = True

    def run_of(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        """As of `Segments`; below a lower limit, minus the integers up to it."""
        count, value = self.line.run_at(builder, first, size)
        own = self._run_of(builder, value, size)
        if self.is_lower and self.rise == 1:
            ahead = builder.binary("sub", value, self.limit)
            own = builder.select(builder.compare("slt", ahead, integer(0)), ahead, own)
        return builder.smin(count, own), value

    @property
    def has_plain_ends(self) -> bool:
        return False

    def bound(self, builder: Builder) -> Val:
        farthest = integer(0)
        for each in (self.line.affine, *self.others):
            low, high = each.ends(builder)
            opposite = builder.binary("sub", integer(0), low)
            farthest = functools.reduce(builder.smax, [farthest, opposite, high])
        return builder.select(self.fits(builder), farthest, integer(1 << 31))

    def fits(self, builder: Builder) -> Val:
        ends = [each.ends(builder) for each in (self.line.affine, *self.others)]
        return functools.reduce(builder.conjunction, [fit_32_bits(builder, *each) for each in ends])


def bent(
    builder: Builder,
    blocks: Sequence[Affine],
    emit: Emit,
    cost: int,
    limit: Val,
    is_lower: bool,
) -> Affine | None:
    """A block whose columns are others beyond a limit; None for blocks of which nothing is known.

    Args:
        blocks: 32-bit integers, first those that are kept where the limit is not passed.
        emit, cost: the operation on all of them, and roughly its instructions.
        limit: the last integer that is kept, as i64.
        is_lower: whether the limit is below the columns.
    """
    columns = [columns_of(builder, block) for block in blocks]
    found = [each for each in columns if each is not None]
    if len(found) < len(blocks) or found[0][1] < 1:
        return None
    (line, *others), rise = [each for each, _ in found], found[0][1]
    values = Elementwise(line.type, emit, [line, *others], cost)
    segments = Bent(Line(line, "i64"), rise, limit, is_lower, others)
    return with_columns(builder, blocks[0], values, segments)
