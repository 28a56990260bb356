"""Lines of integers with a limit, such as `tl.maximum(at - 1, 0)` at the edge of an image.

Where a block, or a part of it, does not reach the limit, its integers rise evenly: addresses made
of them are contiguous.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import Component, Segmented, Segments
from triton_rvv.lowering.addresses.lane_range import LaneRange
from triton_rvv.lowering.addresses.line import Line
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.math.lanes import Emit

__all__ = [
    "Clamped",
    "clamped",
    "columns_of",
    "fit_32_bits",
    "is_limited",
    "with_columns",
]

_SMALLEST, _LARGEST = -(1 << 31), (1 << 31) - 1


@dataclass(frozen=True, eq=False)
class Clamped(Segments):
    """32-bit integers that rise evenly, but for a limit that takes the place of those beyond it.

    Args:
        line: without the limit, in 64 bits.
        rise: from one to the next where its own steps are linear, no less than 0.
        limit: as i64.
        is_lower: whether the limit is below the line.
    """

    line: Line
    rise: int
    limit: Val
    is_lower: bool

    def step(self, builder: Builder) -> int:
        return self.rise

    def length(self, builder: Builder) -> int | None:
        return self.line.length(builder)

    def linear_within(self, builder: Builder, count: Val, size: int) -> Val | None:
        if self.line.steps:
            return None
        return self._is_linear(builder, [], self.line.at(builder, integer(0), 1)[1], count)

    def first_of(self, builder: Builder, first: Val, count: int) -> tuple[Val, Val]:
        guards, value = self.line.at(builder, first, count)
        linear = self._is_linear(builder, guards, value, integer(count))
        return linear, self._result(builder, value)

    def _is_linear(self, builder: Builder, guards: Sequence[Val], value: Val, count: Val) -> Val:
        """Whether `count` integers from `value` on are, where the line is under its guards."""
        reach = builder.mul(integer(self.rise), builder.add(count, integer(-1)))
        is_inside = self._is_inside(builder, value, builder.add(value, reach))
        return functools.reduce(builder.conjunction, [*guards, is_inside])

    def run_of(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        """As of `Segments`; 0 where the limit takes the integers' place, or where it is unknown."""
        count, value = self.line.run_at(builder, first, size)
        own = self._run_of(builder, value, size)
        return builder.smin(count, own), self._result(builder, value)

    def _run_of(self, builder: Builder, value: Val, size: int) -> Val:
        """How many integers rise evenly from one on, as `run_of` gives it."""
        if self.rise == 0 or self.is_lower:
            last = builder.add(value, integer(self.rise * (size - 1)))
            return builder.select(self._is_inside(builder, value, last), integer(size), integer(0))
        room = builder.binary("sub", self.limit, value)
        rises = builder.compare("sge", room, integer(0))
        if self.line.steps:
            is_known = builder.compare("sge", value, integer(_SMALLEST))
            rises = builder.conjunction(rises, is_known)
        if self.rise > 1:
            room = builder.binary("udiv", room, integer(self.rise))
        return builder.select(rises, builder.add(room, integer(1)), integer(0))

    def _is_inside(self, builder: Builder, value: Val, last: Val) -> Val:
        """Whether no integer from `value` to `last` wraps, nor is beyond the limit.

        One number in all lanes may be.
        """
        low, high = integer(_SMALLEST), integer(_LARGEST)
        if self.rise and self.is_lower:
            low = self.limit
        elif self.rise:
            high = self.limit
        is_above = builder.compare("sge", value, low)
        if not self.line.steps and not self.is_lower:
            is_above = TRUE
        return builder.conjunction(is_above, builder.compare("sle", last, high))

    def _limited(self, builder: Builder, value: Val) -> Val:
        return (builder.smax if self.is_lower else builder.smin)(value, self.limit)

    def _result(self, builder: Builder, value: Val) -> Val:
        return value if self.rise else self._limited(builder, value)

    @functools.cached_property
    def _inner(self) -> Clamped | None:
        """The line without this limit, where it is one with a limit, and nothing else."""
        part = self.line.part
        if part.stride is not None or [scale.constant for _, scale in part.tables] != [1]:
            return None
        inner = part.tables[0][0].segments
        return inner if isinstance(inner, Clamped) else None

    @property
    def has_plain_ends(self) -> bool:
        """Whether all integers beside those that rise by 1 from one to the next are limits."""
        is_plain = self._inner.has_plain_ends if self._inner else not self.line.steps
        return self.rise == 1 and is_plain

    def inside(self, builder: Builder, first: Val) -> tuple[Val, LaneRange]:
        """The integer at `first` as if there were no limit, and the places that have none.

        These are counted from `first` on. Only where no sum wraps, and ends are plain.
        """
        if self._inner is None:
            value, within = self.line.at(builder, first, 1)[1], LaneRange()
        else:
            value, within = self._inner.inside(builder, first)
            value = builder.add(value, builder.resize(self.line.affine.base, "i64"))
        ahead = builder.binary("sub", self.limit, value)
        own = LaneRange(ahead) if self.is_lower else LaneRange(end=builder.add(ahead, integer(1)))
        return value, within.within(builder, own)

    def fits(self, builder: Builder) -> Val:
        return fit_32_bits(builder, *self.line.affine.ends(builder))

    def bound(self, builder: Builder) -> Val:
        low, high = self.line.affine.ends(builder)
        opposite = builder.binary("sub", integer(0), self._limited(builder, low))
        farthest = builder.smax(opposite, self._limited(builder, high))
        return builder.select(self.fits(builder), farthest, integer(1 << 31))


