"""Floats of 8 and 16 bits that no instruction computes with: kept as bits, computed in float32.

Widening is exact, and rounding a float32 result to one of these formats after each operation gives
what arithmetic in the format itself would: float32 has more than twice their digits and two more.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.float_formats import SMALL_FLOATS, SmallFloat
from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.register_groups import (
    DYNAMIC_ROUNDING,
    TO_NEAREST_EVEN,
    fits_group,
    group_call,
)
from triton_rvv.lowering.llvm.values import Val, float_constant, integer, signed, vector_type
from triton_rvv.lowering.math.lanes import Emit, Lanes, absolute, call, where

__all__ = ["computed_wide", "double_toward_zero", "narrow", "narrow_from_double", "widen"]

_INFINITY_BITS = 0x7F800000
_NAN_BITS = 0x7FC00000
_HALF_NAN_BITS = 0x7E00
_MAGNITUDE_BITS = 0x7FFFFFFF


def computed_wide(operation: Operation, emit: Emit) -> Emit:
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
    x = Lanes(builder, value)
    if source.name == "f16":
        return x.to("float").value
    if source.name == "f8E5M2":  # the upper half of a half
        return (x.to("i16", signed=False) << 8).as_float().to("float").value
    if source.name == "bf16" and builder.abilities.converts_bf16:
        return builder.cast("fpext", builder.cast("bitcast", value, "bfloat"), "float")
    if source.name == "bf16" and _fits_registers(builder, value.width):
        return _floats_of_halves(builder, value)
    if source.name == "bf16":  # the upper half of a float
        return (x.to("i32", signed=False) << 16).as_float().value
    if builder.abilities.rvv_bits and source.bits == 8 and source.exponent_bits < 5:
        return _widened_over_half(x, source).value
    return _widened_by_a_product(x.to("i32", signed=False), source).value


def _widened_over_half(bits: Lanes, source: SmallFloat) -> Lanes:
    """A byte's fields put where half precision has them, in half the registers of float32.

    A product corrects the bias as it widens, and keeps sign and NaN.
    """
    builder, mask = bits.builder, source.magnitude_mask
    fits = _fits_registers(builder, bits.value.width)
    is_nan = (bits & mask).equals(source.nan) if source.zero_has_sign else bits.equals(source.nan)
    place, scale = 1 << 10 - source.mantissa_bits, 2.0 ** (15 - source.bias)
    if fits:
        factors = [None, bits.value, integer(signed(place, 8), "i8")]
        spread = bits.of(group_call(builder, "vwmulsu.{}.{}.i8", factors, element="i16"))
    else:
        spread = bits.to("i16") * place
    once = spread & ~(1 << 14)  # the sign; the other copy of it is where an exponent begins
    half = (once | where(is_nan, spread.constant(_HALF_NAN_BITS), 0)).as_float()
    if not (fits and builder.abilities.widens_products_of_halves):
        return half.to("float") * scale
    factors = [None, half.value, float_constant("half", scale), DYNAMIC_ROUNDING]
    return bits.of(group_call(builder, "vfwmul.{}.{}.f16", factors, element="float"))


def _widened_by_a_product(bits: Lanes, source: SmallFloat) -> Lanes:
    """Exponent and significand put where float32 has them; a product corrects the bias.

    Denormals come out right, since they are denormal float32 numbers before the product.
    """
    magnitude = bits & source.magnitude_mask
    placed = (magnitude << 23 - source.mantissa_bits).as_float()
    scaled = (placed * 2.0 ** (127 - source.bias)).bits()
    is_nan = magnitude > source.largest if source.zero_has_sign else bits.equals(source.nan)
    number = where(is_nan, _NAN_BITS, scaled)
    sign = (bits & (source.magnitude_mask + 1)) << 32 - source.bits
    return (number | sign).as_float()


def narrow(builder: Builder, value: Val, target: SmallFloat, toward_zero: bool = False) -> Val:
    """A float32 rounded to the nearest small float (ties to even), or toward zero.

    As in Triton's conversions to 8 bits, what is too large for those becomes the largest number.
    """
    x = Lanes(builder, value)
    if target.name == "f16" and not toward_zero:
        return x.to("half").value
    if target.name == "bf16" and builder.abilities.converts_bf16 and not toward_zero:
        return builder.cast("bitcast", builder.cast("fptrunc", value, "bfloat"), "i16")
    if target.name == "bf16" and not toward_zero and _fits_registers(builder, value.width):
        return _rounded_halves(builder, value)
    bits, dropped = x.bits(), 23 - target.mantissa_bits
    magnitude = bits & _MAGNITUDE_BITS
    rounded = magnitude
    if not toward_zero:
        odd = magnitude.shift_in_zeros(dropped) & 1
        rounded = magnitude + (odd + ((1 << (dropped - 1)) - 1))
    code = rounded.shift_in_zeros(dropped)
    if target.bias != 127:
        code = code - ((127 - target.bias) << target.mantissa_bits)
        tiny = _denormal(magnitude, target, toward_zero)
        code = where(magnitude < (128 - target.bias) << 23, tiny, code)
    code = _at_most_the_largest(code, magnitude, target, toward_zero)
    sign = bits.shift_in_zeros(32 - target.bits) & (target.magnitude_mask + 1)
    if not target.zero_has_sign:
        sign = where(code.equals(0), 0, sign)
    small = (code | sign).to(f"i{target.bits}")
    return (small.as_float() if target.name == "f16" else small).value


def _denormal(magnitude: Lanes, target: SmallFloat, toward_zero: bool) -> Lanes:
    """The code of a number below the smallest normal one: a count of the smallest denormals."""
    if toward_zero:
        fraction = (magnitude & ((1 << 23) - 1)) | (1 << 23)
        first = 151 - target.mantissa_bits - target.bias
        shift = first - magnitude.shift_in_zeros(23)
        return fraction.shift_in_zeros(call("llvm.umin", shift, shift.constant(31)))
    # Of this number the smallest denormal is the last bit.
    exponent = 24 - target.bias - target.mantissa_bits
    return (magnitude.as_float() + 2.0**exponent).bits() - ((exponent + 127) << 23)


def _at_most_the_largest(
    code: Lanes, magnitude: Lanes, target: SmallFloat, toward_zero: bool
) -> Lanes:
    """The code put right for numbers beyond the range and for NaN."""
    if target.bits == 8 or toward_zero:
        code = call("llvm.umin", code, code.constant(target.largest))
    if target.bits > 8 and toward_zero:
        code = where(magnitude.equals(_INFINITY_BITS), target.largest + 1, code)
    return where(magnitude > _INFINITY_BITS, target.nan, code)


def narrow_from_double(
    builder: Builder, value: Val, target: SmallFloat, toward_zero: bool = False
) -> Val:
    """A float64 rounded once: the step over float32 keeps a trace of what it drops.

    The float32 is rounded to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded
    sums", 2008): toward zero, with the last bit set where that was not exact.
    """
    x = Lanes(builder, value)
    inexact = x.to("float").to("double").differs(x)
    toward = Lanes(builder, double_toward_zero(builder, value))
    odd = toward.bits() | inexact.to("i32", signed=False)
    return narrow(builder, odd.as_float().value, target, toward_zero)


def double_toward_zero(builder: Builder, value: Val) -> Val:
    """A float64 as the next float32 toward zero."""
    x = Lanes(builder, value)
    near = x.to("float")
    is_too_far = absolute(near.to("double")) > absolute(x)
    return (near.bits() + is_too_far.to("i32")).as_float().value


_TWO_TO_15 = integer(-(1 << 15), "i16")


def _fits_registers(builder: Builder, width: int) -> bool:
    """Whether the instructions are there for a vector of so many elements."""
    return fits_group(builder, Val(vector_type("float", width), ""))


def _rounded_halves(builder: Builder, value: Val) -> Val:
    """The upper half of each float32 of a vector, as i16, after rounding to the nearest even.

    `vnclipu` shifts, rounds and narrows. Of a float's bits as an unsigned integer, rounding away
    the lower half rounds the float: a carry goes from the significand into the exponent, and the
    sign stands apart. Only NaN could overflow: it is made the one whose lower half is 0 before.
    """
    quiet = group_call(builder, "vfmin.{0}.{0}", [None, value, value])
    operands = [None, builder.cast("bitcast", quiet, "i32"), integer(16), TO_NEAREST_EVEN]
    return group_call(builder, "vnclipu.{}.{}.i64", operands, element="i16")


def _floats_of_halves(builder: Builder, value: Val) -> Val:
    """The float32 with each i16 of a vector as its upper half, and 0 as its lower half.

    A widening product with 2^15 and a sum take half the time of a widening and a shift.
    """
    half = group_call(builder, "vwmulu.{}.{}.i16", [None, value, _TWO_TO_15], element="i32")
    return builder.cast("bitcast", builder.add(half, half), "float")
