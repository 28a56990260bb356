"""Functions of integers."""

from __future__ import annotations

from collections.abc import Callable

from triton_rvv.lowering.llvm.values import type_suffix
from triton_rvv.lowering.math.lanes import Lanes, where

__all__ = ["absolute_integer", "chosen_bytes", "count_leading_zeros", "division", "find_first_set"]


def absolute_integer(x: Lanes) -> Lanes:
    """|x|; the smallest number stays itself."""
    return where(x < 0, -x, x)


def division(instruction: str) -> Callable[[Lanes, Lanes], Lanes]:
    """A quotient or a remainder by one of LLVM's instructions, defined for all numbers.

    Lanes that a mask leaves out often hold the divisor 0, at which some processors trap and from
    which LLVM would conclude that the mask is true. Dividing by 0 is dividing by 1 here; so is
    dividing the smallest number by -1, which gives the quotient that wraps and the remainder 0.
    """

    def divided(x: Lanes, y: Lanes) -> Lanes:
        by_one = y.equals(0)
        if instruction.startswith("s"):
            bits = int(x.value.element[1:])
            by_one = by_one | (y.equals(-1) & x.equals(-(1 << (bits - 1))))
        divisor = where(by_one, 1, y)
        return x.of(x.builder.binary(instruction, x.value, divisor.value))

    return divided


def count_leading_zeros(x: Lanes) -> Lanes:
    """Zeros above the highest bit that is set, as an i32; all of them for 0."""
    return _count("llvm.ctlz", x)


def find_first_set(x: Lanes) -> Lanes:
    """The position of the lowest bit that is set, counted from 1, as an i32; 0 for 0."""
    return where(x.equals(0), 0, _count("llvm.cttz", x) + 1)


def _count(name: str, x: Lanes) -> Lanes:
    """An intrinsic that says by a second operand whether its result for 0 is undefined."""
    symbol = f"{name}.{type_suffix(x.value)}"
    x.builder.declarations.add(f"declare {x.value.type} @{symbol}({x.value.type}, i1)")
    count = x.builder.emit(x.value.type, f"call {x.value.type} @{symbol}({x.value}, i1 false)")
    return x.of(count).to("i32")


def chosen_bytes(x: Lanes, y: Lanes, selector: Lanes) -> Lanes:
    """Four of the eight bytes of two i32, `x` holding the lower ones.

    The low three bits of each of the selector's lower four hexadecimal digits are a byte's number.
    """
    both = x.to("i64", signed=False) | y.to("i64") << 32
    total = x.constant(0)
    for place in range(4):
        number = (selector >> 4 * place & 7).to("i64")
        byte = both.shift_in_zeros(number << 3).to("i32") & 0xFF
        total = total | byte << 8 * place
    return total
