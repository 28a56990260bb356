"""Vectors of float32 as integers of 8 and 16 bits.

QEMU 7.2 aborts at RVV's instruction that cuts floats off. Instead, twice a number, half a step down
or nearer to zero, is rounded and halved, by instructions that saturate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.float_lower_bounds import number_of
from triton_rvv.lowering.llvm.register_groups import clipped, fits_group, nearest
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val
from triton_rvv.lowering.llvm.vectors import concatenated
from triton_rvv.lowering.math.lanes import Lanes, call, copysign, fma, maximum, where
from triton_rvv.lowering.math.rounding import DOWN, NEAREST, TOWARD_ZERO, rounded

__all__ = ["few_bits", "limits_of"]

_SMALLER, _LARGER = "llvm.minnum", "llvm.maxnum"


def few_bits(x: Lanes, bits: int, signed: bool) -> Lanes:
    """A float32 as an integer of 8 or 16 bits, cut off at the point, by RVV's instructions.

    What is too large becomes the integer that comes closest, and NaN becomes 0.
    """
    builder, half = x.builder, x.value.width // 2
    if fits_group(builder, x.value):
        return _converted(_parts_of(x, bits, signed), bits, signed)
    halves = (x.of(builder.lanes(x.value, start, half)) for start in (0, half))
    return x.of(concatenated(builder, [few_bits(each, bits, signed).value for each in halves]))


def _converted(parts: _Parts, bits: int, signed: bool) -> Lanes:
    """A float32 in a group of registers as an integer, by instructions that saturate.

    To the nearest even, 2 x - 1/2 is 2 n or 2 n + 1 for x from n on and below n + 1: halved, n.
    """
    inside = parts.inside(-(1 << bits - 1) if signed else -math.inf, (1 << bits - signed) - 1)
    if parts.limits is not None:
        return _whole(inside, parts, bits, signed, parts.limits.lowest >= 0)
    if not signed:
        return _whole(maximum(inside, 0.0), parts, bits, signed, True)  # NaN becomes 0, too
    if parts.how == TOWARD_ZERO and (moved := _moved_away(inside)):
        inside, half = moved
        whole = _cut_off(inside, half, bits)
    else:
        whole = _whole(inside, parts, bits, signed, False)
    return where(inside.equals(inside), whole, 0)


def _whole(x: Lanes, parts: _Parts, bits: int, signed: bool, is_never_negative: bool) -> Lanes:
    """A float32 in a group of registers as an integer; any for NaN."""
    if parts.how == NEAREST:
        return _clipped(x, bits, signed, 0)
    if is_never_negative:
        return _clipped(fma(x, 2.0, -0.5), bits, signed, 1)
    if parts.how == DOWN:
        # A larger summand leaves 0, or nothing nearer to it than 2^-25. Fused with a product, a sum
        # may come nearer, and becomes 0, as it would with the product rounded.
        if abs(_summand(parts.source)) < 0.5:
            x = _below_zero(x, parts.source)
        return _clipped(fma(x, 2.0, -0.5), bits, signed, 1)
    return _cut_off(x, copysign(x.constant(0.5), x), bits)


def _clipped(x: Lanes, bits: int, signed: bool, shift: int) -> Lanes:
    """The integer nearest to a number, shifted right; without a sign, of no negative number."""
    near = nearest(x.builder, x.value, _of_twice(bits))
    return x.of(clipped(x.builder, near, shift, signed))


def _of_twice(bits: int) -> str:
    return f"i{2 * bits}"


def _cut_off(x: Lanes, half: Lanes, bits: int) -> Lanes:
    """A float32 in a group of registers as a signed integer; `half` is 1/2 with its sign.

    Below 0, 2 x + 1/2 is rounded, and what that gives halved toward zero.
    """
    steps = fma(x, 2.0, -half)
    doubled = x.of(nearest(x.builder, steps.value, _of_twice(bits)))
    even = doubled + doubled.shift_in_zeros(2 * bits - 1)
    return x.of(clipped(x.builder, even.value, 1))


def _moved_away(x: Lanes) -> tuple[Lanes, Lanes] | None:
    """`where(q >= 0, q + c, q - c)`, for c between 0 and 1, as q plus c with its sign.

    For 0 the sign may be another one, which is lost where the sum is cut off.

    Returns:
        The sum, and 1/2 with its sign; None for any other number.
    """
    builder = x.builder
    name, parts = builder.definition(x.value)
    if name != "select":
        return None
    compared, sides = builder.definition(parts[0])
    if compared not in ("fcmp oge", "fcmp ogt") or _number(builder, sides[1]) != 0:
        return None
    up, down = (_distance(builder, part, sides[0]) for part in parts[1:])
    if up is None or down != -up or not 0 < up < 1:
        return None
    source = x.of(sides[0])
    half = copysign(x.constant(0.5), source)
    return source + (half if up == 0.5 else copysign(x.constant(up), source)), half


def _distance(builder: Builder, value: Val, source: Val) -> float | None:
    """The constant that is added to `source` in `value`; None where it is anything else."""
    name, operands = builder.definition(value)
    if name not in ("fadd", "fsub") or operands[0] != source:
        return None
    number = _number(builder, operands[1])
    return -number if number is not None and name == "fsub" else number


def _number(builder: Builder, value: Val) -> float | None:
    """The number that a vector holds in all lanes, where it is a constant."""
    return number_of(builder.repeated(value) or value)


@dataclass(frozen=True)
class _Parts:
    """What a float that becomes an integer is made of.

    Args:
        source: the number without limits, and before it was rounded where that is known.
        how: `DOWN`, `NEAREST`, or `TOWARD_ZERO`, by which it becomes whole.
        limits: whole ones that are put to it, which fit the integer.
    """

    source: Lanes
    how: str
    limits: _Limits | None

    def inside(self, lowest: float = -math.inf, highest: float = math.inf) -> Lanes:
        """The number inside of its limits, which may be put to it before it is rounded.

        Args:
            lowest, highest: where what is put to it last need not be, since a later instruction
                saturates there. What comes first tells what NaN becomes.
        """
        inside, steps = self.source, self.limits.steps if self.limits is not None else ()
        if steps and steps[-1] in ((_LARGER, lowest), (_SMALLER, highest)):
            steps = steps[:-1]
        for limit, number in steps:
            inside = call(limit, inside, inside.constant(number))
        return inside


def _parts_of(x: Lanes, bits: int, signed: bool) -> _Parts:
    """A number with its limits and rounding apart, in whichever order they are."""
    source, how = rounded(x) or (x, "")
    limits = limits_of(source, bits, signed)
    if limits is not None:
        source = x.of(limits.value)
        if not how:
            source, how = rounded(source) or (source, "")
    return _Parts(source, how or TOWARD_ZERO, limits)


@dataclass(frozen=True)
class _Limits:
    """What is put between two whole limits.

    Args:
        steps: the intrinsics that limit it, in their order, each with its limit.
    """

    value: Val
    steps: tuple[tuple[str, float], ...]

    @property
    def lowest(self) -> float:
        return dict(self.steps)[_LARGER]


@rule("convert-by-limits", nothing)
def limits_of(x: Lanes, bits: int, signed: bool) -> _Limits | None:
    """The limits of a number, where integers of a type have both."""
    steps: list[tuple[str, float]] = []
    value = x.value
    for _ in (_SMALLER, _LARGER):
        name, operands = x.builder.definition(value)
        if name not in (_SMALLER, _LARGER):
            return None
        value, number = _apart(x.builder, operands[0], operands[1])
        # A limit of -0 would leave a negative 0.
        if number is None or not number.is_integer() or str(number) == "-0.0":
            return None
        steps.insert(0, (name, number))
    if steps[0][0] == steps[1][0]:
        return None
    limits = _Limits(value, tuple(steps))
    lowest = -(1 << bits - 1) if signed else 0
    fits = lowest <= limits.lowest <= dict(steps)[_SMALLER] < lowest + (1 << bits)
    return limits if fits else None


def _apart(builder: Builder, one: Val, other: Val) -> tuple[Val, float | None]:
    """Of two operands the one that is no constant, and the number that the other one is."""
    number = _number(builder, other)
    if number is not None:
        return one, number
    return other, _number(builder, one)


def _below_zero(x: Lanes, source: Lanes) -> Lanes:
    """The same, but no number between a small negative one and 0: it would be lost in a sum.

    Args:
        x: a number without limits, or inside of them.
        source: the one without.
    """
    if abs(_summand(source)) < 2.0**-60:
        x = x + 0.0  # a sum with a number is never -0, which is no negative number
    least = x.constant(-(2.0**-20)).bits()
    return call("llvm.smax", x.bits(), least).as_float()


def _summand(x: Lanes) -> float:
    """The constant that a number is a sum with; 0 for any other number."""
    name, operands = x.builder.definition(x.value)
    return (name == "fadd" and _apart(x.builder, *operands)[1]) or 0.0
