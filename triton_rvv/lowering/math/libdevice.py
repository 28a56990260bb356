"""Functions of libdevice by NVIDIA's names for them, which Triton's own module uses."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from triton_rvv.errors import CompileError
from triton_rvv.frontend.four_bit_assembly import HALVES_OF_PAIR, pair_symbol
from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.math import (
    bessel,
    cube_root,
    error_function,
    exponential,
    hyperbolic,
    integers,
    inverse_error,
    inverse_trigonometric,
    logarithm,
    power,
    rounding,
    trigonometric,
)
from triton_rvv.lowering.math.directed import directed_functions
from triton_rvv.lowering.math.four_bits import four_bits, halves_of
from triton_rvv.lowering.math.lanes import (
    Emit,
    Lanes,
    absolute,
    call,
    copysign,
    emitter,
    fma,
    high_product,
    round_half_even,
    sqrt,
    where,
)
from triton_rvv.lowering.math.libm import (
    CALL_COST,
    by_lanes,
    lane_by_lane,
    libm_function,
    through_doubles,
)

__all__ = ["FLOAT_FUNCTIONS", "FUNCTIONS", "extern"]

# Vector code for float32 with its cost, and C's function of the same name for float64.
FLOAT_FUNCTIONS: dict[str, tuple[Callable[..., Lanes], int]] = {
    "acos": (inverse_trigonometric.acos, 60),
    "acosh": (hyperbolic.acosh, 75),
    "asin": (inverse_trigonometric.asin, 60),
    "asinh": (hyperbolic.asinh, 90),
    "atan": (inverse_trigonometric.atan, 45),
    "atan2": (inverse_trigonometric.atan2, 50),
    "atanh": (hyperbolic.atanh, 70),
    "cbrt": (cube_root.cbrt, 40),
    "cos": (trigonometric.cos, 40),
    "cosh": (hyperbolic.cosh, 34),
    "erf": (error_function.erf, 42),
    "erfc": (error_function.erfc, 65),
    "exp": (exponential.exp, 24),
    "exp10": (exponential.exp10, 28),
    "exp2": (exponential.exp2, 22),
    "expm1": (exponential.expm1, 77),
    "hypot": (power.hypot, 30),
    "ldexp": (power.ldexp, 15),
    "log": (logarithm.log, 34),
    "log10": (logarithm.log10, 82),
    "log1p": (logarithm.log1p, 102),
    "log2": (logarithm.log2, 35),
    "pow": (power.pow_, 110),
    "scalbn": (power.ldexp, 15),
    "sin": (trigonometric.sin, 40),
    "sinh": (hyperbolic.sinh, 34),
    "tan": (trigonometric.tan, 65),
    "tanh": (hyperbolic.tanh, 50),
}

# Of these there are variants that may be less exact; here they are the same.
_FAST = ("cos", "exp", "exp10", "log", "log10", "log2", "pow", "sin", "tan")

# C has no such functions: vector code for float32 with its cost, and for float64 code that calls
# others of C's.
_NOT_IN_C: dict[str, tuple[Callable[..., Lanes], int, Callable[..., Lanes]]] = {
    "cyl_bessel_i0": (bessel.i0, 120, bessel.i0_of_double),
    "cyl_bessel_i1": (bessel.i1, 120, bessel.i1_of_double),
    "erfcinv": (inverse_error.erfcinv, 220, inverse_error.erfcinv_of_double),
    "erfcx": (error_function.erfcx, 100, error_function.erfcx_of_double),
    "erfinv": (inverse_error.erfinv, 220, inverse_error.erfinv_of_double),
    "normcdf": (error_function.normcdf, 70, error_function.normcdf_of_double),
    "normcdfinv": (inverse_error.normcdfinv, 220, inverse_error.normcdfinv_of_double),
    "rhypot": (power.rhypot, 35, power.rhypot_of_double),
    "rnorm3d": (power.rhypot, 40, power.rhypot_of_double),
    "rnorm4d": (power.rhypot, 45, power.rhypot_of_double),
}

# C's functions that are called lane by lane, and those of them that are called with doubles for
# float32 too, since C's own are less exact.
_LIBM = ("fmod", "ilogb", "logb", "nextafter", "remainder")
_THROUGH_DOUBLES = ("j0", "j1", "jn", "lgamma", "tgamma", "y0", "y1", "yn")

# The same code for float32 and float64, where names differ by an "f" at the end.
_BOTH: dict[str, Callable[..., Lanes]] = {
    "ceil": rounding.ceil,
    "copysign": copysign,
    "fabs": absolute,
    "fdim": lambda x, y: where(x <= y, 0.0, x - y),
    "floor": rounding.floor,
    "fma": fma,
    "nearbyint": round_half_even,
    "rint": round_half_even,
    "round": rounding.round_half_away,
    "rsqrt": power.rsqrt,
    "sqrt": sqrt,
    "trunc": rounding.trunc,
}


# By the names that share one, of integers, of bits of floats, and of what is cheap.
_OTHERS: dict[str, Callable[..., Lanes]] = {
    "abs llabs": integers.absolute_integer,
    "brev brevll": lambda x: call("llvm.bitreverse", x),
    "byte_perm": integers.chosen_bytes,
    "clz clzll": integers.count_leading_zeros,
    "cospif": trigonometric.cospi,
    "double2hiint": lambda x: x.bits().shift_in_zeros(32).to("i32"),
    "double2loint": lambda x: x.bits().to("i32"),
    "double_as_longlong float_as_int float_as_uint": Lanes.bits,
    "fast_fdividef": operator.truediv,
    "ffs ffsll": integers.find_first_set,
    "finitef isfinited": lambda x: _as_number(absolute(x) < math.inf),
    "frsqrt_rn": power.rsqrt_rounded,
    "hadd": lambda x, y: (x & y) + ((x ^ y) >> 1),  # no sum of both, which may overflow
    "hiloint2double": lambda x, y: (x.to("i64") << 32 | y.to("i64", signed=False)).as_float(),
    "int_as_float longlong_as_double uint_as_float": Lanes.as_float,
    "isinfd isinff": lambda x: _as_number(absolute(x).equals(math.inf)),
    "isnand isnanf": lambda x: _as_number(x.differs(x)),
    "mul24": lambda x, y: (x << 8 >> 8) * (y << 8 >> 8),
    "mul64hi mulhi": lambda x, y: high_product(x, y, signed=True),
    "norm3df norm4df": power.hypot,
    "popc popcll": lambda x: call("llvm.ctpop", x).to("i32"),
    "powif": power.powi,
    "rcbrtf": cube_root.rcbrt,
    "rcp64h": lambda x: ((1.0 / x).bits() & -(1 << 32)).as_float(),
    "rhadd": lambda x, y: (x | y) - ((x ^ y) >> 1),
    "sad": lambda x, y, z: where(x < y, y - x, x - y) + z,
    "saturatef": rounding.saturate,
    "signbitd signbitf": lambda x: _as_number(x.bits() < 0),
    "sinpif": trigonometric.sinpi,
    "uhadd": lambda x, y: (x & y) + (x ^ y).shift_in_zeros(1),
    "umul24": lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF),
    "umul64hi umulhi": high_product,
    "urhadd": lambda x, y: (x | y) - (x ^ y).shift_in_zeros(1),
    "usad": lambda x, y, z: where(x.below_unsigned(y), y - x, x - y) + z,
}


def _as_number(truth: Lanes) -> Lanes:
    """A truth value as an i32, 0 or 1."""
    return truth.to("i32", signed=False)


# Operations with the usual rounding mode in their names; `directed` has the others.
_TO_NEAREST: dict[str, Callable[..., Lanes]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "rcp": lambda x: 1.0 / x,
    "sqrt": sqrt,
}

_INTEGERS = {
    "int": ("i32", True),
    "uint": ("i32", False),
    "ll": ("i64", True),
    "ull": ("i64", False),
}
_FLOATS = {"float": "float", "double": "double"}


def _to_integers() -> dict[str, Callable[[Lanes], Lanes]]:
    """float2int_rn and its like."""

    def conversion(
        rounded: Callable[[Lanes], Lanes], element: str, signed: bool
    ) -> Callable[[Lanes], Lanes]:
        return lambda x: rounding.to_integer(rounded(x), element, signed)

    named = {
        f"{source}2{target}_{mode}": conversion(rounded, *type_)
        for source in _FLOATS
        for target, type_ in _INTEGERS.items()
        for mode, rounded in rounding.ROUNDINGS.items()
    }
    for name, rounded in (("llrint", round_half_even), ("llround", rounding.round_half_away)):
        named[name] = named[f"{name}f"] = conversion(rounded, "i64", True)
    return named


def _from_integers() -> dict[str, Callable[[Lanes], Lanes]]:
    """int2float_rn and its like."""

    def conversion(target: str, signed: bool) -> Callable[[Lanes], Lanes]:
        return lambda x: x.to(target, signed)

    return {
        f"{source}2{target}_rn": conversion(element, signed)
        for source, (_, signed) in _INTEGERS.items()
        for target, element in _FLOATS.items()
    }


def _rcbrt(x: Lanes) -> Lanes:
    return 1.0 / libm_function("cbrt")(x)


def _powi(x: Lanes, exponent: Lanes) -> Lanes:
    return libm_function("pow")(x, exponent.to("double"))


# Made of C's functions, with a call for each lane.
_OF_DOUBLES: dict[str, Callable[..., Lanes]] = {
    "cospi": trigonometric.cospi_of_double,
    "norm3d": power.hypot_of_double,
    "norm4d": power.hypot_of_double,
    "powi": _powi,
    "rcbrt": _rcbrt,
    "sinpi": trigonometric.sinpi_of_double,
}


def _of_four_bits() -> dict[str, Callable[..., Lanes]]:
    """Conversions that kernels write as assembly, by symbols of this compiler's own."""

    def pair(type_: str, is_swapped: bool) -> Callable[..., Lanes]:
        def convert(x: Lanes, y: Lanes) -> Lanes:
            upper, lower = (y, x) if is_swapped else (x, y)
            return (four_bits(upper) << 4 | four_bits(lower)).to(type_)

        return convert

    found: dict[str, Callable[..., Lanes]] = {HALVES_OF_PAIR: halves_of}
    for bits in (8, 16, 32):
        for swapped in (False, True):
            found[pair_symbol(bits, swapped)] = pair(f"i{bits}", swapped)
    return found


