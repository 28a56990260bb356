"""Shifts that round, and integers that are limited and cut behind a shift."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.register_groups import (
    DOWN,
    TO_NEAREST_UP,
    clipped,
    fits_integers,
    shifted,
)
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.math.lanes import Emit
from triton_rvv.lowering.ttir.fixed_point import CLIPS

__all__ = ["clipping", "rounding"]

_LIMITS = tuple(f"llvm.{sign}{name}" for sign in "su" for name in ("min", "max"))
_ROUNDED = {"ashr": "vssra", "lshr": "vssrl"}


def rounding(instruction: str) -> Emit:
    """How to write a shift of a sum with half of what it divides by, which never wraps."""

    def emit(builder: Builder, values: Sequence[Val]) -> Val:
        found = _rounded(builder, instruction, values[0], values[1])
        return builder.binary(instruction, values[0], values[1]) if found is None else found

    return emit


@rule("round-shifts", nothing)
def _rounded(builder: Builder, instruction: str, total: Val, count: Val) -> Val | None:
    """Both by one instruction, where one has registers for it."""
    shift, (name, parts) = _number(builder, count), builder.definition(total)
    if not shift or name != "add" or not fits_integers(builder, total):
        return None
    half = [_number(builder, part) == 1 << shift - 1 for part in parts]
    if not any(half):
        return None
    value = parts[1 - half.index(True)]
    result = shifted(builder, value, shift, signed=instruction == "ashr")
    builder.define(result, _ROUNDED[instruction], (value, count))
    return result


def clipping(operation: Operation, cut: Emit) -> Emit:
    """How to write a cut with the attribute `CLIPS`; `cut` writes any."""
    is_signed, low, high = operation.integers(CLIPS)
    element = element_type(operation.result.type)
    assert isinstance(element, ScalarType)

    def emit(builder: Builder, values: Sequence[Val]) -> Val:
        found = _clipped(builder, values[0], element.bits, bool(is_signed), (low, high))
        return cut(builder, values) if found is None else found

    return emit


@rule("clip-shifted", nothing)
def _clipped(
    builder: Builder, value: Val, bits: int, is_signed: bool, limits: tuple[int, int]
) -> Val | None:
    """What is shifted, limited and cut, each time to half the bits.

    Args:
        value: what is cut.
        bits: of the result.
        is_signed: whether what is shifted may be below 0.
        limits: of the result.
    """
    if not fits_integers(builder, value):
        return None
    name, parts = builder.definition(value)
    while name in _LIMITS:
        (value,) = [part for part in parts if _number(builder, part) is None]
        name, parts = builder.definition(value)
    if name not in (*_ROUNDED, *_ROUNDED.values()):
        return None  # it was put into an array
    value, shift = parts[0], _number(builder, parts[1])
    assert shift is not None  # as `mark_clipped` has seen
    how = TO_NEAREST_UP if name in _ROUNDED.values() else DOWN
    has_sign = is_signed and limits[1] < 1 << bits - 1
    while (width := int(value.element[1:])) > bits:
        is_last = width == 2 * bits
        if is_last and is_signed and not has_sign:
            value = builder.smax(value, builder.splat(integer(0, value.element), value.width))
        signed = has_sign if is_last else is_signed
        value, shift, how = clipped(builder, value, shift, signed, how), 0, DOWN
    return _limited(builder, value, has_sign, limits)


def _limited(builder: Builder, value: Val, has_sign: bool, limits: tuple[int, int]) -> Val:
    """Saturated integers within limits, where these are closer."""
    bits, sign = int(value.element[1:]), "s" if has_sign else "u"
    lowest, highest = (-1 << bits - 1, (1 << bits - 1) - 1) if has_sign else (0, (1 << bits) - 1)
    for name, limit, outer in (("max", limits[0], lowest), ("min", limits[1], highest)):
        if limit != outer:
            number = builder.splat(integer(_wrapped(limit, bits), value.element), value.width)
            value = builder.intrinsic(f"llvm.{sign}{name}", [value, number])
    return value


def _wrapped(number: int, bits: int) -> int:
    return number - (1 << bits) if number >= 1 << bits - 1 else number


def _number(builder: Builder, value: Val) -> int | None:
    """The number that is in all lanes, if it is known."""
    one = builder.repeated(value)
    return None if one is None else one.constant
