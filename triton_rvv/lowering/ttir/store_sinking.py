"""Finds stores that may wait until a loop's carried blocks change, to be written in one walk."""

from __future__ import annotations

from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.interleaved_stores import WITHOUT_MEMORY
from triton_rvv.lowering.ttir.kernel import Kernel

__all__ = ["MAY_WAIT", "sink_stores"]

# The attribute of a store that may wait.
MAY_WAIT = "triton_rvv.may_wait"
_NO_EFFECT = (*WITHOUT_MEMORY, "tt.reduce", "tt.reshape")


def sink_stores(kernel: Kernel) -> int:
    """Finds stores that may wait until the blocks that their loop carries change.

    A store that waits comes after loads of what a loop carries, so arguments have to be disjoint.
    """
    if not kernel.aliases.arguments_are_disjoint:
        return 0
    fired = 0
    for loop in kernel.operations:
        if loop.name == "scf.for":
            for operation in reversed(loop.regions[0].block.operations[:-1]):
                if operation.name.startswith(_NO_EFFECT):
                    continue
                if operation.name == "tt.store" and isinstance(
                    operation.operands[1].type, TensorType
                ):
                    operation.attributes[MAY_WAIT] = None
                    fired += 1
                break
    return fired
