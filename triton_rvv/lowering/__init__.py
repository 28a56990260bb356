"""From TTIR to LLVM IR, a file for each family of operations."""

from triton_rvv.lowering.control.function import ADDED_MOVES, ENTRY, lower_module
from triton_rvv.lowering.llvm.rules import RULES
from triton_rvv.lowering.ttir.access_lines import LineAccess, accesses_by_line
from triton_rvv.lowering.ttir.passes import PARSED, PASSES, WRITTEN, Fired, Watch
from triton_rvv.lowering.ttir.schedule import BY_ESTIMATE, SCHEDULED_BY_LLVM

__all__ = [
    "ADDED_MOVES",
    "BY_ESTIMATE",
    "ENTRY",
    "PARSED",
    "PASSES",
    "RULES",
    "SCHEDULED_BY_LLVM",
    "WRITTEN",
    "Fired",
    "LineAccess",
    "Watch",
    "accesses_by_line",
    "lower_module",
]
