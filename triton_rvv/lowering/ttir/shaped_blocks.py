"""Finds quotients and remainders of which blocks of another shape are made."""

from __future__ import annotations

from triton_rvv.frontend.ttir import Value
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.operation_kinds import ADDRESSES, ELEMENTWISE

__all__ = ["IS_RESHAPED", "mark_reshaped"]

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
