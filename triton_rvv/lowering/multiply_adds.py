"""Sums of products by RVV's multiply-add that overwrites the sum.

LLVM takes the one that overwrites a factor where both end there, and copies the sum back to its
register in every turn of a loop. Told to keep what is behind the last lane of the sum, it cannot.
"""

from __future__ import annotations

from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.register_groups import (
    ANY_TAIL,
    DYNAMIC_ROUNDING,
    KEPT_TAIL,
    fits_group,
    group_call,
)
from triton_rvv.lowering.values import Val, integer

__all__ = ["multiply_add", "shifted_and_added"]


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


def shifted_and_added(builder: Builder, total: Val, value: Val, count: int) -> Val:
    """total + (value << count) of integers of 32 bits, where these fit a group.

    By a multiply-add, which takes half the time of a shift.
    """
    factor = integer(1 << count, "i32")
    return group_call(builder, "vmacc.{}.i32", [total, factor, value], [ANY_TAIL])
