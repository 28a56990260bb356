"""From TTIR to LLVM IR, a file for each family of operations."""

from triton_rvv.lowering.function import ENTRY, lower_module

__all__ = ["ENTRY", "lower_module"]