def _functions() -> dict[str, tuple[Emit, int]]:
    """Every function that is written here, by its name without the prefix, with its cost."""
    cheap: dict[str, Callable[..., Lanes]] = {
        **{name: f for names, f in _OTHERS.items() for name in names.split()},
        **_BOTH,
        **{f"{name}f": function for name, function in _BOTH.items()},
        **{f"{p}{name}_rn": f for name, f in _TO_NEAREST.items() for p in ("f", "d")},
        **{f"{name}_rn": fma for name in ("fma", "fmaf")},
        **_to_integers(),
        **_from_integers(),
        "double2float_rn": lambda x: x.to("float"),
        **_of_four_bits(),
    }
    found = {name: (emitter(function), 10) for name, function in cheap.items()}
    for name, (function, cost) in FLOAT_FUNCTIONS.items():
        found[f"{name}f"] = emitter(function), cost
    for name in _FAST:
        found[f"fast_{name}f"] = found[f"{name}f"]
    for name, (of_floats, cost, of_doubles) in _NOT_IN_C.items():
        found[f"{name}f"] = emitter(of_floats), cost
        found[name] = emitter(lane_by_lane(f"{name}_of_double", of_doubles)), CALL_COST
    found |= {f"{name}f": (through_doubles(name), CALL_COST) for name in _THROUGH_DOUBLES}
    costly = {**_OF_DOUBLES, **directed_functions()}
    found |= {name: (emitter(function), CALL_COST) for name, function in costly.items()}
    return found


FUNCTIONS: Mapping[str, tuple[Emit, int]] = _functions()
# Called by C's name for the operands' type.
_CALLED = frozenset((*FLOAT_FUNCTIONS, *_THROUGH_DOUBLES, *_LIBM, *(f"{name}f" for name in _LIBM)))
_PREFIX = "__nv_"


def extern(operation: Operation) -> tuple[Emit, int]:
    """How to write `tt.extern_elementwise`, and what it costs.

    Raises:
        CompileError: for a function that is neither in C nor written here.
    """
    symbol = str(operation.attributes["symbol"])
    name = symbol.removeprefix(_PREFIX)
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if name in _CALLED:
        result = element_type(operation.result.type)
        assert isinstance(result, ScalarType)
        return by_lanes(name, result.llvm), CALL_COST
    raise CompileError(
        f"the external function {symbol} is not supported: "
        "compute it from functions that docs/reference/math.md lists",
        operation.line,
    )
