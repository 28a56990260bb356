"""Finds limits that are put to the columns of addresses, such as `tl.maximum(at - 1, 0)`.

Mirrors, such as `tl.abs(at)`, and choices, such as `tl.where(at < n, at, at - n)`, have some too.
Between them, columns follow one another in memory. Limits of rows are left alone: a row's is one
number.
"""

from __future__ import annotations

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.kernel import Kernel

__all__ = ["IS_COLUMN", "mark_column_limits"]

# The attribute of a limit whose last dimension is that of addresses.
IS_COLUMN = "triton_rvv.is_column"
_LIMITS = ("arith.minsi", "arith.maxsi", "math.absi", "arith.select")
# Operations whose results rise evenly where their operands do.
_KEEP_LINES = frozenset(
    (*_LIMITS, "arith.addi", "arith.subi", "arith.muli", "arith.extsi", "tt.broadcast")
)


def mark_column_limits(kernel: Kernel) -> int:
    """Finds limits of columns, such as those at the edge of an image, in addresses."""
    if not any(operation.name in _LIMITS for operation in kernel.operations):
        return 0
    columns, fired = set[Value](), 0
    for operation in reversed(kernel.operations):
        if operation.name == "tt.addptr":
            columns.update(operation.operands)
        elif _keeps_columns(operation) and not columns.isdisjoint(operation.results):
            columns.update(operation.operands)
            if operation.name in _LIMITS and isinstance(operation.result.type, TensorType):
                operation.attributes[IS_COLUMN] = None
                fired += 1
    return fired


def _keeps_columns(operation: Operation) -> bool:
    """Whether the last dimension of the result is that of the operands."""
    if operation.name == "tt.expand_dims":
        type_ = operation.result.block
        return operation.integer("axis") < len(type_.shape) - 1
    return operation.name in _KEEP_LINES
