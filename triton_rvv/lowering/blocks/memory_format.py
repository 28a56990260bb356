"""How elements look in memory: truth values take a byte."""

from __future__ import annotations

from triton_rvv.frontend.types import PointerType, ScalarType
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val

__all__ = ["loaded", "memory_type", "stored"]


def stored(builder: Builder, value: Val) -> Val:
    """Elements as they lie in memory."""
    return builder.cast("zext", value, "i8") if value.element == "i1" else value


def loaded(builder: Builder, value: Val, element: ScalarType | PointerType) -> Val:
    """What was read from memory as elements of that type."""
    return builder.cast("trunc", value, "i1") if element.bits == 1 else value


def memory_type(element: ScalarType | PointerType) -> str:
    """LLVM's type of an element in memory: truth values take a byte."""
    return "i8" if element.bits == 1 else element.llvm
