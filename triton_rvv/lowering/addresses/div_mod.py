"""Quotients and remainders of a line of integers, such as `at // width` and `at % width`.

Where a block, or a part of it, does not cross a multiple of the divisor, quotients are one number
and remainders follow one another: addresses made of them are contiguous.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import Component, Segmented, reaches
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.math.lanes import Emit

if TYPE_CHECKING:
    from triton_rvv.lowering.blocks.context import Context

__all__ = [
    "DivMod",
    "div_mods_of",
    "divided",
    "dividend_at",
    "dividend_from",
    "is_in_range",
    "length_of",
    "quotient_bound",
    "shortest",
]

# A line that crosses multiples of the divisor more often than this is never taken apart.
_MIN_LENGTH = 8
# A result is made of no more divisions, which are computed again wherever it is used.
_MAX_DIVISIONS = 8


@dataclass(frozen=True, eq=False)
class _Division:
    """`dividend // divisor` or `dividend % divisor`, element by element.

    Args:
        dividend: one-dimensional; it rises evenly where its own steps are linear.
    """

    dividend: Affine
    divisor: Val
    emit: Emit
    is_quotient: bool

    @property
    def part(self) -> Component:
        return self.dividend.components[0]

    @property
    def inner(self) -> Sequence[DivMod]:
        """The steps of which the dividend is made."""
        return div_mods_of(self.part)

    @property
    def count(self) -> int:
        """How many divisions it takes, those of the dividend with it."""
        return 1 + sum(steps.division.count for steps in self.inner)

    def stride(self, builder: Builder) -> int | None:
        """From a dividend to the next one."""
        return self.part.linear_stride(builder, self.dividend.index_type).constant

    def divisor_of(self, builder: Builder) -> int | None:
        """The divisor, where it is known before the kernel runs."""
        return builder.intervals.number(self.divisor)

    def length(self, builder: Builder) -> int | None:
        """The most neighbours that cross nothing, if known."""
        divisor, stride = self.divisor_of(builder), self.stride(builder)
        own = divisor // stride if divisor and divisor > 0 and stride else None
        return shortest([own, length_of(builder, self.part)])

    def _of(self, builder: Builder, dividend: Val) -> Val:
        """The result for a dividend; anything for one below 0, where nothing is linear."""
        if self.stride(builder) and (self.divisor.constant or 0) > 0:
            return builder.binary("udiv" if self.is_quotient else "urem", dividend, self.divisor)
        return self.emit(builder, [dividend, self.divisor])

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
        type_ = self.divisor.type
        guards, dividend = dividend_at(builder, self.dividend, first, count)
        result = self._of(builder, dividend)
        reach = (self.stride(builder) or 0) * (count - 1)
        if reach:
            guards.append(is_in_range(builder, dividend, reach))
            if not self._is_aligned(builder, dividend, reach):
                rest = result
                if self.is_quotient:
                    rest = builder.binary("sub", dividend, builder.mul(result, self.divisor))
                room = builder.intrinsic("llvm.ssub.sat", [self.divisor, integer(reach, type_)])
                guards.append(builder.compare("slt", rest, room))
        return functools.reduce(builder.conjunction, guards, TRUE), result

    def run_from(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        """How many neighbours from `first` on cross nothing, as i64, and the result at `first`.

        0 where that is not known, or is a few of a small divisor. No more than `size` follow.
        """
        count, dividend = dividend_from(builder, self.dividend, first, size)
        result, type_ = self._of(builder, dividend), self.divisor.type
        stride = self.stride(builder)
        if not stride:
            return count, result
        rest = result
        if self.is_quotient:
            rest = builder.binary("sub", dividend, builder.mul(result, self.divisor))
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
        divisor = self.divisor_of(builder)
        if divisor is None or divisor <= 0:
            return False
        return min(builder.multiple(dividend), divisor & -divisor) > reach


@dataclass(frozen=True, eq=False, kw_only=True)
class DivMod(Segmented):
    """Numbers along one dimension that rise evenly but at multiples of a divisor."""

    division: _Division

    def length(self, builder: Builder) -> int | None:
        return self.division.length(builder)

    def first_of(self, builder: Builder, first: Val, count: int) -> tuple[Val, Val]:
        return self.division.first_of(builder, first, count)

    def run_of(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        return self.division.run_from(builder, first, size)


def div_mods_of(part: Component) -> list[DivMod]:
    """The steps of which a line is made."""
    return [steps for steps, _ in part.tables if isinstance(steps, DivMod)]


def length_of(builder: Builder, part: Component) -> int | None:
    """The most neighbours of a line for which its steps are linear, if known."""
    return shortest([steps.division.length(builder) for steps in div_mods_of(part)])


def shortest(lengths: Sequence[int | None]) -> int | None:
    """The least of those that are known."""
    return min((each for each in lengths if each is not None), default=None)


def dividend_at(
    builder: Builder, dividend: Affine, first: Val, count: int
) -> tuple[list[Val], Val]:
    """A line of integers at position `first`, and guards under which `count` of them rise evenly.

    Of all that is looked up, it is made of steps.
    """
    guards, total = [], _without_steps(builder, dividend, first)
    for steps, scale in dividend.components[0].tables:
        assert isinstance(steps, DivMod)
        linear, value = steps.first_of(builder, first, count)
        guards.append(linear)
        total = builder.add(total, builder.mul(builder.resize(value, total.type), scale))
    return guards, total


def dividend_from(builder: Builder, dividend: Affine, first: Val, size: int) -> tuple[Val, Val]:
    """How many integers of a line from position `first` on rise evenly, and the one there.

    As `dividend_at` has it; no more than `size` follow.
    """
    count, total = integer(size), _without_steps(builder, dividend, first)
    for steps, scale in dividend.components[0].tables:
        assert isinstance(steps, DivMod)
        own, value = steps.run_of(builder, first, size)
        count = builder.smin(count, own)
        total = builder.add(total, builder.mul(builder.resize(value, total.type), scale))
    return count, total


def _without_steps(builder: Builder, dividend: Affine, first: Val) -> Val:
    type_ = dividend.base.type
    along = dividend.components[0].stride or integer(0, type_)
    return builder.add(dividend.base, builder.mul(builder.resize(first, type_), along))


def is_in_range(builder: Builder, dividend: Val, reach: int) -> Val:
    """Whether an integer is no less than 0, and the one that is `reach` larger does not wrap."""
    largest = (1 << int(dividend.type[1:]) - 1) - 1 - reach
    return builder.compare("ule", dividend, integer(largest, dividend.type))


@rule("follow-quotients", nothing)
def divided(
    context: Context, dividend: Affine, divisor: Val, emit: Emit, cost: int, is_quotient: bool
) -> Affine | None:
    """A line of quotients or remainders as steps; None where it would seldom be linear.

    Args:
        dividend, divisor, emit, is_quotient: as of `_Division`.
        cost: roughly the instructions of `emit`.
    """
    builder, part = context.builder, dividend.components[0]
    division = _Division(dividend, divisor, emit, is_quotient)
    stride, known = division.stride(builder), division.divisor_of(builder)
    if part.listed or len(division.inner) < len(part.tables) or dividend.wrapped is not None:
        return None
    if division.count > _MAX_DIVISIONS:
        return None
    if (
        stride is None
        or stride < 0
        or (known is not None and stride * (_MIN_LENGTH - 1) >= known > 0)
    ):
        return None
    type_, size = dividend.type, dividend.shape[0]
    if stride * (size - 1) >> type_.element.bits - 1:  # the dividends wrap on the way
        return None
    linear, start = division.first_of(builder, integer(0), size)
    values = Elementwise(type_, emit, [dividend, Splat(type_, divisor)], cost)
    steps = DivMod(
        values=values,
        division=division,
        linear=linear,
        start=start,
        step=0 if is_quotient else stride,
        bound=_bound(builder, division, type_),
        granule=division.granule(builder),
    )
    one = integer(1, divisor.type)
    return Affine(type_, integer(0, divisor.type), [Component(None, ((steps, one),))])


def quotient_bound(builder: Builder, dividend: Affine, divisor: Val) -> Val:
    """What no quotient of a line exceeds, with or without its sign, as i64."""
    (part,), (size,) = dividend.components, dividend.shape
    ends = [builder.resize(dividend.base, "i64")] * 2
    for below, above in reaches(builder, part, size):
        ends = [builder.add(ends[0], below), builder.add(ends[1], above)]
    opposite = builder.binary("sub", integer(0), ends[0])
    largest = builder.smax(opposite, ends[1])
    at_least_1 = builder.smax(divisor, integer(1))
    wraps = builder.compare("sgt", largest, integer((1 << 31) - 1))
    return builder.select(wraps, integer(1 << 31), builder.binary("sdiv", largest, at_least_1))


def _bound(builder: Builder, division: _Division, type_: TensorType) -> Val:
    """What no quotient or remainder exceeds, with or without its sign, as i64."""
    if type_.element.bits == 64:  # nothing is wider, so that nobody asks
        return integer((1 << 63) - 1)
    divisor = builder.resize(division.divisor, "i64")
    if not division.is_quotient:
        return divisor
    return quotient_bound(builder, division.dividend, divisor)
