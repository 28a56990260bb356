"""Which elements of a run are loaded or stored."""

from __future__ import annotations

from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import TRUE, Val
from triton_rvv.lowering.llvm.vp_memory import first_lanes

__all__ = ["condition_at", "first_where"]


def condition_at(builder: Builder, mask: Mask | None, point: VectorIndex) -> Val:
    """A mask at `point`, which may be left out; a scalar where it is the same for the run."""
    return TRUE if mask is None else mask.condition(builder, point)


def first_where(builder: Builder, condition: Val, lanes: Val | None, width: int) -> Val:
    """A condition, where only so many lanes are wanted."""
    if lanes is None:
        return condition
    return builder.conjunction(condition, first_lanes(builder, lanes, width))
