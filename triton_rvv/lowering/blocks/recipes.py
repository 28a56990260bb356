"""Recipes for blocks of one scalar, and for functions of the elements at the same place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from triton_rvv.frontend.types import PointerType, ScalarType, TensorType
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import Extents, LoopVersion, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val

__all__ = ["Elementwise", "Splat", "guards_of_all"]


class Splat(Tensor):
    """One scalar in every element."""

    own_stays_in_place = True
    own_spans_rows = True

    def __init__(self, type_: TensorType, value: Val) -> None:
        super().__init__(type_)
        self.value = value

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        return builder.splat(self.value, point.width)

    def is_one_number(self, version: LoopVersion) -> bool:
        return True

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        return []

    def own_bits(self) -> int:
        # A scalar takes no vector register in most instructions.
        return 8


class Elementwise(Tensor):
    """A function of the operands' elements at the same place.

    Args:
        keeps_zero: whether it makes 0 of zeros.
    """

    own_stays_in_place = True
    own_spans_rows = True

    def __init__(
        self,
        type_: TensorType,
        emit: Callable[[Builder, Sequence[Val]], Val],
        operands: Sequence[Tensor],
        cost: int = 1,
        keeps_zero: bool = False,
    ) -> None:
        super().__init__(type_, operands, cost)
        self._own_cost = cost
        self._emit = emit
        self._keeps_zero = keeps_zero

    def on(self, type_: TensorType, operands: Sequence[Tensor]) -> Elementwise:
        """The same function of other operands."""
        return Elementwise(type_, self._emit, operands, self._own_cost, self._keeps_zero)

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        values = [operand.at(builder, point) for operand in self.operands]
        numbers = [builder.repeated(value) for value in values]
        if numbers and all(numbers):
            # One number for all lanes is computed once.
            return builder.splat(self._emit(builder, [n for n in numbers if n]), point.width)
        return self._emit(builder, values)

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        return guards_of_all(builder, self.operands, extents)

    def is_one_number(self, version: LoopVersion) -> bool:
        is_computed = self.materialised is None and bool(self.operands)
        return is_computed and all(operand.is_one_number(version) for operand in self.operands)

    def zero_from(self, builder: Builder, axis: int) -> Val | None:
        return self._recipe[0][0].zero_from(builder, axis) if self._keeps_zero else None

    def own_bits(self) -> int:
        # Floats that are kept as bits are computed with in float32.
        around = (self, *self.operands)
        wide = 32 if any(_is_kept_as_bits(tensor.element) for tensor in around) else 8
        return max(self.element.bits, wide)


def guards_of_all(
    builder: Builder, tensors: Iterable[Tensor], extents: Extents
) -> list[Val] | None:
    """The guards of several recipes of one shape, where all of them have such."""
    return _guards_of_others(builder, tensors, extents, set())


def _guards_of_others(
    builder: Builder, tensors: Iterable[Tensor], extents: Extents, seen: set[Tensor]
) -> list[Val] | None:
    """The guards of those recipes that were not seen; one may be an operand of many."""
    total: list[Val] = []
    for tensor in tensors:
        if tensor.materialised or tensor in seen:
            continue
        seen.add(tensor)
        if isinstance(tensor, Elementwise):
            guards = _guards_of_others(builder, tensor.operands, extents, seen)
        else:
            guards = tensor.guards_within(builder, extents)
        if guards is None:
            return None
        total += guards
    return total


def _is_kept_as_bits(element: ScalarType | PointerType) -> bool:
    return isinstance(element, ScalarType) and element.is_kept_as_bits
