"""Quotients and remainders of a line of integers, such as `at // width` and `at % width`.

Where a block, or a part of it, does not cross a multiple of the divisor, quotients are one number
and remainders follow one another: addresses made of them are contiguous. By a small power of two,
addresses are no line, but so many lines in turn: `at // 2` asks for each element twice, and
`at // 2 + at % 2 * n` for elements of two rows by turns.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import Granular, Periodic, Segments
from triton_rvv.lowering.addresses.line import Line, shortest
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.math.lanes import Emit

__all__ = [
    "DivMod",
    "DivModPow2",
    "dividend_of",
    "division_of",
    "is_in_range",
    "periods_of",
    "quotient_bound",
]

# A line that crosses multiples of the divisor more often than this is never taken apart.
_MIN_LENGTH = 8
# A result is made of no more divisions, which are computed again wherever it is used.
_MAX_DIVISIONS = 8


@dataclass(frozen=True, eq=False)
class DivMod(Segments):
    """`dividend // divisor` or `dividend % divisor`, element by element.

    Args:
        dividend: made of `DivMod` and `DivModPow2`.
    """

    dividend: Line
    divisor: Val
    emit: Emit
    is_quotient: bool

    @property
    def count(self) -> int:
        """How many divisions it takes, those of the dividend with it."""
        inner = (steps.segments for steps in self.dividend.steps)
        return 1 + sum(each.count for each in inner if isinstance(each, DivMod))

    def step(self, builder: Builder) -> int:
        return 0 if self.is_quotient else self._stride(builder)

    def _stride(self, builder: Builder) -> int:
        return self.dividend.stride(builder) or 0

    def _divisor(self, builder: Builder) -> int:
        """The divisor where it is known before the kernel runs, and more than 0; else 0."""
        return max(builder.intervals.number(self.divisor) or 0, 0)

    def length(self, builder: Builder) -> int | None:
        divisor, stride = self._divisor(builder), self._stride(builder)
        own = divisor // stride if divisor and stride else None
        return shortest([own, self.dividend.length(builder)])

    def _of(self, builder: Builder, dividend: Val) -> Val:
        """The result for a dividend; anything for one below 0, where nothing is linear."""
        if self._stride(builder) and (self.divisor.constant or 0) > 0:
            return builder.binary("udiv" if self.is_quotient else "urem", dividend, self.divisor)
        return self.emit(builder, [dividend, self.divisor])

    def bound(self, builder: Builder) -> Val:
        divisor = self.divisor
        if divisor.type == "i64":  # nothing is wider, so no bound is needed
            return integer((1 << 63) - 1)
        divisor = builder.resize(divisor, "i64")
        if not self.is_quotient:
            return divisor
        return quotient_bound(builder, self.dividend.affine, divisor)

    def is_long(self, builder: Builder) -> bool:
        """Whether segments may be of some length, as far as the divisor is known."""
        divisor = self._divisor(builder)
        return not divisor or self._stride(builder) * (_MIN_LENGTH - 1) < divisor

    def granule(self, builder: Builder) -> int:
        stride, steps = self._stride(builder), self.dividend.steps
        if stride == 0:
            return min((each.granule for each in steps), default=1 << 30)
        if steps or stride & stride - 1:  # by other strides, granules begin anywhere
            return 1
        divisor = self._divisor(builder)
        aligned = min(builder.multiple(self.dividend.affine.base), divisor & -divisor)
        return max(aligned // stride, 1)

    def in_granules(self, builder: Builder, values: Tensor) -> Granular:
        """The results, with code here that finds out whether no dividend is negative."""
        reach = self._stride(builder) * (values.shape[0] - 1)
        return Granular(
            values=values,
            segments=self,
            linear=is_in_range(builder, self.dividend.at(builder, integer(0), 1)[1], reach),
            step=self.step(builder),
            bound=self.bound(builder),
            granule=self.granule(builder),
        )

    def first_of(self, builder: Builder, first: Val, count: int) -> tuple[Val, Val]:
        type_ = self.divisor.type
        guards, dividend = self.dividend.at(builder, first, count)
        result = self._of(builder, dividend)
        reach = self._stride(builder) * (count - 1)
        if reach:
            guards.append(is_in_range(builder, dividend, reach))
            if not self._is_aligned(builder, dividend, reach):
                rest = self._rest(builder, dividend, result)
                room = builder.intrinsic("llvm.ssub.sat", [self.divisor, integer(reach, type_)])
                guards.append(builder.compare("slt", rest, room))
        return functools.reduce(builder.conjunction, guards, TRUE), result

    def _rest(self, builder: Builder, dividend: Val, result: Val) -> Val:
        """The remainder of a dividend with such a result."""
        if not self.is_quotient:
            return result
        return builder.binary("sub", dividend, builder.mul(result, self.divisor))

    def linear_within(self, builder: Builder, count: Val, size: int) -> Val | None:
        stride = self._stride(builder)
        if self.dividend.steps or not stride:
            return None
        _, dividend = self.dividend.at(builder, integer(0), 1)
        rest = self._rest(builder, dividend, self._of(builder, dividend))
        rest, divisor = (builder.resize(each, "i64") for each in (rest, self.divisor))
        reach = builder.mul(builder.add(count, integer(-1)), integer(stride))
        room = builder.intrinsic("llvm.ssub.sat", [divisor, reach])
        rises = is_in_range(builder, dividend, stride * (size - 1))
        return builder.conjunction(rises, builder.compare("slt", rest, room))

    def run_of(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        """As of `Segments`; 0 where there are a few of a small divisor, too."""
        count, dividend = self.dividend.run_at(builder, first, size)
        result, type_ = self._of(builder, dividend), self.divisor.type
        stride = self._stride(builder)
        if not stride:
            return count, result
        rest = self._rest(builder, dividend, result)
        room = builder.binary("sub", self.divisor, rest)
        if stride > 1:
            room = builder.add(room, integer(stride - 1, type_))
            room = builder.binary("udiv", room, integer(stride, type_))
        is_large = builder.compare("sge", self.divisor, integer(_MIN_LENGTH * stride, type_))
        is_in_order = is_in_range(builder, dividend, stride * (size - 1))
        is_known = builder.conjunction(is_large, is_in_order)
        own = builder.select(is_known, builder.resize(room, "i64"), integer(0))
        return builder.smin(count, own), result

    def _is_aligned(self, builder: Builder, dividend: Val, reach: int) -> bool:
        """Whether dividend and divisor are multiples of a power of two beyond `reach`."""
        divisor = self._divisor(builder)
        return min(builder.multiple(dividend), divisor & -divisor) > reach


def is_in_range(builder: Builder, dividend: Val, reach: int) -> Val:
    """Whether an integer is no less than 0, and the one that is `reach` larger does not wrap."""
    largest = (1 << int(dividend.type[1:]) - 1) - 1 - reach
    return builder.compare("ule", dividend, integer(largest, dividend.type))


def dividend_of(block: Affine) -> Line | None:
    """A line of integers that may be taken apart: it looks nothing up but divisions."""
    part = block.components[0]
    are_divisions = all(isinstance(each.segments, DivMod) for each, _ in part.tables)
    is_known = are_divisions and not part.without_line and block.wrapped is None
    return Line(block, block.base.type) if is_known else None


@rule("follow-quotients", nothing)
def division_of(
    builder: Builder, block: Affine, divisor: Val, emit: Emit, is_quotient: bool
) -> DivMod | None:
    """The quotients or remainders of a line; None for lines that are not followed.

    Args:
        emit: the division.
    """
    dividend = dividend_of(block)
    if dividend is None or (stride := dividend.stride(builder)) is None or stride < 0:
        return None
    division = DivMod(dividend, divisor, emit, is_quotient)
    wraps = stride * (block.shape[0] - 1) >> block.element.bits - 1  # on the way
    return None if wraps or division.count > _MAX_DIVISIONS else division


def quotient_bound(builder: Builder, dividend: Affine, divisor: Val) -> Val:
    """What no quotient of a line exceeds, with or without its sign, as i64."""
    low, high = dividend.ends(builder)
    largest = builder.smax(builder.binary("sub", integer(0), low), high)
    at_least_1 = builder.smax(divisor, integer(1))
    wraps = builder.compare("sgt", largest, integer((1 << 31) - 1))
    return builder.select(wraps, integer(1 << 31), builder.binary("sdiv", largest, at_least_1))


_MAX_PERIOD = 8


@dataclass(frozen=True, eq=False)
class DivModPow2(Periodic):
    """Numbers along one dimension that are quotients or remainders of places by `period`.

    They are linear where all are `start` and that of the position. The period is a power of two.

    Args:
        dividend: what is divided; it rises by 1 where its own steps are linear.
    """

    dividend: Line
    period: int
    is_quotient: bool

    def step(self, builder: Builder) -> int:
        return 0

    def beyond_start(self, builder: Builder, positions: Val) -> Val:
        width, type_ = positions.width, positions.element
        if self.is_quotient:
            bits = self.period.bit_length() - 1
            if width == 1:
                return builder.shift_right(positions, bits)
            return builder.binary("lshr", positions, builder.splat(integer(bits, type_), width))
        mask = integer(self.period - 1, type_)
        return builder.binary("and", positions, builder.splat(mask, width))

    def length(self, builder: Builder) -> int | None:
        return self.dividend.length(builder)

    def bound(self, builder: Builder) -> Val:
        period = integer(self.period)
        if not self.is_quotient:
            return period
        # A shift rounds down, so that -1 remains what it is.
        return builder.add(quotient_bound(builder, self.dividend.affine, period), integer(1))

    def granule(self, builder: Builder) -> int:
        aligned = builder.multiple(self.dividend.affine.base)
        return min((each.granule for each in self.dividend.steps), default=aligned)

    def first_of(self, builder: Builder, first: Val, count: int) -> tuple[Val, Val]:
        guards, value = self.dividend.at(builder, first, count)
        linear = is_in_range(builder, value, count - 1)
        if builder.multiple(value) < self.period:
            is_first = builder.compare("eq", self._rest(builder, value), integer(0, value.type))
            linear = builder.conjunction(linear, is_first)
        for guard in guards:
            linear = builder.conjunction(linear, guard)
        return linear, self._result(builder, value)

    def run_of(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        """As of `Segments`; where none are, it is minus the values to the next period, or 0."""
        count, value = self.dividend.run_at(builder, first, size)
        rest = self._rest(builder, value)
        to_next = builder.resize(
            builder.binary("sub", rest, integer(self.period, value.type)), "i64"
        )
        is_first = builder.compare("eq", rest, integer(0, value.type))
        own = builder.select(is_first, integer(size), to_next)
        own = builder.select(is_in_range(builder, value, size - 1), own, integer(0))
        return builder.smin(count, own), self._result(builder, value)

    def _rest(self, builder: Builder, value: Val) -> Val:
        return builder.binary("and", value, integer(self.period - 1, value.type))

    def _result(self, builder: Builder, value: Val) -> Val:
        """The quotient or remainder of a multiple of the period."""
        if not self.is_quotient:
            return integer(0, value.type)
        return builder.shift_right(value, self.period.bit_length() - 1)


@rule("follow-periods", nothing)
def periods_of(builder: Builder, line: Affine, period: int, is_quotient: bool) -> DivModPow2 | None:
    """The quotients or remainders of a line by a small power of two; None for other lines."""
    # Of a larger divisor, runs are rather taken apart where they cross a multiple of it.
    if not 1 < period <= min(_MAX_PERIOD, line.shape[0]) or period & period - 1:
        return None
    dividend = dividend_of(line)
    if dividend is None or dividend.stride(builder) != 1:
        return None
    return DivModPow2(dividend, period, is_quotient)
