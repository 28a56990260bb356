"""The error function."""

from __future__ import annotations

from triton_rvv.lowering.math.exponential import exp_in_range
from triton_rvv.lowering.math.lanes import Lanes, absolute, copysign, fma, polynomial, where

__all__ = ["erf"]

# erf(x) / x - 1 in x^2, for |x| <= _NEAR.
_NEAR = 0.927734375
_ERF = (
    -5.9848395176e-4,
    4.9925190397e-3,
    -2.6766616851e-2,
    1.1281833053e-1,
    -3.7612497807e-1,
    1.2837915123e-1,
)
# -ln(1 - erf(x)) / x - 1 for x from _NEAR to 4, from where on erf(x) is 1 in float32.
_MINUS_LOG_ERFC = (
    1.2433205484e-5,
    -3.3454439836e-4,
    3.6890096962e-3,
    -2.3858008906e-2,
    1.0634537786e-1,
    6.3508743048e-1,
    1.2866380811e-1,
)


def erf(x: Lanes) -> Lanes:
    """erf(x) for float32. Largest error: 1.116 ulp.

    A polynomial near zero, and 1 - e^-p(|x|) with a polynomial p elsewhere.
    """
    size = absolute(x)
    near_zero = fma(polynomial(x * x, _ERF), size, size)
    limited = where(size > 4.0, 4.0, size)
    power = fma(polynomial(limited, _MINUS_LOG_ERFC), limited, limited)
    away = 1.0 - exp_in_range(-power)
    # NaN is near zero here, and stays.
    return copysign(where(size > _NEAR, away, near_zero), x)
