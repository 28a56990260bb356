"""`tl.trans` and `tl.permute`: the dimensions of a block in another order.

Where the operand is an expression of positions and of loads that have not been carried out, the
expression is permuted and nothing moves. Anything else is put into an array, which is then read in
another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import Buffer, loaded, memory_type
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.blocks.views import Broadcast
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.memory.load_recipe import Load

__all__ = ["HANDLERS", "swapped"]


_S = TypeVar("_S", Affine, Mask)


class _Permuted(Tensor):
    """An array read with its dimensions in another order.

    Args:
        type_: with dimension i of the result being dimension order[i] of the array.
        order: a permutation of its dimensions.
    """

    def __init__(self, type_: TensorType, source: Buffer, order: Sequence[int]) -> None:
        super().__init__(type_, [source])
        self.source = source
        self.order = tuple(order)

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        places = list(point.coordinates)
        for place, axis in zip(point.coordinates, self.order, strict=True):
            places[axis] = place
        source, last = self.source, self.order[-1]
        if point.width == 1 or last == len(source.shape) - 1:
            # The run has another number among the array's than among the result's.
            moved = replace(point, index=tuple(places[:-1]), start=places[-1], number=None)
            return source.at(builder, moved)
        stride = source.panel
        for size in source.shape[last + 1 : -1]:
            stride *= size
        return self._strided(builder, source.address(builder, places), stride, point.width)

    def _strided(self, builder: Builder, first: Val, stride: int, width: int) -> Val:
        element = memory_type(self.element)
        steps = builder.mul(builder.iota("i64", width), builder.splat(integer(stride), width))
        addresses = builder.element_pointer(element, first, steps)
        value = builder.gather(element, addresses, self.element.size_bytes)
        return loaded(builder, value, self.element)


def _trans(context: Context, operation: Operation) -> None:
    source, order = operation.operands[0], operation.integers("order")
    tensor = context.tensor(source)
    expression = _Expression(context.pending_loads, order)
    try:
        permuted = expression.of(tensor)
    except _NeedsArrayError:
        materialise.prepare(context, [tensor])
        array = materialise.materialise(context, tensor)
        context.bind(operation.result, _Permuted(operation.result.block, array, order))
        return
    context.pending_loads = [expression.loads.get(load, load) for load in context.pending_loads]
    context.pass_on(source)
    context.bind(operation.result, permuted)


class _NeedsArrayError(Exception):
    """Of what lies in memory, or is used elsewhere."""


class _Expression:
    """Puts the dimensions of a whole expression into another order, where that needs no array.

    Loads and sums of loads are only taken apart where nothing else uses them.

    Args:
        pending: loads that have not been carried out.

    Attributes:
        loads: what has become of each of them.
    """

    def __init__(self, pending: Sequence[Tensor], order: Sequence[int]) -> None:
        self._pending = pending
        self._order = order
        self.loads: dict[Tensor, Tensor] = {}

    def of(self, tensor: Tensor) -> Tensor:
        """The permuted expression.

        Raises:
            _NeedsArrayError: where it takes an array.
        """
        type_ = TensorType(tuple(tensor.shape[axis] for axis in self._order), tensor.element)
        if tensor.materialised is not None:
            raise _NeedsArrayError
        if isinstance(tensor, Splat):
            return Splat(type_, tensor.value)
        if isinstance(tensor, Affine):
            return self._arranged(tensor)
        if isinstance(tensor, Mask):
            return self._arranged(tensor)
        if isinstance(tensor, Broadcast) and tensor.uses <= 1:
            return Broadcast(type_, [*map(self.of, tensor.operands)])
        if isinstance(tensor, Elementwise) and tensor.uses <= 1:
            return tensor.on(type_, [*map(self.of, tensor.operands)])
        if isinstance(tensor, Load) and tensor.uses <= 1 and tensor in self._pending:
            pointers, mask = self._arranged(tensor.pointers), tensor.mask
            mask = None if mask is None else self._arranged(mask)
            other = None if tensor.other is None else self.of(tensor.other)
            self.loads[tensor] = Load(type_, pointers, mask, other, tensor.source)
            return self.loads[tensor]
        raise _NeedsArrayError

    def _arranged(self, tensor: _S) -> _S:
        shape = tuple(tensor.shape[axis] for axis in self._order)
        return tensor.rearranged(shape, self._order, self.of)


class _EvaluatedNow(_Expression):
    """Likewise, of an expression that is only read here: nothing that it loads has changed yet."""

    def of(self, tensor: Tensor) -> Tensor:
        is_same = isinstance(tensor, _Permuted) and tensor.order == tuple(self._order)
        if tensor.materialised is None and is_same:
            return tensor.operands[0]
        return super().of(tensor)


def swapped(tensor: Tensor) -> Tensor | None:
    """A block that lies by column, to be read right away with its last two dimensions exchanged.

    None for other blocks, and where that would take a copy.
    """
    leaves = list(tensor.walk())
    if not tensor.lies_by_column and not any(isinstance(leaf, _Permuted) for leaf in leaves):
        return None
    *outer, above, last = range(len(tensor.shape))
    try:
        return _EvaluatedNow(leaves, [*outer, last, above]).of(tensor)
    except _NeedsArrayError:
        return None


HANDLERS: Mapping[str, Handler] = {"tt.trans": _trans}
