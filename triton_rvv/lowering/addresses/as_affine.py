"""Takes blocks of integers and of addresses apart into a base and components."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.addresses.affine import Affine, View
from triton_rvv.lowering.addresses.components import NO_COMPONENT
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val

__all__ = ["ChosenAddresses", "as_addresses", "as_affine"]


class ChosenAddresses(Affine):
    """Addresses that no base and offsets explain, such as those chosen by a condition."""

    def __init__(self, tensor: Tensor) -> None:
        unknown = Val("ptr", "poison")
        super().__init__(tensor.type, unknown, [NO_COMPONENT] * len(tensor.shape), tensor)

    def moving(self, advance: Val) -> Affine:
        return self  # they have no base that a line further on could be reckoned from

    def rearranged(self, shape: tuple[int, ...], axes: Sequence[int | None], view: View) -> Affine:
        return ChosenAddresses(view(self.operands[0]))

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        return self.operands[0].at(builder, point)


def as_addresses(tensor: Tensor) -> Affine:
    """A block of pointers, taken apart where that is possible."""
    if isinstance(tensor, Affine):
        return tensor
    return as_affine(tensor) or ChosenAddresses(tensor)


def as_affine(tensor: Tensor | Val) -> Affine | None:
    """The tensor as base and components, where it is nothing else.

    Integers of 8 and 16 bits may wrap where their sums are widened, so they are not taken apart.
    """
    if isinstance(tensor, Affine):
        return tensor if tensor.extra is None else None
    if isinstance(tensor, Splat) and tensor.value.type in ("i32", "i64", "ptr"):
        return Affine(tensor.type, tensor.value, [NO_COMPONENT] * len(tensor.shape))
    return None
