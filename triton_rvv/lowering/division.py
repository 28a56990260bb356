"""Division of floats, fast where all lanes have one divisor."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.values import Val, float_constant

__all__ = ["divide"]


def divide(builder: Builder, values: Sequence[Val]) -> Val:
    """The quotient of two values; a vector by one number is multiplied by its reciprocal.

    A step of Newton's method makes such a quotient the correctly rounded one (Markstein,
    "Computation of elementary functions on the IBM RISC System/6000 processor", 1990), but for
    divisors beyond 2^126 and for numbers below 2^-102, which may be off in the last places. On its
    other targets, Triton's `/` promises two units in the last place for divisors between 2^-126 and
    2^126; `tl.div_rn` always divides.
    """
    dividend, divisor = values
    number = builder.repeated(divisor)
    if number is None or divisor.element != "float":
        return builder.binary("fdiv", dividend, divisor)
    one = float_constant(number.type, 1.0)
    # The reciprocal of what is below 2^-126 may be infinite where the quotient is not.
    size = builder.intrinsic("llvm.fabs", [number])
    is_small = builder.compare("olt", size, float_constant(number.type, 2.0**-126))
    scale = builder.select(is_small, float_constant(number.type, 2.0**64), one)
    number = builder.binary("fmul", number, scale)
    divisor = builder.splat(number, dividend.width)
    dividend = builder.binary("fmul", dividend, builder.splat(scale, dividend.width))
    inverse = builder.splat(builder.binary("fdiv", one, number), dividend.width)
    rough = builder.binary("fmul", dividend, inverse)
    away = builder.emit(rough.type, f"fneg {rough}")
    rest = builder.intrinsic("llvm.fma", [away, divisor, dividend])
    exact = builder.intrinsic("llvm.fma", [rest, inverse, rough])
    signed = builder.intrinsic("llvm.copysign", [exact, rough])
    # Where the quotient is infinite there is no rest, and the rough one is right.
    return builder.select(builder.compare("ord", exact, exact), signed, rough)
