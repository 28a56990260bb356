"""Conversions between numbers, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triton_rvv.errors import CompileError
from triton_rvv.lowering.builder import (
    Builder,
    Val,
    float_constant,
    integer,
    type_suffix,
    vector_type,
)
from triton_rvv.ttir import Operation
from triton_rvv.types import TensorType, element_type

__all__ = ["CASTS", "cast"]

CASTS = {
    "arith.extsi": "sext",
    "arith.extui": "zext",
    "arith.trunci": "trunc",
    "arith.sitofp": "sitofp",
    "arith.uitofp": "uitofp",
    "arith.fptosi": "fptosi",
    "arith.fptoui": "fptoui",
    "arith.extf": "fpext",
    "arith.truncf": "fptrunc",
}


def cast(operation: Operation) -> Callable[[Builder, Sequence[Val]], Val]:
    """How to write one of the `CASTS`.

    Raises:
        CompileError: for bf16.
    """
    name = CASTS[operation.name]
    source = element_type(operation.operands[0].type)
    target = element_type(operation.result.type)
    if "bf16" in (getattr(source, "name", ""), getattr(target, "name", "")):
        raise CompileError("bf16 is not supported: use fp32", operation.line)
    assert not isinstance(target, TensorType)
    element = target.llvm
    if name == "fptoui" and element == "i64":
        return lambda builder, values: _to_unsigned_64(builder, values[0])
    if name in ("fptosi", "fptoui"):
        return lambda builder, values: _to_integer(builder, name, values[0], element)
    return lambda builder, values: builder.cast(name, values[0], element)


def _to_integer(builder: Builder, name: str, value: Val, element: str) -> Val:
    """A float cut off at the point.

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
    rest = _to_integer(builder, "fptosi", builder.select(large, lower, value), "i64")
    top = builder.splat(integer(-(1 << 63)), value.width)
    return builder.select(large, builder.binary("xor", rest, top), rest)
