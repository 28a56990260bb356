"""float8e4b15, which MLIR does not know: the conversions that Triton's front end asks a target for.

The format is E4M3 with a bias of 15, and without infinity and NaN. Like Triton's other targets,
this one makes 1.75 of a magnitude that is larger and of NaN, although there is a code for 1.875.
"""

from __future__ import annotations

from typing import Any

from triton.language import core

__all__ = ["convert_custom_float"]

# float8e4nv has the same fields and a bias of 7.
_BIAS_RATIO = 2.0**8
_NAN = 0x7F


@core.builtin  # type: ignore[untyped-decorator] # Triton ships no types
def convert_custom_float(
    argument: Any, type_: Any, rounding: Any = None, _semantic: Any = None
) -> Any:
    """Convert from float8e4b15 or to it.

    Args:
        argument: a tensor or a scalar of a floating-point type.
        type_: the type of the result.
        rounding: of Triton's enumeration, None for the nearest.
        _semantic: writes the operations.
    """
    if argument.type.scalar.is_fp8e4b15():
        return _as_half(argument, _semantic).to(type_.scalar, _semantic=_semantic)
    return _rounded(argument, rounding, _semantic)


def _as_half(argument: Any, semantic: Any) -> Any:
    """The fields and the sign put where half precision, with the same bias, has them."""
    bits = argument.to(core.uint8, bitcast=True, _semantic=semantic)
    bits = bits.to(core.uint16, _semantic=semantic)
    magnitude = bits.__and__(0x7F, _semantic=semantic).__lshift__(7, _semantic=semantic)
    sign = bits.__and__(0x80, _semantic=semantic).__lshift__(8, _semantic=semantic)
    half = magnitude.__or__(sign, _semantic=semantic)
    return half.to(core.float16, bitcast=True, _semantic=semantic)


def _rounded(argument: Any, rounding: Any, semantic: Any) -> Any:
    """The code that float8e4nv has for 256 times the number, and one less for NaN."""
    wide = core.float64 if argument.type.scalar.is_fp64() else core.float32
    scaled = argument.to(wide, _semantic=semantic).__mul__(_BIAS_RATIO, _semantic=semantic)
    name = None if rounding is None else rounding.name.lower()
    number = scaled.to(core.float8e4nv, fp_downcast_rounding=name, _semantic=semantic)
    codes = number.to(core.uint8, bitcast=True, _semantic=semantic)
    magnitude = codes.__and__(_NAN, _semantic=semantic)
    is_nan = magnitude.__eq__(_NAN, _semantic=semantic).to(core.uint8, _semantic=semantic)
    codes = codes.__sub__(is_nan, _semantic=semantic)
    return codes.to(core.float8e4b15, bitcast=True, _semantic=semantic)
