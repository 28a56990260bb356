"""Offsets of gathers that are computed in as few bits as they fit."""

from __future__ import annotations

from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = ["ShortOffsets"]


class ShortOffsets(Elementwise):
    """Offsets in elements, none of them negative.

    Args:
        type_: shape and type of integers of 64 bits.
        offsets: what is widened to these.
        bits: in which they fit without a sign once they are in bytes.
    """

    def __init__(self, type_: TensorType, offsets: Tensor, bits: int) -> None:
        super().__init__(type_, lambda builder, each: builder.resize(each[0], "i64"), [offsets], 0)
        self._bits = bits

    def bytes_at(self, builder: Builder, point: VectorIndex, size_bytes: int) -> Val:
        """The offsets of elements of a size, in bytes and as LLVM finds that they are short."""
        short = builder.resize(self.operands[0].at(builder, point), f"i{self._bits}")
        scale = builder.splat(integer(size_bytes, short.element), point.width)
        return builder.resize(builder.mul(short, scale), "i64", signed=False)
