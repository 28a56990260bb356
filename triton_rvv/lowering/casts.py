"""Conversions between numbers, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.small_floats import (
    double_toward_zero,
    narrow,
    narrow_from_double,
    widen,
)
from triton_rvv.lowering.values import Val, float_constant, integer, type_suffix, vector_type
from triton_rvv.small_float import SMALL_FLOATS
from triton_rvv.ttir import Operation
from triton_rvv.types import ScalarType, element_type

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

Emit = Callable[[Builder, Sequence[Val]], Val]

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
        return lambda builder, values: _to_integer(builder, name, values[0], source, target)
    return lambda builder, values: _from_integer(builder, name, values[0], source, target)


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
        return double_toward_zero(builder, value)[0]
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
    builder: Builder, name: str, value: Val, source: ScalarType, target: ScalarType
) -> Val:
    """A float cut off at the point."""
    if source.name in SMALL_FLOATS:
        value = widen(builder, value, SMALL_FLOATS[source.name])
    if name == "fptoui" and target.llvm == "i64":
        return _to_unsigned_64(builder, value)
    return _cut_off(builder, name, value, target.llvm)


def _cut_off(builder: Builder, name: str, value: Val, element: str) -> Val:
    """A float32 or float64 cut off at the point.

    QEMU 7.2 aborts at the vector instruction for it. Vectors are therefore rounded to the nearest
    integer, and corrected by one where that is further from zero than the value.
    """
    if value.width == 1:
        return builder.cast(name, value, element)
    wide = name == "fptoui" or element == "i64" or value.element == "double"
    type_ = vector_type("i64" if wide else "i32", value.width)
    suffix = f"{type_suffix(Val(type_, ''))}.{type_suffix(value)}"
    nearest = builder.call(type_, f"llvm.lrint.{suffix}", [value])
    back = builder.cast("sitofp", nearest, value.element)
    zero = builder.splat(float_constant(value.element, 0.0), value.width)

    def holds(predicate: str, left: Val, right: Val) -> Val:
        truth = vector_type("i1", value.width)
        return builder.emit(truth, f"fcmp {predicate} {left}, {right.ref}")

    too_high = builder.binary("and", holds("ogt", value, zero), holds("ogt", back, value))
    too_low = builder.binary("and", holds("olt", value, zero), holds("olt", back, value))
    down = builder.cast("sext", too_high, nearest.element)
    up = builder.cast("zext", too_low, nearest.element)
    exact = builder.add(builder.add(nearest, down), up)
    return builder.resize(exact, element)


def _to_unsigned_64(builder: Builder, value: Val) -> Val:
    """The same to 64 bits without a sign: the upper half is moved down and its top bit put back."""
    half = builder.splat(float_constant(value.element, 2.0**63), value.width)
    large = builder.emit(vector_type("i1", value.width), f"fcmp oge {value}, {half.ref}")
    lower = builder.emit(value.type, f"fsub {value}, {half.ref}")
    rest = _cut_off(builder, "fptosi", builder.select(large, lower, value), "i64")
    top = builder.splat(integer(-(1 << 63)), value.width)
    return builder.select(large, builder.binary("xor", rest, top), rest)
