"""Finds stores that follow one another, which may then be written as one."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.ttir import Operation
from triton_rvv.types import TensorType

__all__ = ["WITHOUT_MEMORY", "store_pairs"]

# Operations that neither read nor change memory, by the beginning of their names.
WITHOUT_MEMORY = (
    "arith.",
    "math.",
    "tt.addptr",
    "tt.bitcast",
    "tt.broadcast",
    "tt.expand_dims",
    "tt.make_range",
    "tt.splat",
)


def store_pairs(module: Operation) -> dict[Operation, Operation]:
    """For each second store of a pair, the first one, which may as well happen right before it.

    Both store blocks of one type under one mask, and nothing between them reads memory.
    """
    pairs: dict[Operation, Operation] = {}
    for operation in module.walk():
        for region in operation.regions:
            for block in region.blocks:
                pairs.update(_pairs_of(block.operations))
    return pairs


def _pairs_of(operations: Sequence[Operation]) -> dict[Operation, Operation]:
    pairs: dict[Operation, Operation] = {}
    earlier: Operation | None = None
    for operation in operations:
        if operation.name == "tt.store":
            if earlier is not None and _alike(earlier, operation):
                pairs[operation], earlier = earlier, None
            else:
                earlier = operation
        elif not operation.name.startswith(WITHOUT_MEMORY):
            earlier = None
    return pairs


def _alike(earlier: Operation, operation: Operation) -> bool:
    """Whether two stores are of blocks of one type, under one mask."""
    (_, ours, *our_mask), (_, theirs, *their_mask) = earlier.operands, operation.operands
    return isinstance(ours.type, TensorType) and (ours.type, our_mask) == (theirs.type, their_mask)
