"""Floats of 8 and 16 bits that no instruction computes with: kept as bits, computed in float32.

Widening is exact, and rounding a float32 result to one of these formats after each operation gives
what arithmetic in the format itself would: float32 has more than twice their digits and two more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.values import Val, float_constant, integer, type_suffix, vector_type
from triton_rvv.small_float import SMALL_FLOATS, SmallFloat
from triton_rvv.ttir import Operation
from triton_rvv.types import ScalarType, element_type

__all__ = ["computed_wide", "double_toward_zero", "narrow", "narrow_from_double", "widen"]

_INFINITY_BITS = 0x7F800000
_MAGNITUDE_BITS = 0x7FFFFFFF


def computed_wide(
    operation: Operation, emit: Callable[[Builder, Sequence[Val]], Val]
) -> Callable[[Builder, Sequence[Val]], Val]:
    """`emit` for float32, made fit for the operation's types; `emit` itself where it is already.

    Half precision has instructions of its own for arithmetic, but not for functions.
    """
    sources = [_format(element_type(v.type), operation.name) for v in operation.operands]
    target = _format(element_type(operation.result.type), operation.name)
    if operation.name in _MOVES or not any((*sources, target)):
        return emit

    def wide(builder: Builder, values: Sequence[Val]) -> Val:
        widened = [
            value if source is None else widen(builder, value, source)
            for value, source in zip(values, sources, strict=True)
        ]
        result = emit(builder, widened)
        return result if target is None else narrow(builder, result, target)

    return wide


# These take the bits as they are.
_MOVES = frozenset({"arith.select"})
# What has an instruction for half precision; so has everything in the arith dialect but remf.
_HALF_FUNCTIONS = frozenset({"math.absf", "math.sqrt", "math.fma", "tt.precise_sqrt"})


def _format(type_: object, name: str) -> SmallFloat | None:
    """The format that has to be widened for an operation of this name, if the type is one."""
    if not isinstance(type_, ScalarType):
        return None
    if type_.name == "f16" and (_is_arithmetic(name) or name in _HALF_FUNCTIONS):
        return None
    return SMALL_FLOATS.get(type_.name)


def _is_arithmetic(name: str) -> bool:
    return name.startswith("arith.") and name != "arith.remf"


def widen(builder: Builder, value: Val, source: SmallFloat) -> Val:
    """A small float as float32, which is exact."""
    if source.name == "f16":
        return builder.cast("fpext", value, "float")
    if source.name == "f8E5M2":  # the upper half of a half
        upper = _shifted(builder, "shl", builder.cast("zext", value, "i16"), 8)
        return builder.cast("fpext", builder.cast("bitcast", upper, "half"), "float")
    if source.name == "bf16":  # the upper half of a float
        upper = _shifted(builder, "shl", builder.cast("zext", value, "i32"), 16)
        return builder.cast("bitcast", upper, "float")
    return _widen_with_product(builder, value, source)


def _widen_with_product(builder: Builder, value: Val, source: SmallFloat) -> Val:
    """Exponent and significand put where float32 has them; a product corrects the bias.

    Denormals come out right, since they are denormal float32 numbers before the product.
    """
    bits = builder.cast("zext", value, "i32")
    magnitude = _masked(builder, bits, source.magnitude_mask)
    placed = _shifted(builder, "shl", magnitude, 23 - source.mantissa_bits)
    factor = _float(builder, 2.0 ** (127 - source.bias), value.width)
    product = builder.binary("fmul", builder.cast("bitcast", placed, "float"), factor)
    scaled = builder.cast("bitcast", product, "i32")
    is_nan = _compared(builder, "ugt", magnitude, source.largest)
    scaled = builder.select(is_nan, _whole(builder, 0x7FC00000, value.width), scaled)
    sign = _masked(builder, bits, source.magnitude_mask + 1)
    sign = _shifted(builder, "shl", sign, 32 - source.bits)
    return builder.cast("bitcast", builder.binary("or", scaled, sign), "float")


def narrow(builder: Builder, value: Val, target: SmallFloat, toward_zero: bool = False) -> Val:
    """A float32 rounded to the nearest small float (ties to even), or toward zero.

    As in Triton's conversions to 8 bits, what is too large for those becomes the largest number.
    """
    if target.name == "f16" and not toward_zero:
        return builder.cast("fptrunc", value, "half")
    bits = builder.cast("bitcast", value, "i32")
    magnitude = _masked(builder, bits, _MAGNITUDE_BITS)
    dropped = 23 - target.mantissa_bits
    rounded = magnitude
    if not toward_zero:
        odd = _masked(builder, _shifted(builder, "lshr", magnitude, dropped), 1)
        almost_half = _whole(builder, (1 << (dropped - 1)) - 1, value.width)
        rounded = builder.add(magnitude, builder.add(almost_half, odd))
    code = _shifted(builder, "lshr", rounded, dropped)
    if target.bias != 127:
        bias = _whole(builder, (127 - target.bias) << target.mantissa_bits, value.width)
        code = builder.binary("sub", code, bias)
        tiny = _denormal(builder, magnitude, target, toward_zero)
        smallest_normal = (128 - target.bias) << 23
        is_tiny = _compared(builder, "ult", magnitude, smallest_normal)
        code = builder.select(is_tiny, tiny, code)
    code = _beyond_the_largest(builder, code, magnitude, target, toward_zero)
    sign = _shifted(builder, "lshr", bits, 32 - target.bits)
    sign = _masked(builder, sign, target.magnitude_mask + 1)
    small = builder.resize(builder.binary("or", code, sign), f"i{target.bits}")
    return builder.cast("bitcast", small, "half") if target.name == "f16" else small


def _denormal(builder: Builder, magnitude: Val, target: SmallFloat, toward_zero: bool) -> Val:
    """The code of a number below the smallest normal one: a count of the smallest denormals."""
    if toward_zero:
        fraction = _masked(builder, magnitude, (1 << 23) - 1)
        fraction = builder.binary("or", fraction, _whole(builder, 1 << 23, magnitude.width))
        first = 151 - target.mantissa_bits - target.bias
        exponent = _shifted(builder, "lshr", magnitude, 23)
        shift = builder.binary("sub", _whole(builder, first, magnitude.width), exponent)
        shift = _minimum(builder, shift, 31)
        return builder.binary("lshr", fraction, shift)
    # Of this number the smallest denormal is the last bit.
    rounder = 2.0 ** (24 - target.bias - target.mantissa_bits)
    number = builder.cast("bitcast", magnitude, "float")
    shifted = builder.binary("fadd", number, _float(builder, rounder, magnitude.width))
    rounder_bits = (24 - target.bias - target.mantissa_bits + 127) << 23
    count = builder.cast("bitcast", shifted, "i32")
    return builder.binary("sub", count, _whole(builder, rounder_bits, magnitude.width))


def _beyond_the_largest(
    builder: Builder, code: Val, magnitude: Val, target: SmallFloat, toward_zero: bool
) -> Val:
    width = magnitude.width
    if target.bits == 8 or toward_zero:
        code = _minimum(builder, code, target.largest)
    if target.bits > 8 and toward_zero:
        is_infinite = _compared(builder, "eq", magnitude, _INFINITY_BITS)
        code = builder.select(is_infinite, _whole(builder, target.largest + 1, width), code)
    is_nan = _compared(builder, "ugt", magnitude, _INFINITY_BITS)
    return builder.select(is_nan, _whole(builder, target.nan, width), code)


def narrow_from_double(
    builder: Builder, value: Val, target: SmallFloat, toward_zero: bool = False
) -> Val:
    """A float64 rounded once: the step over float32 keeps a trace of what it drops.

    The float32 is rounded to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded
    sums", 2008): toward zero, with the last bit set where that was not exact.
    """
    toward, inexact = double_toward_zero(builder, value)
    zero, one = (_whole(builder, number, value.width) for number in (0, 1))
    trace = builder.select(inexact, one, zero)
    bits = builder.binary("or", builder.cast("bitcast", toward, "i32"), trace)
    return narrow(builder, builder.cast("bitcast", bits, "float"), target, toward_zero)


def double_toward_zero(builder: Builder, value: Val) -> tuple[Val, Val]:
    """A float64 as the next float32 toward zero, and whether that is another number."""
    truth = vector_type("i1", value.width)
    near = builder.cast("fptrunc", value, "float")
    back = builder.cast("fpext", near, "double")

    def size(number: Val) -> Val:
        return builder.call(number.type, f"llvm.fabs.{type_suffix(number)}", [number])

    too_far = builder.emit(truth, f"fcmp ogt {size(back)}, {size(value).ref}")
    inexact = builder.emit(truth, f"fcmp one {back}, {value.ref}")
    bits = builder.cast("bitcast", near, "i32")
    bits = builder.add(bits, builder.cast("sext", too_far, "i32"))
    return builder.cast("bitcast", bits, "float"), inexact


def _whole(builder: Builder, value: int, width: int) -> Val:
    return builder.splat(integer(value, "i32"), width)


def _float(builder: Builder, value: float, width: int) -> Val:
    return builder.splat(float_constant("float", value), width)


def _shifted(builder: Builder, name: str, value: Val, count: int) -> Val:
    return builder.binary(name, value, builder.splat(integer(count, value.element), value.width))


def _masked(builder: Builder, value: Val, mask: int) -> Val:
    return builder.binary("and", value, _whole(builder, mask, value.width))


def _compared(builder: Builder, predicate: str, value: Val, number: int) -> Val:
    return builder.compare(predicate, value, _whole(builder, number, value.width))


def _minimum(builder: Builder, value: Val, number: int) -> Val:
    limit = _whole(builder, number, value.width)
    return builder.call(value.type, f"llvm.umin.{type_suffix(value)}", [value, limit])
