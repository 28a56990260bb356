"""From TTIR to LLVM IR, a file for each family of operations."""

from triton_rvv.lowering.function import ENTRY, kernel_name, lower_module

__all__ = ["ENTRY", "kernel_name", "lower_module"]
