"""Arithmetic and conversions that round toward zero, down or up instead of to nearest.

Each result is rounded to nearest first. A comparison with the exact result in a wider type, which
may take a sum of two numbers there, says whether the next number is the right one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from triton_rvv.lowering.math.lanes import Lanes, sqrt, where
from triton_rvv.lowering.math.libm import lane_by_lane

__all__ = ["MODES", "Mode", "directed_functions"]

# By the last letters of libdevice's functions: toward zero, down, up.
Mode = Literal["rz", "rd", "ru"]
MODES: tuple[Mode, ...] = ("rz", "rd", "ru")

# In these a product is exact, and no sum or quotient overflows or becomes denormal.
_WIDER = {"float": "double", "double": "fp128"}


@dataclass(frozen=True, slots=True, eq=False)
class _Exact:
    """An exact number in the wider type: a sum of which the second part is too small to show."""

    high: Lanes
    low: Lanes | None = None


_Function = Callable[..., Lanes]
_Expansion = Callable[..., _Exact]


def _wide(x: Lanes) -> Lanes:
    return x.to(_WIDER[x.value.element])


def _exact_sum(a: Lanes, b: Lanes, mode: Mode) -> _Exact:
    """a + b and what rounding takes from it (Knuth, "Seminumerical Algorithms", theorem 4.2.2 B).

    Where nothing is left the sum is 0, or -0 if it is rounded down.
    """
    high = -((-a) + (-b)) if mode == "rd" else a + b
    rest = high - a
    return _Exact(high, (a - (high - rest)) + (b - rest))


def _sum(mode: Mode, a: Lanes, b: Lanes) -> _Exact:
    return _exact_sum(_wide(a), _wide(b), mode)


def _difference(mode: Mode, a: Lanes, b: Lanes) -> _Exact:
    return _exact_sum(_wide(a), -_wide(b), mode)


def _product(_: Mode, a: Lanes, b: Lanes) -> _Exact:
    return _Exact(_wide(a) * _wide(b))


def _sum_with_product(mode: Mode, a: Lanes, b: Lanes, c: Lanes) -> _Exact:
    return _exact_sum(_wide(a) * _wide(b), _wide(c), mode)


def _quotient(_: Mode, a: Lanes, b: Lanes) -> _Exact:
    """Not exact, and yet right: no quotient is so near to a number that is not the quotient."""
    return _Exact(_wide(a) / _wide(b))


def _reciprocal(mode: Mode, x: Lanes) -> _Exact:
    return _quotient(mode, x.constant(1.0), x)


def _narrowed(_: Mode, x: Lanes) -> _Exact:
    return _Exact(x)


def _from_integer(mode: Mode, x: Lanes, signed: bool) -> _Exact:
    """An integer as a sum of doubles."""
    if x.value.element == "i32":
        return _Exact(x.to("double", signed))
    upper = x >> 32 if signed else x.shift_in_zeros(32)
    return _exact_sum((upper << 32).to("double", signed), (x & 0xFFFFFFFF).to("double"), mode)


def _rounded(expansion: _Expansion, mode: Mode, element: str, *operands: Lanes) -> Lanes:
    """What `expansion` makes of the operands, as a number of type `element`."""
    exact = expansion(mode, *operands)
    nearest = exact.high.to(element)
    shown = nearest.to(exact.high.value.element)
    below, above = exact.high < shown, exact.high > shown
    if exact.low is not None:
        same, low = exact.high.equals(shown), exact.low
        # A number is less than itself with the other sign where it is negative.
        below, above = below | (same & (low < -low)), above | (same & (low > -low))
    return _moved(nearest, below, above, mode)


def _root(mode: Mode, x: Lanes) -> Lanes:
    """The square root; its own square says on which side of it the exact one is."""
    nearest = sqrt(x)
    square = _wide(nearest) * _wide(nearest)
    return _moved(nearest, _wide(x) < square, _wide(x) > square, mode)


def _moved(nearest: Lanes, below: Lanes, above: Lanes, mode: Mode) -> Lanes:
    """`nearest` or a neighbour, for an exact number that is below or above it."""
    bits = nearest.bits()
    negative = bits < 0
    outward, inward = (bits + 1).as_float(), (bits - 1).as_float()
    if mode == "rz":
        return where((below & ~negative) | (above & negative), inward, nearest)
    if mode == "rd":
        return where(below, where(negative, outward, inward), nearest)
    return where(above, where(negative, inward, outward), nearest)


def directed_functions() -> dict[str, _Function]:
    """libdevice's functions that round in another mode than to nearest, by name."""
    arithmetic: dict[str, _Expansion] = {
        "add": _sum,
        "sub": _difference,
        "mul": _product,
        "div": _quotient,
        "rcp": _reciprocal,
    }
    found: dict[str, _Function] = {}
    for mode in MODES:
        for prefix, element in (("f", "float"), ("d", "double")):
            functions: dict[str, _Function] = {
                f"{prefix}{name}_{mode}": functools.partial(_rounded, exact, mode, element)
                for name, exact in arithmetic.items()
            }
            functions[f"fma{prefix.strip('d')}_{mode}"] = functools.partial(
                _rounded, _sum_with_product, mode, element
            )
            functions[f"{prefix}sqrt_{mode}"] = functools.partial(_root, mode)
            if element == "double":
                functions = {name: lane_by_lane(name, f) for name, f in functions.items()}
            found |= functions
        found[f"double2float_{mode}"] = functools.partial(_rounded, _narrowed, mode, "float")
        found |= _conversions(mode)
    return found


def _conversions(mode: Mode) -> dict[str, _Function]:
    """int2float_rz and its like."""
    kinds = {"int": True, "uint": False, "ll": True, "ull": False}
    return {
        f"{source}2{element}_{mode}": functools.partial(
            _rounded, functools.partial(_from_integer, signed=signed), mode, element
        )
        for source, signed in kinds.items()
        for element in ("float", "double")
    }
