"""Functions of libdevice by NVIDIA's names for them, which Triton's own module uses."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from triton_rvv.errors import CompileError
from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.math import (
    bessel,
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
from triton_rvv.lowering.math.lanes import (
    Emit,
    Lanes,
    absolute,
    copysign,
    emitter,
    fma,
    high_product,
    round_half_even,
    sqrt,
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
    "acos": (inverse_trigonometric.acos, 105),
    "acosh": (hyperbolic.acosh, 100),
    "asin": (inverse_trigonometric.asin, 105),
    "asinh": (hyperbolic.asinh, 130),
    "atan": (inverse_trigonometric.atan, 100),
    "atan2": (inverse_trigonometric.atan2, 105),
    "atanh": (hyperbolic.atanh, 140),
    "cbrt": (power.cbrt, 136),
    "cos": (trigonometric.cos, 40),
    "cosh": (hyperbolic.cosh, 65),
    "erf": (error_function.erf, 42),
    "erfc": (error_function.erfc, 90),
    "exp": (exponential.exp, 24),
    "exp10": (exponential.exp10, 52),
    "exp2": (exponential.exp2, 22),
    "expm1": (exponential.expm1, 77),
    "hypot": (power.hypot, 30),
    "ldexp": (power.ldexp, 15),
    "log": (logarithm.log, 34),
    "log10": (logarithm.log10, 82),
    "log1p": (logarithm.log1p, 102),
    "log2": (logarithm.log2, 35),
    "pow": (power.pow_, 215),
    "scalbn": (power.ldexp, 15),
    "sin": (trigonometric.sin, 40),
    "sinh": (hyperbolic.sinh, 95),
    "tan": (trigonometric.tan, 140),
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
    "normcdf": (error_function.normcdf, 90, error_function.normcdf_of_double),
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
    "fdim": rounding.positive_difference,
    "floor": rounding.floor,
    "fma": fma,
    "nearbyint": round_half_even,
    "rint": round_half_even,
    "round": rounding.round_half_away,
    "rsqrt": power.rsqrt,
    "sqrt": sqrt,
    "trunc": rounding.trunc,
}


def _reciprocal(x: Lanes) -> Lanes:
    return 1.0 / x


def _bits_as_float(x: Lanes) -> Lanes:
    return x.as_float()


def _lower_word(x: Lanes) -> Lanes:
    return x.bits().to("i32")


_OTHERS: dict[str, Callable[..., Lanes]] = {
    "abs": integers.absolute_integer,
    "brev": integers.reversed_bits,
    "brevll": integers.reversed_bits,
    "byte_perm": integers.chosen_bytes,
    "clz": integers.count_leading_zeros,
    "clzll": integers.count_leading_zeros,
    "cospif": trigonometric.cospi,
    "double2hiint": rounding.upper_word,
    "double2loint": _lower_word,
    "double_as_longlong": Lanes.bits,
    "fast_fdividef": operator.truediv,
    "ffs": integers.find_first_set,
    "ffsll": integers.find_first_set,
    "finitef": rounding.is_finite,
    "float_as_int": Lanes.bits,
    "float_as_uint": Lanes.bits,
    "frsqrt_rn": power.rsqrt_rounded,
    "hadd": integers.mean,
    "hiloint2double": rounding.from_words,
    "int_as_float": _bits_as_float,
    "isfinited": rounding.is_finite,
    "isinfd": rounding.is_infinite,
    "isinff": rounding.is_infinite,
    "isnand": rounding.is_nan,
    "isnanf": rounding.is_nan,
    "llabs": integers.absolute_integer,
    "longlong_as_double": _bits_as_float,
    "mul24": integers.product_of_24_bits,
    "mul64hi": integers.high_product_signed,
    "mulhi": integers.high_product_signed,
    "norm3df": power.hypot,
    "norm4df": power.hypot,
    "popc": integers.population_count,
    "popcll": integers.population_count,
    "powif": power.pow_,
    "rcbrtf": power.rcbrt,
    "rcp64h": rounding.reciprocal_upper_word,
    "rhadd": integers.mean_up,
    "sad": integers.sum_of_absolute_difference,
    "saturatef": rounding.saturate,
    "signbitd": rounding.is_negative,
    "signbitf": rounding.is_negative,
    "sinpif": trigonometric.sinpi,
    "uhadd": integers.mean_unsigned,
    "uint_as_float": _bits_as_float,
    "umul24": integers.product_of_24_bits_unsigned,
    "umul64hi": high_product,
    "umulhi": high_product,
    "urhadd": integers.mean_up_unsigned,
    "usad": integers.sum_of_absolute_difference_unsigned,
}

# Operations with the usual rounding mode in their names; `directed` has the others.
_TO_NEAREST: dict[str, Callable[..., Lanes]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "rcp": _reciprocal,
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


def _functions() -> dict[str, tuple[Emit, int]]:
    """Every function that is written here, by its name without the prefix, with its cost."""
    cheap: dict[str, Callable[..., Lanes]] = {
        **_OTHERS,
        **_BOTH,
        **{f"{name}f": function for name, function in _BOTH.items()},
        **{f"{p}{name}_rn": f for name, f in _TO_NEAREST.items() for p in ("f", "d")},
        **{f"{name}_rn": fma for name in ("fma", "fmaf")},
        **_to_integers(),
        **_from_integers(),
        "double2float_rn": lambda x: x.to("float"),
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
