"""Quotients and remainders of a line by a small power of two, such as `at // 2` and `at % 2`.

Addresses made of them are no line, but so many lines in turn: `at // 2` asks for each element
twice, and `at // 2 + at % 2 * n` for elements of two rows by turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import Periodic
from triton_rvv.lowering.addresses.div_mod import (
    div_mods_of,
    dividend_at,
    dividend_from,
    is_in_range,
    length_of,
    quotient_bound,
)
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = ["DivModPow2", "div_mod_pow2"]

_MAX_PERIOD = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class DivModPow2(Periodic):
    """Numbers along one dimension that are quotients or remainders of places by `period`.

    They are linear where all are `start` and that of the position. The period is a power of two.

    Args:
        dividend: what is divided; it rises by 1 where its own steps are linear.
    """

    dividend: Affine
    is_quotient: bool

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
        return length_of(builder, self.dividend.components[0])

    def first_of(self, builder: Builder, first: Val, count: int) -> tuple[Val, Val]:
        guards, value = dividend_at(builder, self.dividend, first, count)
        return _start(builder, guards, value, self.period, count, self.is_quotient)

    def run_of(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        """As of `Segmented`; where none are, it is minus the values to the next period, or 0."""
        count, value = dividend_from(builder, self.dividend, first, size)
        rest = builder.binary("and", value, integer(self.period - 1, value.type))
        to_next = builder.resize(
            builder.binary("sub", rest, integer(self.period, value.type)), "i64"
        )
        is_first = builder.compare("eq", rest, integer(0, value.type))
        own = builder.select(is_first, integer(size), builder.resize(to_next, "i64"))
        own = builder.select(is_in_range(builder, value, size - 1), own, integer(0))
        start = _result(builder, value, self.period, self.is_quotient)
        return builder.smin(count, own), start


@rule("follow-periods", nothing)
def div_mod_pow2(
    builder: Builder, dividend: Affine, period: int, values: Tensor, is_quotient: bool
) -> DivModPow2 | None:
    """A line of quotients or remainders by a small power of two; None for other lines.

    Args:
        dividend: of one dimension.
    """
    (part,), (size,) = dividend.components, dividend.shape
    steps = div_mods_of(part)
    if part.listed or len(steps) < len(part.tables) or dividend.wrapped is not None:
        return None
    # Of a larger divisor, runs are rather taken apart where they cross a multiple of it.
    if not 1 < period <= min(_MAX_PERIOD, size) or period & period - 1:
        return None
    if part.linear_stride(builder, dividend.index_type).constant != 1:
        return None
    guards, value = dividend_at(builder, dividend, integer(0), size)
    linear, start = _start(builder, guards, value, period, size, is_quotient)
    bound = integer(period)
    if is_quotient:  # a shift rounds down, so that -1 remains what it is
        bound = builder.add(quotient_bound(builder, dividend, integer(period)), integer(1))
    granule = min((each.granule for each in steps), default=builder.multiple(dividend.base))
    return DivModPow2(
        values=values,
        dividend=dividend,
        period=period,
        is_quotient=is_quotient,
        linear=linear,
        start=start,
        step=0,
        bound=bound,
        granule=granule,
    )


def _start(
    builder: Builder, guards: Sequence[Val], value: Val, period: int, count: int, is_quotient: bool
) -> tuple[Val, Val]:
    """Whether `count` values of a line are linear whose dividends begin at `value`, and the first.

    With guards, without which they are not.
    """
    linear = is_in_range(builder, value, count - 1)
    if builder.multiple(value) < period:
        rest = builder.binary("and", value, integer(period - 1, value.type))
        linear = builder.conjunction(linear, builder.compare("eq", rest, integer(0, value.type)))
    for guard in guards:
        linear = builder.conjunction(linear, guard)
    return linear, _result(builder, value, period, is_quotient)


def _result(builder: Builder, value: Val, period: int, is_quotient: bool) -> Val:
    """The quotient or remainder of a multiple of the period."""
    if not is_quotient:
        return integer(0, value.type)
    return builder.shift_right(value, period.bit_length() - 1)
