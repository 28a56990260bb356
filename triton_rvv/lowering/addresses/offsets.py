"""Offsets of addresses, which have 64 bits."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val

__all__ = ["sum_of_offsets"]


def sum_of_offsets(parts: Sequence[Tensor]) -> Tensor:
    """Blocks of signed integers added up, with 64 bits.

    They are parts of addresses, which are seldom computed: to add them costs nothing.
    """
    type_ = TensorType(parts[0].shape, ScalarType("i64"))
    if len(parts) == 1 and parts[0].type == type_:
        return parts[0]

    def add(builder: Builder, values: Sequence[Val]) -> Val:
        total = builder.resize(values[0], "i64")
        for value in values[1:]:
            total = builder.add(total, builder.resize(value, "i64"))
        return total

    return Elementwise(type_, add, parts, cost=0)
