"""Operations that make blocks or arrange their elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from triton_rvv.lowering import sinks
from triton_rvv.lowering.affine import NO_COMPONENT, Affine, Component, Mask, Term
from triton_rvv.lowering.builder import integer
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.registry import Handler, block_type
from triton_rvv.lowering.tensors import (
    Broadcast,
    Buffer,
    Elementwise,
    ExpandDims,
    Splat,
    Tensor,
)
from triton_rvv.ttir import Operation
from triton_rvv.types import TensorType

__all__ = ["HANDLERS"]


def _make_range(context: Context, operation: Operation) -> None:
    type_ = block_type(operation)
    component = Component(integer(1, "i32")) if type_.shape[0] > 1 else NO_COMPONENT
    base = integer(operation.integer("start"), "i32")
    context.bind(operation.result, Affine(type_, base, [component]))


def _splat(context: Context, operation: Operation) -> None:
    context.bind(
        operation.result, Splat(block_type(operation), context.scalar(operation.operands[0]))
    )


def _expand_dims(context: Context, operation: Operation) -> None:
    type_, axis = block_type(operation), operation.integer("axis")
    tensor = context.tensor(operation.operands[0])
    if isinstance(tensor, Splat):
        context.bind(operation.result, Splat(type_, tensor.value))
    elif isinstance(tensor, Affine):
        context.pass_on(operation.operands[0])
        context.bind(operation.result, _expand_affine(tensor, type_, axis))
    elif isinstance(tensor, Mask) and not tensor.operands:
        terms = [_expand_term(term, type_, axis) for term in tensor.terms]
        context.bind(operation.result, Mask(type_, terms, []))
    else:
        context.bind(operation.result, ExpandDims(type_, tensor, axis))


def _expand_affine(tensor: Affine, type_: TensorType, axis: int) -> Affine:
    components = list(tensor.components)
    components.insert(axis, NO_COMPONENT)
    extra = tensor.extra and ExpandDims(_shaped(type_, tensor.extra), tensor.extra, axis)
    return Affine(_shaped(type_, tensor), tensor.base, components, extra)


def _expand_term(term: Term, type_: TensorType, axis: int) -> Term:
    moved = term.axis + (axis <= term.axis)
    return replace(term, axis=moved, left=_expand_affine(term.left, type_, axis))


def _broadcast(context: Context, operation: Operation) -> None:
    type_ = block_type(operation)
    tensor = context.tensor(operation.operands[0])
    if isinstance(tensor, Splat):
        context.bind(operation.result, Splat(type_, tensor.value))
    elif isinstance(tensor, Affine):
        context.pass_on(operation.operands[0])
        context.bind(operation.result, _broadcast_affine(tensor, type_))
    elif isinstance(tensor, Mask):
        context.pass_on(operation.operands[0])
        terms = [replace(term, left=_broadcast_affine(term.left, type_)) for term in tensor.terms]
        others = [Broadcast(type_, [other]) for other in tensor.operands]
        context.bind(operation.result, Mask(type_, terms, others))
    else:
        context.bind(operation.result, Broadcast(type_, [tensor]))


def _broadcast_affine(tensor: Affine, type_: TensorType) -> Affine:
    # A dimension of size 1 has no component, so repeating it changes nothing.
    extra = tensor.extra and Broadcast(_shaped(type_, tensor.extra), [tensor.extra])
    return Affine(_shaped(type_, tensor), tensor.base, tensor.components, extra)


def _reshape(context: Context, operation: Operation) -> None:
    type_ = block_type(operation)
    tensor = context.tensor(operation.operands[0])
    if tensor.shape == type_.shape:
        context.bind(operation.result, tensor)
        return
    # In row-major order, that is with panels as wide as a row, both blocks are one array.
    sinks.prepare(context, [tensor])
    array = context.buffer(tensor.type).pointer
    sinks.copy(context, tensor, Buffer(tensor.type, array, tensor.shape[-1]))
    rows = Buffer(type_, array, type_.shape[-1])
    context.bind(operation.result, Elementwise(type_, lambda _, values: values[0], [rows]))


def _shaped(like: TensorType, tensor: Tensor) -> TensorType:
    return TensorType(like.shape, tensor.element)


HANDLERS: Mapping[str, Handler] = {
    "tt.make_range": _make_range,
    "tt.splat": _splat,
    "tt.expand_dims": _expand_dims,
    "tt.broadcast": _broadcast,
    "tt.reshape": _reshape,
}
