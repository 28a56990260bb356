"""Division of floats: by estimates on RVV, and by a reciprocal where all lanes have one divisor."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.math.estimates import are_estimated, quotient
from triton_rvv.lowering.math.lanes import Lanes, absolute, copysign, fma, maximum, minimum, where
from triton_rvv.lowering.values import Val

__all__ = ["divide"]

# Remainders of quotients that are finite are less.
_LARGE = 2.0**110


def divide(builder: Builder, values: Sequence[Val]) -> Val:
    """The quotient of two values; a vector by one number is multiplied by its reciprocal.

    A step of Newton's method makes such a quotient the correctly rounded one (Markstein,
    "Computation of elementary functions on the IBM RISC System/6000 processor", 1990), but where
    the quotient or the dividend is below 2^-102 or the quotient is within two units of the largest
    float: then it may be off in the last place. On its other targets, Triton's `/` promises two
    units in the last place for divisors between 2^-126 and 2^126; `tl.div_rn` always divides.
    """
    dividend, divisor = values
    number = builder.repeated(divisor)
    if number is not None and divisor.element == "float":
        return _by_one_number(Lanes(builder, dividend), Lanes(builder, number)).value
    if are_estimated(builder, dividend):
        return quotient(Lanes(builder, dividend), Lanes(builder, divisor)).value
    return builder.binary("fdiv", dividend, divisor)


def _by_one_number(x: Lanes, number: Lanes) -> Lanes:
    """A vector by a number, whose sign goes to the vector, so that quotients of 0 keep theirs.

    What is beyond 2^126 or below its reciprocal has a reciprocal that is not normal. Where the
    dividend times `scale` is not exact, the quotient is 0 or infinite.
    """
    builder, width = x.builder, x.value.width

    def each(scalar: Lanes) -> Lanes:
        return x.of(builder.splat(scalar.value, width))

    size = absolute(number)
    scale = where(size < 2.0**-126, 2.0**64, where(size > 2.0**126, number.constant(2.0**-64), 1.0))
    size = size * scale
    inverse = 1.0 / size
    # Quotients by 0 have no remainder to be corrected by.
    correction = where(size.equals(0.0), 0.0, inverse)
    x = x * each(copysign(scale, number))
    rough = x * each(inverse)
    rest = fma(rough, each(size), -x)
    if builder.has_one_nan:  # RISC-V: of NaN and a number, the number is the smaller and the larger
        # Where the remainder is NaN, +0 is subtracted, which leaves -0 as it is.
        rest = maximum(minimum(rest, _LARGE), -_LARGE)
        return fma(-rest, each(correction), rough)
    exact = fma(-rest, each(correction), rough)
    return where(exact.equals(exact), exact, rough)
