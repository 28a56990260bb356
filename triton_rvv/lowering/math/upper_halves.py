"""float32 to bf16 and back by instructions of RVV that shift by the way.

`vnclipu` shifts, rounds to the nearest even and narrows. Of a float's bits as an unsigned integer,
rounding away the lower half rounds the float: a carry goes from the significand into the exponent,
and the sign stands apart. Only NaN could overflow: it is made the one whose lower half is 0 before.

Back, a widening product with 2^15 and a sum take half the time of a widening and a shift.
"""

from __future__ import annotations

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.register_groups import TO_NEAREST_EVEN, fits_group, group_call
from triton_rvv.lowering.llvm.values import Val, integer, vector_type

__all__ = ["fits_registers", "floats_of_halves", "rounded_halves"]

_TWO_TO_15 = integer(-(1 << 15), "i16")


def fits_registers(builder: Builder, width: int) -> bool:
    """Whether the instructions are there for a vector of so many elements."""
    return fits_group(builder, Val(vector_type("float", width), ""))


def rounded_halves(builder: Builder, value: Val) -> Val:
    """The upper half of each float32 of a vector, as i16, after rounding to the nearest even."""
    quiet = group_call(builder, "vfmin.{0}.{0}", [None, value, value])
    operands = [None, builder.cast("bitcast", quiet, "i32"), integer(16), TO_NEAREST_EVEN]
    return group_call(builder, "vnclipu.{}.{}.i64", operands, element="i16")


def floats_of_halves(builder: Builder, value: Val) -> Val:
    """The float32 of which each i16 of a vector is the upper half, and the lower half is 0."""
    half = group_call(builder, "vwmulu.{}.{}.i16", [None, value, _TWO_TO_15], element="i32")
    return builder.cast("bitcast", builder.add(half, half), "float")
