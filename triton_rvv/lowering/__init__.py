"""From TTIR to LLVM IR, a file for each family of operations."""

from triton_rvv.lowering.control.function import (
    BY_ESTIMATE,
    ENTRY,
    SCHEDULED_BY_LLVM,
    argument_types,
    kernel_name,
    lower_module,
)

__all__ = [
    "BY_ESTIMATE",
    "ENTRY",
    "SCHEDULED_BY_LLVM",
    "argument_types",
    "kernel_name",
    "lower_module",
]
