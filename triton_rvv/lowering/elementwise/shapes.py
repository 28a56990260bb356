"""Operations that make blocks or arrange their elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType, element_type
from triton_rvv.lowering.addresses.affine import Affine, View
from triton_rvv.lowering.addresses.components import NO_COMPONENT, Component
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.blocks.views import Broadcast, ExpandDims, Reshaped
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.loops.row_offsets import listed_line

__all__ = ["HANDLERS"]


def _make_range(context: Context, operation: Operation) -> None:
    type_ = operation.result.block
    component = Component(integer(1, "i32")) if type_.shape[0] > 1 else NO_COMPONENT
    base = integer(operation.integer("start"), "i32")
    context.bind(operation.result, Affine(type_, base, [component]))


def _splat(context: Context, operation: Operation) -> None:
    context.bind(
        operation.result, Splat(operation.result.block, context.scalar(operation.operands[0]))
    )


def _expand_dims(context: Context, operation: Operation) -> None:
    type_, axis = operation.result.block, operation.integer("axis")
    tensor = context.tensor(operation.operands[0])
    axes = [*range(axis), None, *range(axis, len(tensor.shape))]

    def expanded(part: Tensor) -> Tensor:
        return ExpandDims(_shaped(type_, part), part, axis)

    is_taken_apart = not (isinstance(tensor, Mask) and tensor.operands)
    if is_taken_apart and _rearrange(context, operation, axes, expanded):
        return
    if (line := listed_line(context, tensor)) is not None:
        tensor.finish()
        context.bind(operation.result, line.rearranged(type_.shape, axes, expanded))
    else:
        context.bind(operation.result, expanded(tensor))


def _broadcast(context: Context, operation: Operation) -> None:
    type_ = operation.result.block
    tensor = context.tensor(operation.operands[0])

    def repeated(part: Tensor) -> Tensor:
        return Broadcast(_shaped(type_, part), [part])

    # A dimension of size 1 has no component, so repeating it changes nothing.
    if _rearrange(context, operation, range(len(type_.shape)), repeated):
        return
    if tensor.type.elements == 1:
        # As a scalar it can be part of an address, and what it is made from is computed once.
        context.bind(operation.result, Splat(type_, _only_element(context, tensor)))
    else:
        context.bind(operation.result, repeated(tensor))


def _rearrange(
    context: Context, operation: Operation, axes: Sequence[int | None], view: View
) -> bool:
    """Bind what keeps its form where its dimensions are arranged in another way, if it does."""
    type_, tensor = operation.result.block, context.tensor(operation.operands[0])
    if isinstance(tensor, Splat):
        context.bind(operation.result, Splat(type_, tensor.value))
        return True
    if not isinstance(tensor, Affine | Mask):
        return False
    context.pass_on(operation.operands[0])
    context.bind(operation.result, tensor.rearranged(type_.shape, axes, view))
    return True


def _unsplat(context: Context, operation: Operation) -> None:
    tensor = context.tensor(operation.operands[0])
    context.bind(operation.result, _only_element(context, tensor))


def _only_element(context: Context, tensor: Tensor) -> Val:
    materialise.prepare(context, [tensor])
    zeros = [integer(0)] * len(tensor.shape)
    return tensor.at(context.builder, VectorIndex(tuple(zeros[1:]), zeros[0], 1))


def _poison(context: Context, operation: Operation) -> None:
    """Any value at all, though the same wherever it is used."""
    type_ = operation.result.type
    element = element_type(type_)
    assert not isinstance(element, TensorType)
    anything = context.builder.emit(element.llvm, f"freeze {element.llvm} poison")
    block = Splat(type_, anything) if isinstance(type_, TensorType) else anything
    context.bind(operation.result, block)


def _reshape(context: Context, operation: Operation) -> None:
    type_ = operation.result.block
    tensor = context.tensor(operation.operands[0])
    if tensor.shape == type_.shape:
        tensor.uses -= 1  # the result's uses are the operand's
        context.bind(operation.result, tensor)
        return
    if isinstance(tensor, Splat):
        context.bind(operation.result, Splat(type_, tensor.value))
    elif isinstance(tensor, Affine) and (affine := _reshaped_affine(tensor, type_)):
        context.pass_on(operation.operands[0])
        context.bind(operation.result, affine)
    elif tensor.spans_rows or type_.shape[-1] <= tensor.shape[-1]:
        context.bind(operation.result, Reshaped(type_, tensor))
    else:
        materialise.prepare(context, [tensor])
        context.bind(operation.result, Reshaped(type_, materialise.row_major(context, tensor)))


def _reshaped_affine(tensor: Affine, type_: TensorType) -> Affine | None:
    """The same integers or addresses where each dimension still has one stride.

    Every size is a power of two. Taken bit by bit, a position in a dimension of stride s counts
    s, 2 s, 4 s, ... elements; a new dimension takes the next bits of that list.
    """
    bits: list[int] = []
    for part, size in zip(reversed(tensor.components), reversed(tensor.shape), strict=True):
        stride = 0 if part.stride is None else part.stride.constant
        if stride is None or not part.has_rule:
            return None
        bits += [stride << place for place in range(size.bit_length() - 1)]
    components = []
    for size in reversed(type_.shape):
        count = size.bit_length() - 1
        own, bits = bits[:count], bits[count:]
        if any(own[place] != own[0] << place for place in range(count)):
            return None
        stride = own[0] if own else 0
        zero = stride == 0
        components.append(NO_COMPONENT if zero else Component(integer(stride, tensor.index_type)))
    if tensor.extra is not None or tensor.wrapped is not None:
        return None
    return Affine(type_, tensor.base, components[::-1])


def _shaped(like: TensorType, tensor: Tensor) -> TensorType:
    return TensorType(like.shape, tensor.element)


HANDLERS: Mapping[str, Handler] = {
    "tt.make_range": _make_range,
    "tt.splat": _splat,
    "tt.expand_dims": _expand_dims,
    "tt.broadcast": _broadcast,
    "tt.reshape": _reshape,
    "tt.unsplat": _unsplat,
    "ub.poison": _poison,
}
