"""Finds stores that may wait until a loop's carried blocks change, to be written in one walk."""

from __future__ import annotations

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.interleaved_stores import WITHOUT_MEMORY

__all__ = ["sinkable_stores"]

_NO_EFFECT = (*WITHOUT_MEMORY, "tt.reduce", "tt.reshape")


def sinkable_stores(module: Operation) -> frozenset[Operation]:
    """The stores of blocks behind which nothing in a loop's body reads or changes memory."""
    found = set()
    for loop in module.walk():
        if loop.name == "scf.for":
            for operation in reversed(loop.regions[0].block.operations[:-1]):
                if operation.name.startswith(_NO_EFFECT):
                    continue
                if operation.name == "tt.store" and isinstance(
                    operation.operands[1].type, TensorType
                ):
                    found.add(operation)
                break
    return frozenset(found)
