"""Quotients and remainders of a line by a small power of two, such as `at // 2` and `at % 2`.

Addresses made of them are no line, but so many lines in turn: `at // 2` asks for each element
twice, and `at // 2 + at % 2 * n` for elements of two rows by turns.
"""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import Periodic
from triton_rvv.lowering.addresses.div_mod import dividend_of, is_in_range, quotient_bound
from triton_rvv.lowering.addresses.line import Line
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = ["DivModPow2", "periods_of"]

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
