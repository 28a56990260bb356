"""Loads of one element, and what is there where none is loaded."""

from __future__ import annotations

from triton_rvv.frontend.types import PointerType, ScalarType
from triton_rvv.lowering.blocks.memory_format import memory_type
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val

__all__ = ["load_scalar", "zero"]


def load_scalar(
    builder: Builder, element: ScalarType | PointerType, address: Val, condition: Val, fill: Val
) -> Val:
    """One element in its memory type; where the condition is false, memory is left alone."""
    type_ = memory_type(element)
    if condition.truth is True:
        return builder.load(type_, address, element.size_bytes)
    # Reading a place of our own keeps this free of branches inside vector code.
    safe = builder.alloca(type_, 1)
    chosen = builder.select(condition, address, safe)
    return builder.select(condition, builder.load(type_, chosen, element.size_bytes), fill)


def zero(element: str) -> str:
    """How a constant of 0 is written, of a type of LLVM."""
    if element == "ptr":
        return "null"
    return "0" if element.startswith("i") else "0.0"