def clamped(
    builder: Builder, block: Affine, limit: Val, emit: Emit, cost: int, is_lower: bool
) -> Affine | None:
    """A block whose columns have a limit; None for blocks of which nothing is known.

    Args:
        block: 32-bit integers.
        emit, cost: the operation, and roughly its instructions.
        is_lower: whether the limit is below the columns, as that of `tl.maximum`.
    """
    found = columns_of(builder, block)
    if found is None or found[1] < 0:
        return None
    columns, rise = found
    values = Elementwise(columns.type, emit, [columns, Splat(columns.type, limit)], cost)
    limited = Clamped(Line(columns, "i64"), rise, builder.resize(limit, "i64"), is_lower)
    return with_columns(builder, block, values, limited)


def fit_32_bits(builder: Builder, low: Val, high: Val) -> Val:
    """Whether all integers between two, as i64, are 32-bit ones."""
    is_above = builder.compare("sge", low, integer(_SMALLEST))
    return builder.conjunction(is_above, builder.compare("sle", high, integer(_LARGEST)))


def columns_of(builder: Builder, block: Affine) -> tuple[Affine, int] | None:
    """The last dimension of a block of 32-bit integers, and how they rise from one to the next.

    That is 0 for a block of one number. None where they differ along another dimension, or where
    nothing is known of them.
    """
    *rows, part = block.components
    is_known = (
        not part.without_line and not part.digits and not any(t.is_table for t, _ in part.tables)
    )
    if block.base.type != "i32" or block.wrapped is not None or not is_known:
        return None
    step, size = part.linear_stride(builder, block.index_type).constant, block.shape[-1]
    varies_elsewhere = not all(row.is_zero for row in rows)
    if varies_elsewhere or step is None or abs(step) * size > _LARGEST:
        return None
    return Affine(TensorType((size,), block.element), block.base, [part]), step


def with_columns(builder: Builder, block: Affine, values: Tensor, segments: Segments) -> Affine:
    """A block of the same shape whose rows are all one line of integers."""
    found, type_ = Segmented.of(builder, values, segments), block.base.type
    part = Component(None, ((found, integer(1, type_)),))
    rows = block.components[:-1]
    return Affine(block.type, integer(0, type_), [*rows, part])


def is_limited(addresses: Affine) -> bool:
    """Whether columns stay at a limit."""
    segments = [each.segments for each, _ in addresses.components[-1].tables]
    return any(isinstance(each, Clamped) for each in segments)
