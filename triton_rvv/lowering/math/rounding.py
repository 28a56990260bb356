"""Rounding to whole numbers, conversions that round, and limits."""

from __future__ import annotations

from collections.abc import Callable

from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import type_suffix, vector_type
from triton_rvv.lowering.math.lanes import Lanes, absolute, call, copysign, round_half_even, where

__all__ = [
    "DOWN",
    "NEAREST",
    "ROUNDINGS",
    "TOWARD_ZERO",
    "ceil",
    "clamp",
    "floor",
    "nearest_integer",
    "round_half_away",
    "rounded",
    "saturate",
    "to_integer",
    "to_unsigned_64",
    "trunc",
]


def floor(x: Lanes) -> Lanes:
    """The largest whole number that is not above."""
    if not _changes_rounding(x):
        return call("llvm.floor", x)
    whole = round_half_even(x)
    return _defined("llvm.floor", where(whole > x, whole - 1.0, whole), x)


def ceil(x: Lanes) -> Lanes:
    """The smallest whole number that is not below."""
    if not _changes_rounding(x):
        return call("llvm.ceil", x)
    whole = round_half_even(x)
    return _defined("llvm.ceil", copysign(where(whole < x, whole + 1.0, whole), x), x)


def _defined(name: str, whole: Lanes, x: Lanes) -> Lanes:
    """A number with the name of the intrinsic that would compute it of `x`, for `rounded`."""
    x.builder.define(whole.value, name, [x.value])
    return whole


def _changes_rounding(x: Lanes) -> bool:
    """Whether LLVM's code changes the rounding mode, for which all vector work has to end first.

    So it is for vectors on RISC-V, whose scalar instructions hold a mode.
    """
    return x.builder.abilities.has_one_nan and x.value.width > 1


def trunc(x: Lanes) -> Lanes:
    """The nearest whole number that is not further from zero.

    LLVM's own code for it needs an instruction at which QEMU 7.2 aborts.
    """
    return _defined("llvm.trunc", copysign(floor(absolute(x)), x), x)


def round_half_away(x: Lanes) -> Lanes:
    """The nearest whole number, halves away from zero."""
    size = absolute(x)
    whole = floor(size)
    away = copysign(where((size - whole) >= 0.5, whole + 1.0, whole), x)
    return _defined("llvm.round", away, x)


# How a float becomes whole.
DOWN, NEAREST, TOWARD_ZERO = "down", "to the nearest", "toward zero"
_BY_NAME = {
    "llvm.floor": DOWN,
    "llvm.rint": NEAREST,
    "llvm.roundeven": NEAREST,
    "llvm.trunc": TOWARD_ZERO,
}
# A whole number is the nearest to itself.
_WHOLE = ("llvm.ceil", "llvm.round")


@rule("convert-rounded", nothing)
def rounded(x: Lanes) -> tuple[Lanes, str] | None:
    """The number of which `x` is made by rounding, and how; None where it is not known whole."""
    name, operands = x.builder.definition(x.value)
    if name in _WHOLE:
        return x, NEAREST
    return (x.of(operands[0]), _BY_NAME[name]) if name in _BY_NAME else None


# By the last letters of libdevice's conversions: to nearest, toward zero, down, up.
ROUNDINGS: dict[str, Callable[[Lanes], Lanes]] = {
    "rn": round_half_even,
    "rz": trunc,
    "rd": floor,
    "ru": ceil,
}


def to_integer(whole: Lanes, element: str, signed: bool) -> Lanes:
    """A whole number as an integer; the nearest there is if it does not fit, and 0 for NaN."""
    bits = int(element[1:]) - signed
    lowest, highest = -(1 << bits) if signed else 0, (1 << bits) - 1
    fits = (whole >= float(lowest)) & (whole < 2.0**bits)
    fitting = _fitting(where(fits, whole, 0.0), element, signed)
    nearest = where(whole > 0.0, fitting.constant(highest), where(whole < 0.0, lowest, fitting))
    return where(fits, fitting, nearest)


def _fitting(whole: Lanes, element: str, signed: bool) -> Lanes:
    if signed:
        return nearest_integer(whole, element)
    if element == "i32":
        return nearest_integer(whole, "i64").to("i32")
    return to_unsigned_64(whole, lambda half: nearest_integer(half, "i64"))


def to_unsigned_64(x: Lanes, to_signed: Callable[[Lanes], Lanes]) -> Lanes:
    """A number as an i64 without a sign: the upper half is moved down and its top bit put back.

    Args:
        x: not negative.
        to_signed: makes an i64 of a number below 2**63.
    """
    large = x >= 2.0**63
    rest = to_signed(where(large, x - 2.0**63, x))
    return where(large, rest ^ (1 << 63), rest)


def nearest_integer(x: Lanes, element: str) -> Lanes:
    """The integer nearest to a number that is not too large for it, ties to even."""
    type_ = vector_type(element, x.value.width)
    suffix = type_suffix(x.constant(0.0).value)
    integers = f"{element}" if x.value.width == 1 else f"v{x.value.width}{element}"
    return x.of(x.builder.call(type_, f"llvm.lrint.{integers}.{suffix}", [x.value]))


def clamp(x: Lanes, low: Lanes, high: Lanes, propagate_nan: bool = False) -> Lanes:
    """`x` inside the limits; NaN stays with `propagate_nan`, and becomes `low` otherwise."""
    if propagate_nan:
        return call("llvm.minimum", call("llvm.maximum", x, low), high)
    return call("llvm.minnum", call("llvm.maxnum", x, low), high)


def saturate(x: Lanes) -> Lanes:
    """`x` between 0 and 1; 0 for NaN."""
    return clamp(x, x.constant(0.0), x.constant(1.0))
