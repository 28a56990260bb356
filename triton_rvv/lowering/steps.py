"""Quotients and remainders of a line of integers, such as `at // width` and `at % width`.

Where a block, or a part of it, does not cross a multiple of the divisor, quotients are one number
and remainders follow one another: addresses made of them are contiguous.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_rvv.lowering.affine import Affine
from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.components import Component
from triton_rvv.lowering.math.lanes import Emit
from triton_rvv.lowering.tensors import Elementwise, Point, Splat, Tensor
from triton_rvv.lowering.values import Val, integer
from triton_rvv.lowering.wrapping import reaches
from triton_rvv.types import TensorType

if TYPE_CHECKING:
    from triton_rvv.lowering.context import Context

__all__ = ["Steps", "divided"]

# A line that crosses multiples of the divisor more often than this is never taken apart.
_FEWEST = 8
# A result is made of no more divisions, which are computed again wherever it is used.
_MOST_DIVISIONS = 8


@dataclass(frozen=True, eq=False)
class _Division:
    """`dividend // divisor` or `dividend % divisor`, element by element.

    Args:
        dividend: one-dimensional; it rises evenly where its own steps are linear.
        divisor: a scalar.
        emit: writes the operation.
        is_quotient: which of the two it is.
    """

    dividend: Affine
    divisor: Val
    emit: Emit
    is_quotient: bool

    @property
    def part(self) -> Component:
        return self.dividend.components[0]

    @property
    def inner(self) -> Sequence[Steps]:
        """The steps of which the dividend is made."""
        return [steps for steps, _ in self.part.tables if isinstance(steps, Steps)]

    @property
    def count(self) -> int:
        """How many divisions it takes, those of the dividend with it."""
        return 1 + sum(steps.division.count for steps in self.inner)

    def stride(self, builder: Builder) -> int | None:
        """From a dividend to the next one."""
        return self.part.linear_stride(builder, self.dividend.index_type).constant

    def divisor_of(self, builder: Builder) -> int | None:
        """The divisor, where it is known before the kernel runs."""
        known = builder.intervals.of(self.divisor)
        same = known is not None and known.is_exact and known.least == known.most
        return known.least if known is not None and same else None

    def granule(self, builder: Builder) -> int:
        """So many neighbours, from a multiple of that number on, cross nothing; 1 if unknown."""
        stride = self.stride(builder)
        within = min((steps.granule for steps in self.inner), default=1 << 30)
        if stride == 0:
            return within
        divisor = self.divisor_of(builder)
        if self.inner or stride is None or divisor is None or divisor <= 0:
            return 1
        aligned = min(builder.multiple(self.dividend.base), divisor & -divisor)
        return 1 << max((aligned - 1) // stride + 1, 1).bit_length() - 1

    def first_of(self, builder: Builder, first: Val, count: int) -> tuple[Val, Val]:
        """Whether `count` neighbours from `first` on cross nothing, and the result at `first`."""
        type_, guards = self.divisor.type, []
        along = self.part.stride or integer(0, type_)
        moved = builder.mul(builder.resize(first, type_), along)
        dividend = builder.add(self.dividend.base, moved)
        for steps, scale in self.part.tables:
            assert isinstance(steps, Steps)
            linear, value = steps.division.first_of(builder, first, count)
            guards.append(linear)
            value = builder.resize(value, type_)
            dividend = builder.add(dividend, builder.mul(value, scale))
        result = self.emit(builder, [dividend, self.divisor])
        reach = (self.stride(builder) or 0) * (count - 1)
        if reach:
            # One comparison without a sign: it is no less than 0, and the last has not wrapped.
            largest = (1 << int(type_[1:]) - 1) - 1 - reach
            guards.append(builder.compare("ule", dividend, integer(largest, type_)))
            if not self._is_aligned(builder, dividend, reach):
                rest = result
                if self.is_quotient:
                    rest = builder.binary("sub", dividend, builder.mul(result, self.divisor))
                room = builder.intrinsic("llvm.ssub.sat", [self.divisor, integer(reach, type_)])
                guards.append(builder.compare("slt", rest, room))
        return functools.reduce(builder.conjunction, guards, Val("i1", "true")), result

    def _is_aligned(self, builder: Builder, dividend: Val, reach: int) -> bool:
        """Whether dividend and divisor are multiples of a power of two beyond `reach`."""
        divisor = self.divisor_of(builder)
        if divisor is None or divisor <= 0:
            return False
        return min(builder.multiple(dividend), divisor & -divisor) > reach


@dataclass(frozen=True, eq=False)
class Steps:
    """Numbers along one dimension that rise evenly but at multiples of a divisor.

    Args:
        values: all of them, one-dimensional.
        division: what they are.
        linear: true at run time where all are `start + step * position`.
        start: the first one.
        step: from one to the next, where they are linear.
        bound: what no value exceeds, with or without its sign, as i64.
        granule: so many from a multiple of that number on are linear in any case; 1 if unknown.
    """

    values: Tensor
    division: _Division
    linear: Val
    start: Val
    step: int
    bound: Val
    granule: int

    def at(self, builder: Builder, position: Val, width: int) -> Val:
        """The values at `position` and after it, whether they are linear or not."""
        return self.values.at(builder, Point((), position, width))

    def linear_within(self, builder: Builder, count: Val | None) -> Val:
        """Whether the first `count` values are linear, as far as is known."""
        return self.linear

    def linear_from(self, builder: Builder, first: Val, count: int) -> tuple[Val, Val]:
        """Whether `count` values from `first` on are linear, and `start` that fits them, as i64."""
        linear, result = self.division.first_of(builder, first, count)
        before = builder.mul(integer(self.step), first)
        return linear, builder.binary("sub", builder.resize(result, "i64"), before)


def divided(
    context: Context, dividend: Affine, divisor: Val, emit: Emit, cost: int, is_quotient: bool
) -> Affine | None:
    """A line of quotients or remainders as steps; None where it would seldom be linear.

    Args:
        context: where the code goes.
        dividend, divisor, emit, is_quotient: as of `_Division`.
        cost: roughly the instructions of `emit`.
    """
    builder, part = context.builder, dividend.components[0]
    division = _Division(dividend, divisor, emit, is_quotient)
    stride, known = division.stride(builder), division.divisor_of(builder)
    if part.listed or len(division.inner) < len(part.tables) or dividend.wrapped is not None:
        return None
    if division.count > _MOST_DIVISIONS:
        return None
    if stride is None or stride < 0 or (known is not None and stride * (_FEWEST - 1) >= known > 0):
        return None
    type_, size = dividend.type, dividend.shape[0]
    if stride * (size - 1) >> type_.element.bits - 1:  # the dividends wrap on the way
        return None
    linear, start = division.first_of(builder, integer(0), size)
    values = Elementwise(type_, emit, [dividend, Splat(type_, divisor)], cost)
    steps = Steps(
        values,
        division,
        linear,
        start,
        0 if is_quotient else stride,
        _bound(builder, division, type_),
        division.granule(builder),
    )
    one = integer(1, divisor.type)
    return Affine(type_, integer(0, divisor.type), [Component(None, ((steps, one),))])


def _bound(builder: Builder, division: _Division, type_: TensorType) -> Val:
    """What no quotient or remainder exceeds, with or without its sign, as i64."""
    if type_.element.bits == 64:  # nothing is wider, so that nobody asks
        return integer((1 << 63) - 1)
    divisor = builder.resize(division.divisor, "i64")
    if not division.is_quotient:
        return divisor
    ends = [builder.resize(division.dividend.base, "i64")] * 2
    for below, above in reaches(builder, division.part, type_.shape[0]):
        ends = [builder.add(ends[0], below), builder.add(ends[1], above)]
    opposite = builder.binary("sub", integer(0), ends[0])
    largest = builder.intrinsic("llvm.smax", [opposite, ends[1]])
    at_least_1 = builder.intrinsic("llvm.smax", [divisor, integer(1)])
    wraps = builder.compare("sgt", largest, integer((1 << 31) - 1))
    return builder.select(wraps, integer(1 << 31), builder.binary("sdiv", largest, at_least_1))
