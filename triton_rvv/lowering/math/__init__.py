"""Mathematical functions, on scalars and vectors alike.

`EMITTERS` and `FACTORIES` say how to write each operation on its operands' elements, and what that
costs: roughly the vector instructions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.math import exponential, power, rounding
from triton_rvv.lowering.math.estimates import are_estimated, root
from triton_rvv.lowering.math.integers import absolute_integer, division
from triton_rvv.lowering.math.lanes import Emit, Lanes, absolute, emitter, fma, high_product, sqrt
from triton_rvv.lowering.math.libdevice import FLOAT_FUNCTIONS, extern
from triton_rvv.lowering.math.libm import CALL_COST, float_or_libm, libm_function
from triton_rvv.lowering.ttir.bounded_powers import IS_BOUNDED

__all__ = ["EMITTERS", "FACTORIES"]

# Functions of Triton's own language among those of libdevice.
_SHARED = ("cos", "erf", "log", "log2", "sin")


def _root(x: Lanes) -> Lanes:
    return root(x) if are_estimated(x.builder, x.value) else sqrt(x)


# Operations that their names tell all about.
EMITTERS: dict[str, tuple[Emit, int]] = {
    "arith.divsi": (emitter(division("sdiv")), 8),
    "arith.divui": (emitter(division("udiv")), 8),
    "arith.remsi": (emitter(division("srem")), 8),
    "arith.remui": (emitter(division("urem")), 8),
    "arith.remf": (float_or_libm(libm_function("fmodf"), "fmod"), CALL_COST),
    "math.absf": (emitter(absolute), 1),
    "math.absi": (emitter(absolute_integer), 2),
    "math.ceil": (emitter(rounding.ceil), 6),
    "math.floor": (emitter(rounding.floor), 6),
    "math.fma": (emitter(fma), 1),
    "math.rsqrt": (emitter(power.rsqrt), 30),
    "math.sqrt": (emitter(_root), 15),
    "tt.mulhiui": (emitter(high_product), 4),
    "tt.precise_divf": (emitter(operator.truediv), 15),
    "tt.precise_sqrt": (emitter(sqrt), 15),
    **{
        f"math.{name}": (float_or_libm(FLOAT_FUNCTIONS[name][0], name), FLOAT_FUNCTIONS[name][1])
        for name in _SHARED
    },
}


def _clamp(operation: Operation) -> tuple[Emit, int]:
    propagate_nan = operation.integer("propagateNan") != 0

    def limited(x: Lanes, low: Lanes, high: Lanes) -> Lanes:
        return rounding.clamp(x, low, high, propagate_nan)

    return emitter(limited), 2


def _power(name: str, bounded: Callable[[Lanes], Lanes]) -> Callable[..., tuple[Emit, int]]:
    """An exponential, by less code where no result overflows."""
    function, cost = FLOAT_FUNCTIONS[name]

    def write(operation: Operation) -> tuple[Emit, int]:
        chosen = bounded if IS_BOUNDED in operation.attributes else function
        return float_or_libm(chosen, name), cost

    return write


# Operations whose attributes matter too.
FACTORIES: dict[str, Callable[[Operation], tuple[Emit, int]]] = {
    "math.exp": _power("exp", exponential.bounded_exp),
    "math.exp2": _power("exp2", exponential.bounded_exp2),
    "tt.clampf": _clamp,
    "tt.extern_elementwise": extern,
}
