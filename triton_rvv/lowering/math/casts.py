"""Conversions between numbers, element by element."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.float_formats import SMALL_FLOATS
from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.float_lower_bounds import floor_of
from triton_rvv.lowering.llvm.register_groups import fits_group
from triton_rvv.lowering.llvm.register_groups import nearest as saturated
from triton_rvv.lowering.llvm.values import Val, type_suffix
from triton_rvv.lowering.math.few_bits import few_bits, limits_of
from triton_rvv.lowering.math.fixed_point import clipping
from triton_rvv.lowering.math.lanes import Emit, Lanes, absolute, call, where
from triton_rvv.lowering.math.narrow_floats import (
    double_toward_zero,
    narrow,
    narrow_from_double,
    widen,
)
from triton_rvv.lowering.math.rounding import (
    DOWN,
    NEAREST,
    TOWARD_ZERO,
    nearest_integer,
    rounded,
    to_unsigned_64,
)
from triton_rvv.lowering.ttir.fixed_point import CLIPS

__all__ = ["CASTS", "cast", "conversion"]

CASTS = {
    "arith.extsi": "sext",
    "arith.extui": "zext",
    "arith.trunci": "trunc",
    "arith.sitofp": "sitofp",
    "arith.uitofp": "uitofp",
    "arith.fptosi": "fptosi",
    "arith.fptoui": "fptoui",
    "arith.extf": "",
    "arith.truncf": "",
    "tt.fp_to_fp": "",
}

# The order of Triton's enumeration.
_TOWARD_ZERO = 0


def cast(operation: Operation) -> Emit:
    """How to write one of the `CASTS`."""
    name = CASTS[operation.name]
    source = element_type(operation.operands[0].type)
    target = element_type(operation.result.type)
    assert isinstance(source, ScalarType)
    assert isinstance(target, ScalarType)
    if source.is_float and target.is_float:
        toward_zero = operation.attributes.get("rounding") == _TOWARD_ZERO
        return conversion(source, target, toward_zero)
    if source.is_float:
        is_only_use = operation.operands[0].uses == 1
        return lambda builder, values: _to_integer(
            builder, name, values[0], source, target, is_only_use
        )

    def emit(builder: Builder, values: Sequence[Val]) -> Val:
        return _from_integer(builder, name, values[0], source, target)

    return clipping(operation, emit) if CLIPS in operation.attributes else emit


def conversion(source: ScalarType, target: ScalarType, toward_zero: bool = False) -> Emit:
    """How to write a change of width, of signed integers or of floats, with one rounding."""
    if not source.is_float:
        return lambda builder, values: builder.resize(values[0], target.llvm)
    return lambda builder, values: _resize(builder, values[0], source, target, toward_zero)


def _resize(
    builder: Builder, value: Val, source: ScalarType, target: ScalarType, toward_zero: bool
) -> Val:
    """A float as one of another width, rounded once."""
    if source.is_kept_as_bits:
        value, source = widen(builder, value, SMALL_FLOATS[source.name]), ScalarType("f32")
    if target.is_kept_as_bits or (toward_zero and target.name == "f16"):
        small = SMALL_FLOATS[target.name]
        if source.name == "f64":
            return narrow_from_double(builder, value, small, toward_zero)
        if source.name == "f16":
            value = builder.cast("fpext", value, "float")
        return narrow(builder, value, small, toward_zero)
    if toward_zero and target.bits < source.bits:
        return double_toward_zero(builder, value)
    if source.bits == target.bits:
        return value
    return builder.cast("fpext" if source.bits < target.bits else "fptrunc", value, target.llvm)


def _from_integer(
    builder: Builder, name: str, value: Val, source: ScalarType, target: ScalarType
) -> Val:
    """An integer as another integer or as a float."""
    if not target.is_kept_as_bits:
        return builder.cast(name, value, target.llvm)
    small = SMALL_FLOATS[target.name]
    if source.bits < 24:
        return narrow(builder, builder.cast(name, value, "float"), small)
    return narrow_from_double(builder, builder.cast(name, value, "double"), small)


def _to_integer(
    builder: Builder,
    name: str,
    value: Val,
    source: ScalarType,
    target: ScalarType,
    is_only_use: bool,
) -> Val:
    """A float cut off at the point.

    What is too large becomes the integer that comes closest, and NaN becomes 0: on every target,
    with vectors and without.
    """
    if source.name in SMALL_FLOATS:
        value = widen(builder, value, SMALL_FLOATS[source.name])
    if value.width == 1:
        suffix = f"{target.llvm}.{type_suffix(value)}"
        return builder.call(target.llvm, f"llvm.{name}.sat.{suffix}", [value])
    x, signed = Lanes(builder, value), name == "fptosi"
    if target.bits == 32 and signed and value.element == "float" and fits_group(builder, value):
        return _of_32_bits(x, is_only_use).value
    return _cut_off(x, target.bits, signed).to(target.llvm).value


def _of_32_bits(x: Lanes, is_only_use: bool) -> Lanes:
    """A vector of float32 as signed integers, by an instruction that saturates.

    Args:
        is_only_use: whether nothing else uses them. A number that was rounded down for something
            else, too, is the nearest to itself.
    """
    source, how = rounded(x) or (x, TOWARD_ZERO)
    if how == DOWN and not is_only_use:
        source, how = x, NEAREST
    whole = near = x.of(saturated(x.builder, source.value, "i32"))
    if how == TOWARD_ZERO:
        whole = _cut_from(source, near)
    elif how == DOWN:
        below = call("llvm.ssub.sat", near, near.constant(1))
        whole = where(near.to("float") > source, below, near)
    return where(source.equals(source), whole, 0)


def _cut_off(x: Lanes, bits: int, signed: bool) -> Lanes:
    """A vector of float32 or float64 as integers of at least `bits` bits that fit in so many."""
    element = x.value.element
    if bits <= 16 and element == "float":
        if x.builder.abilities.rvv_bits:
            return few_bits(x, bits, signed)
        if limits_of(x, bits, signed):
            return _toward_zero(x, "i32")
    lowest = -(1 << bits - 1) if signed else 0
    beyond = lowest + (1 << bits)
    # The largest number below, which is whole.
    largest = beyond - max(beyond >> _DIGITS[element], 1)
    number = where(x.equals(x), x, 0.0)
    inside = call("llvm.maxnum", number, number.constant(lowest))
    inside = call("llvm.minnum", inside, number.constant(largest))
    if bits == 64 and not signed:
        whole = to_unsigned_64(inside, lambda half: _toward_zero(half, "i64"))
    else:
        is_wide = bits - signed > 31 or element == "double"
        whole = _toward_zero(inside, "i64" if is_wide else "i32")
    return whole if largest == beyond - 1 else where(x >= beyond, beyond - 1, whole)


# Binary digits of the significand.
_DIGITS = {"float": 24, "double": 53}


def _toward_zero(x: Lanes, element: str) -> Lanes:
    """A number that fits as an integer; at RVV's instruction for it QEMU 7.2 aborts."""
    if not x.builder.abilities.rvv_bits:
        return x.of(x.builder.cast("fptosi", x.value, element))
    return _cut_from(x, nearest_integer(x, element))


def _cut_from(x: Lanes, nearest: Lanes) -> Lanes:
    """A number cut off at the point, from the integer nearest to it.

    That is corrected by one where it is further from zero than the number.
    """
    back = nearest.to(x.value.element)
    if _is_never_negative(x):
        return where(back > x, nearest - 1, nearest)
    is_too_far = absolute(back) > absolute(x)
    bits = x.bits()
    one = (bits >> int(bits.value.element[1:]) - 1 | 1).to(nearest.value.element)
    return where(is_too_far, nearest - one, nearest)


def _is_never_negative(x: Lanes) -> bool:
    """Whether a number is known to be no less than 0, or NaN."""
    name, operands = x.builder.definition(x.value)
    parts = operands if name == "llvm.minnum" else [x.value]
    return all(floor_of(x.builder, part) >= 0 for part in parts)
