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
from triton_rvv.lowering.addresses.components import Component, Segmented, reaches
from triton_rvv.lowering.addresses.div_mod import shortest
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.math.lanes import Emit

__all__ = ["Clamped", "clamped", "is_limited"]

_SMALLEST, _LARGEST = -(1 << 31), (1 << 31) - 1


@dataclass(frozen=True, eq=False)
class _Line:
    """A line of 32-bit integers, and the limit that takes the place of those beyond it.

    Args:
        affine: one-dimensional; it rises by `step` where its own tables are linear.
        step: no less than 0.
        limit: as i64.
        is_lower: whether the limit is below the line.
    """

    affine: Affine
    step: int
    limit: Val
    is_lower: bool

    @property
    def tables(self) -> Sequence[tuple[Segmented, Val]]:
        """The parts of which the line is made, each with its scale."""
        found = self.affine.components[0].tables
        return [(each, scale) for each, scale in found if isinstance(each, Segmented)]

    def limited(self, builder: Builder, value: Val) -> Val:
        """A number inside of the limit."""
        return (builder.smax if self.is_lower else builder.smin)(value, self.limit)

    def first_of(self, builder: Builder, first: Val, count: Val) -> tuple[Val, Val]:
        """Whether `count` integers from `first` on rise evenly, and the one there, as i64."""
        guards, starts = [], []
        for table, _ in self.tables:
            assert count.constant is not None
            linear, start = table.linear_from(builder, first, count.constant)
            guards.append(linear)
            starts.append(start)
        value = self._value(builder, first, starts)
        reach = builder.mul(integer(self.step), builder.add(count, integer(-1)))
        guards.append(self._is_inside(builder, value, builder.add(value, reach)))
        linear = functools.reduce(builder.conjunction, guards)
        return linear, self._result(builder, value)

    def run_of(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        """How many integers from `first` on rise evenly, and the one there, as i64.

        0 where the limit takes their place, or where it is unknown.
        """
        count, starts = integer(size), []
        for table, _ in self.tables:
            own, start = table.run_from(builder, first, size)
            count = builder.smin(count, own)
            starts.append(start)
        value = self._value(builder, first, starts)
        own = self._run_of(builder, value, size)
        return builder.smin(count, own), self._result(builder, value)

    def _run_of(self, builder: Builder, value: Val, size: int) -> Val:
        """How many integers rise evenly from one on, as `run_of` gives it."""
        if self.step == 0 or self.is_lower:
            last = builder.add(value, integer(self.step * (size - 1)))
            return builder.select(self._is_inside(builder, value, last), integer(size), integer(0))
        room = builder.binary("sub", self.limit, value)
        rises = builder.compare("sge", room, integer(0))
        if self.tables:
            is_known = builder.compare("sge", value, integer(_SMALLEST))
            rises = builder.conjunction(rises, is_known)
        if self.step > 1:
            room = builder.binary("udiv", room, integer(self.step))
        return builder.select(rises, builder.add(room, integer(1)), integer(0))

    def _value(self, builder: Builder, first: Val, starts: Sequence[Val]) -> Val:
        """The integer at `first` without a limit, where those from there on rise evenly."""
        total = builder.resize(self.affine.base, "i64")
        total = builder.add(total, builder.mul(first, integer(self.step)))
        for (_, scale), start in zip(self.tables, starts, strict=True):
            total = builder.add(total, builder.mul(start, builder.resize(scale, "i64")))
        return total

    def _is_inside(self, builder: Builder, value: Val, last: Val) -> Val:
        """Whether no integer from `value` to `last` wraps, nor is beyond the limit.

        One number in all lanes may be.
        """
        low, high = integer(_SMALLEST), integer(_LARGEST)
        if self.step and self.is_lower:
            low = self.limit
        elif self.step:
            high = self.limit
        is_above = builder.compare("sge", value, low)
        if not self.tables and not self.is_lower:
            is_above = TRUE
        return builder.conjunction(is_above, builder.compare("sle", last, high))

    def _result(self, builder: Builder, value: Val) -> Val:
        return value if self.step else self.limited(builder, value)

    def bound(self, builder: Builder) -> Val:
        """What no integer exceeds, with or without its sign, as i64."""
        (part,), (size,) = self.affine.components, self.affine.shape
        low = high = builder.resize(self.affine.base, "i64")
        for below, above in reaches(builder, part, size):
            low, high = builder.add(low, below), builder.add(high, above)
        wraps = builder.binary(
            "or",
            builder.compare("slt", low, integer(_SMALLEST)),
            builder.compare("sgt", high, integer(_LARGEST)),
        )
        opposite = builder.binary("sub", integer(0), self.limited(builder, low))
        farthest = builder.smax(opposite, self.limited(builder, high))
        return builder.select(wraps, integer(1 << 31), farthest)


@dataclass(frozen=True, eq=False, kw_only=True)
class Clamped(Segmented):
    """Numbers along one dimension that rise evenly, or not at all beyond a limit."""

    line: _Line

    def linear_within(self, builder: Builder, count: Val | None) -> Val:
        if count is None or self.line.tables:
            return self.linear
        return self.line.first_of(builder, integer(0), count)[0]

    def length(self, builder: Builder) -> int | None:
        return shortest([table.length(builder) for table, _ in self.line.tables])

    def first_of(self, builder: Builder, first: Val, count: int) -> tuple[Val, Val]:
        return self.line.first_of(builder, first, integer(count))

    def run_of(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        return self.line.run_of(builder, first, size)


def clamped(
    builder: Builder, block: Affine, limit: Val, emit: Emit, cost: int, is_lower: bool
) -> Affine | None:
    """A block whose columns have a limit; None for blocks of which nothing is known.

    Args:
        block: 32-bit integers.
        emit, cost: the operation, and roughly its instructions.
        is_lower: whether the limit is below the columns, as that of `tl.maximum`.
    """
    *rows, part = block.components
    are_known = all(isinstance(table, Segmented) for table, _ in part.tables) and not part.digits
    if block.base.type != "i32" or block.wrapped is not None or part.listed or not are_known:
        return None
    step, size = part.linear_stride(builder, block.index_type).constant, block.shape[-1]
    varies_elsewhere = part.is_zero or not all(row.is_zero for row in rows)
    if varies_elsewhere or step is None or step < 0 or step * size > _LARGEST:
        return None
    flat = TensorType((size,), block.element)
    columns = Affine(flat, block.base, [part])
    values = Elementwise(flat, emit, [columns, Splat(flat, limit)], cost)
    line = _Line(columns, step, builder.resize(limit, "i64"), is_lower)
    linear, start = line.first_of(builder, integer(0), integer(size))
    bound = line.bound(builder)
    found = Clamped(values=values, line=line, linear=linear, start=start, step=step, bound=bound)
    one = integer(1, limit.type)
    return Affine(block.type, integer(0, limit.type), [*rows, Component(None, ((found, one),))])


def is_limited(addresses: Affine) -> bool:
    """Whether columns have a limit."""
    return any(isinstance(table, Clamped) for table, _ in addresses.components[-1].tables)
