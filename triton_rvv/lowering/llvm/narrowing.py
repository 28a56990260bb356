"""Instructions of RVV that make shorter integers, and saturate."""

from __future__ import annotations

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.register_groups import DOWN, DYNAMIC_ROUNDING, group_call
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = ["clipped", "nearest"]


def nearest(builder: Builder, value: Val, element: str) -> Val:
    """The i16 or i32 nearest to each float32 of a vector that fits a group, ties to even.

    What is too large becomes the integer that comes closest, and NaN the largest.
    """
    name = "vfcvt.x.f.v.{}.{}" if element == "i32" else "vfncvt.x.f.w.{}.{}"
    return group_call(builder, name, [None, value, DYNAMIC_ROUNDING], element=element)


def clipped(builder: Builder, value: Val, shift: int, signed: bool = True) -> Val:
    """Integers of half the bits: shifted right, rounded down, and the closest that they can be."""
    element, name = f"i{int(value.element[1:]) // 2}", "vnclip" if signed else "vnclipu"
    operands = [None, value, integer(shift), DOWN]
    return group_call(builder, f"{name}.{{}}.{{}}.i64", operands, element=element)
