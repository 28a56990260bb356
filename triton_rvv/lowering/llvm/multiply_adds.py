"""Products and sums of products by RVV's instructions.

Of multiply-adds, LLVM takes the one that overwrites a factor where both end there, and copies the
sum back to its register in every turn of a loop. Told to keep what is behind the last lane of the
sum, it cannot. It makes shifts of products with powers of two, which take twice as long on an X60.
"""

from __future__ import annotations

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.register_groups import (
    ANY_TAIL,
    DYNAMIC_ROUNDING,
    KEPT_TAIL,
    fits_group,
    group_call,
)
from triton_rvv.lowering.llvm.values import Val, integer, signed

__all__ = ["multiply_add", "product", "scaled_and_added", "upper_product"]


def multiply_add(builder: Builder, total: Val, value: Val) -> Val | None:
    """total + value in one instruction, where the value is a product of two vectors."""
    name, factors = builder.definition(value)
    bits = builder.abilities.rvv_bits
    # Less than a register would take an element of LLVM's types that stands for more.
    if name != "fmul" or not fits_group(builder, value) or value.width * 64 < bits:
        return None
    if any(map(builder.repeated, factors)):
        return None
    operands = [total, *factors, DYNAMIC_ROUNDING]
    return group_call(builder, "vfmacc.{0}.{0}", operands, [KEPT_TAIL])


def scaled_and_added(builder: Builder, total: Val, value: Val, factor: int) -> Val:
    """total + value * factor of integers of 32 bits that fit a group.

    By a power of two it takes half the time of a shift.
    """
    operands = [total, integer(signed(factor, 32), "i32"), value]
    return group_call(builder, "vmacc.{}.i32", operands, [ANY_TAIL])


def product(builder: Builder, value: Val, factor: int) -> Val:
    """value * factor of integers of 32 bits that fit a group, where LLVM would write a shift."""
    return group_call(builder, "vmul.{}.i32", [None, value, integer(factor, "i32")])


def upper_product(builder: Builder, value: Val, factor: int, is_signed: bool) -> Val:
    """The upper half of value * factor of integers of 32 bits that fit a group.

    By a power of two it shifts right, in half the time of a shift.
    """
    name = "vmulh" if is_signed else "vmulhu"
    return group_call(builder, f"{name}.{{}}.i32", [None, value, integer(factor, "i32")])
