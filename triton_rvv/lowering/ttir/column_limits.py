"""Finds limits, quotients and remainders that addresses are made of.

Limits are put to columns, such as `tl.maximum(at - 1, 0)`; mirrors, such as `tl.abs(at)`, and
choices, such as `tl.where(at < n, at, at - n)`, have some too. Between them, columns follow one
another in memory. Limits of rows are left alone: a row's is one number.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.operation_kinds import ADDRESSES, ELEMENTWISE

__all__ = ["IS_COLUMN", "IS_RESHAPED", "column_limits", "mark_column_limits", "mark_reshaped"]

# The attribute of a limit whose last dimension is that of addresses.
IS_COLUMN = "triton_rvv.is_column"
_LIMITS = ("arith.minsi", "arith.maxsi", "math.absi", "arith.select")
# What wraps columns around.
_WRAPS = "arith.remsi"
# Operations whose results rise evenly where their operands do.
_KEEP_LINES = frozenset(
    (*_LIMITS, _WRAPS, "arith.addi", "arith.subi", "arith.muli", "arith.extsi", "tt.broadcast")
)


def mark_column_limits(kernel: Kernel) -> int:
    """Finds limits of columns, such as those at the edge of an image, in addresses."""
    limits = column_limits(kernel.operations)
    for limit in limits:
        limit.attributes[IS_COLUMN] = None
    return len(limits)


def column_limits(operations: Sequence[Operation]) -> list[Operation]:
    """What limits columns of which addresses are made."""
    marked = (*_LIMITS, _WRAPS)
    if not any(operation.name in marked for operation in operations):
        return []
    columns, found = set[Value](), list[Operation]()
    for operation in reversed(operations):
        if operation.name == "tt.addptr":
            columns.update(operation.operands)
        elif _keeps_columns(operation) and not columns.isdisjoint(operation.results):
            columns.update(operation.operands)
            if operation.name in marked and isinstance(operation.result.type, TensorType):
                found.append(operation)
    return found


def _keeps_columns(operation: Operation) -> bool:
    """Whether the last dimension of the result is that of the operands."""
    if operation.name == "tt.expand_dims":
        type_ = operation.result.block
        return operation.integer("axis") < len(type_.shape) - 1
    return operation.name in _KEEP_LINES


# The attribute of a quotient or remainder that becomes part of a block of another shape, which asks
# for it again for every row, or that a loop carries.
IS_RESHAPED = "triton_rvv.is_reshaped"
_MARKED = ("arith.divsi", "arith.remsi")
# Their results are no longer made of the addresses that they take.
_MEMORY = ("tt.load", "tt.store", "tt.atomic_")


def mark_reshaped(kernel: Kernel) -> int:
    """Finds quotients and remainders that become part of a larger block."""
    if not any(operation.name in _MARKED for operation in kernel.operations):
        return 0
    shaped, fired = set[Value](), 0
    for operation in reversed(kernel.operations):
        if operation.name.startswith(_MEMORY):
            continue
        is_shaped = not shaped.isdisjoint(operation.results)
        if is_shaped and operation.name in _MARKED:
            operation.attributes[IS_RESHAPED] = None
            fired += 1
        if is_shaped or not operation.name.startswith((*ELEMENTWISE, *ADDRESSES)):
            shaped.update(operation.operands)
    return fired
