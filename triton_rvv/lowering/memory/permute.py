"""`tl.trans` and `tl.permute`: the dimensions of a block in another order.

Where the operand is an expression of positions and of loads that have not been carried out, the
expression is permuted and nothing moves. Anything else is put into an array, which is then read in
another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.memory_format import loaded, memory_type
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.blocks.views import Broadcast
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.memory.load_recipe import Load

__all__ = ["HANDLERS", "swapped"]


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
    permuted = expression.of(tensor)
    if permuted is None:
        materialise.prepare(context, [tensor])
        array = materialise.materialise(context, tensor)
        context.bind(operation.result, _Permuted(operation.result.block, array, order))
        return
    context.pending_loads = [expression.loads.get(load, load) for load in context.pending_loads]
    context.pass_on(source)
    context.bind(operation.result, permuted)


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

    def of(self, tensor: Tensor) -> Tensor | None:
        """The permuted expression, or None where an array is needed."""
        if tensor.materialised is not None:
            return None
        if isinstance(tensor, Splat):
            return Splat(self._type(tensor), tensor.value)
        if isinstance(tensor, Affine):
            return self._affine(tensor)
        if isinstance(tensor, Mask):
            return self._mask(tensor)
        if isinstance(tensor, Broadcast) and tensor.uses <= 1:
            operands = self._all(tensor.operands)
            return None if operands is None else Broadcast(self._type(tensor), operands)
        if isinstance(tensor, Elementwise) and tensor.uses <= 1:
            operands = self._all(tensor.operands)
            return None if operands is None else tensor.on(self._type(tensor), operands)
        if isinstance(tensor, Load) and tensor.uses <= 1 and tensor in self._pending:
            return self._load(tensor)
        return None

    def _type(self, tensor: Tensor) -> TensorType:
        return TensorType(tuple(tensor.shape[axis] for axis in self._order), tensor.element)

    def _affine(self, tensor: Affine) -> Affine | None:
        if tensor.extra is not None:
            return None
        components = [tensor.components[axis] for axis in self._order]
        wrapped = tensor.wrapped
        if wrapped is not None:
            offsets = self.of(wrapped.offsets)
            if offsets is None:
                return None
            wrapped = replace(wrapped, offsets=offsets)
        return Affine(self._type(tensor), tensor.base, components, None, tensor.advance, wrapped)

    def _mask(self, tensor: Mask) -> Mask | None:
        terms = []
        for term in tensor.terms:
            left = self._affine(term.left)
            if left is None:
                return None
            terms.append(replace(term, axis=self._order.index(term.axis), left=left))
        others = self._all(tensor.operands)
        return None if others is None else Mask(self._type(tensor), terms, others, tensor.uniform)

    def _load(self, load: Load) -> Tensor | None:
        pointers = self._affine(load.pointers)
        optional = self._all([part for part in (load.mask, load.other) if part is not None])
        if pointers is None or optional is None:
            return None
        mask = optional[0] if load.mask is not None else None
        assert mask is None or isinstance(mask, Mask)
        other = optional[-1] if load.other is not None else None
        permuted = Load(self._type(load), pointers, mask, other, load.source)
        self.loads[load] = permuted
        return permuted

    def _all(self, tensors: Sequence[Tensor]) -> list[Tensor] | None:
        permuted = [self.of(tensor) for tensor in tensors]
        found = [tensor for tensor in permuted if tensor is not None]
        return found if len(found) == len(permuted) else None


class _EvaluatedNow(_Expression):
    """Likewise, of an expression that is only read here: nothing that it loads has changed yet."""

    def of(self, tensor: Tensor) -> Tensor | None:
        if tensor.materialised is None and isinstance(tensor, _Permuted):
            return tensor.source if tensor.order == tuple(self._order) else None
        return super().of(tensor)


def swapped(tensor: Tensor) -> Tensor | None:
    """A block that lies by column, to be read right away with its last two dimensions exchanged.

    None for other blocks, and where that would take a copy.
    """
    leaves = list(tensor.walk())
    if not tensor.lies_by_column and not any(isinstance(leaf, _Permuted) for leaf in leaves):
        return None
    *outer, above, last = range(len(tensor.shape))
    return _EvaluatedNow(leaves, [*outer, last, above]).of(tensor)


HANDLERS: Mapping[str, Handler] = {"tt.trans": _trans}
