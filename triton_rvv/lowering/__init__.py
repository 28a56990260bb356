"""From TTIR to LLVM IR, a file for each family of operations."""

from triton_rvv.lowering.function import ENTRY, argument_types, kernel_name, lower_module

__all__ = ["ENTRY", "argument_types", "kernel_name", "lower_module"]
