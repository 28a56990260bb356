"""Addresses: sums of pointers and offsets, and pointers as other types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import PointerType, TensorType, element_type
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.as_affine import as_affine
from triton_rvv.lowering.addresses.offsets import sum_of_offsets
from triton_rvv.lowering.blocks.buffer import memory_type
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.elementwise import arith
from triton_rvv.lowering.elementwise.index import add_components
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val
from triton_rvv.lowering.loops.row_offsets import listed_by_row, varying
from triton_rvv.lowering.loops.wrapping import sum_of_wrapped, widened
from triton_rvv.lowering.math.lanes import Emit

__all__ = ["HANDLERS"]


def _add_pointer(context: Context, operation: Operation) -> None:
    builder, result = context.builder, operation.result
    pointers, offsets = (context.lowered(value) for value in operation.operands)
    if isinstance(pointers, Val):
        assert isinstance(offsets, Val)
        index = builder.resize(offsets, "i64")
        context.bind(result, builder.element_pointer(_pointee(result.type), pointers, index))
        return
    type_ = operation.result.block
    context.pass_on(operation.operands[0])
    assert isinstance(offsets, Tensor)
    addresses = pointers if isinstance(pointers, Affine) else as_affine(pointers)
    if addresses is None:
        element = _pointee(type_.element)
        context.bind(result, Elementwise(type_, _mover(element), [pointers, offsets]))
        return
    parts = as_affine(offsets)
    if parts is None and not addresses.components[-1].is_zero:
        parts = listed_by_row(context, offsets)
    wide = None if parts is None else widened(context, parts)
    if wide is None:
        if varying(offsets) == {len(type_.shape) - 1}:
            addresses = _with_rows_listed(context, addresses)
        extra = sum_of_offsets([part for part in (offsets, addresses.extra) if part is not None])
        unmoved = addresses.base, addresses.components
        context.bind(result, Affine(type_, *unmoved, extra, wrapped=addresses.wrapped))
        return
    if not wide.components[-1].is_zero:
        addresses = _with_rows_listed(context, addresses)
    base = builder.element_pointer(_pointee(type_.element), addresses.base, wide.base)
    components = add_components(builder, addresses, wide)
    wrapped = sum_of_wrapped(context, addresses, wide)
    context.bind(result, Affine(type_, base, components, addresses.extra, wrapped=wrapped))


def _with_rows_listed(context: Context, addresses: Affine) -> Affine:
    """The addresses, to which columns are added, with what differs by row kept apart."""
    if addresses.extra is None:
        return addresses
    rows = listed_by_row(context, addresses.extra)
    wide = None if rows is None else widened(context, rows)
    if wide is None:
        return addresses
    components = add_components(context.builder, addresses, wide)
    wrapped = sum_of_wrapped(context, addresses, wide)
    return Affine(addresses.type, addresses.base, components, wrapped=wrapped)


def _mover(element: str) -> Emit:
    def emit(builder: Builder, values: Sequence[Val]) -> Val:
        return builder.element_pointer(element, values[0], builder.resize(values[1], "i64"))

    return emit


def _bitcast(context: Context, operation: Operation) -> None:
    """The same bits by another type; the front end makes one of every pointer to truth values."""
    result, operand = operation.result, context.lowered(operation.operands[0])
    source, target = (element_type(value.type) for value in (operation.operands[0], result))
    assert not isinstance(target, TensorType)
    if not isinstance(target, PointerType):
        element = target.llvm
        arith.combine(context, operation, lambda b, values: b.cast("bitcast", values[0], element))
        return
    if isinstance(operand, Val):
        context.bind(result, operand)
        return
    addresses, type_ = as_affine(operand), operation.result.block
    if addresses is not None and _pointee_bytes(source) == _pointee_bytes(target):
        parts = addresses.components
        same = Affine(type_, addresses.base, parts, wrapped=addresses.wrapped)
        context.bind(result, same)
    else:
        context.bind(result, Elementwise(type_, lambda _, values: values[0], [operand]))


def _pointer_cast(name: str) -> Handler:
    """An address as a number, or a number as an address."""

    def handler(context: Context, operation: Operation) -> None:
        element = element_type(operation.result.type)
        assert not isinstance(element, TensorType)
        target = element.llvm

        def emit(builder: Builder, values: Sequence[Val]) -> Val:
            return builder.cast(name, values[0], target)

        arith.combine(context, operation, emit)

    return handler


def _pointee_bytes(type_: object) -> int:
    assert isinstance(type_, PointerType)
    assert not isinstance(type_.pointee, TensorType)
    return type_.pointee.size_bytes


def _pointee(type_: object) -> str:
    assert isinstance(type_, PointerType)
    assert not isinstance(type_.pointee, TensorType)
    return memory_type(type_.pointee)


HANDLERS: Mapping[str, Handler] = {
    "tt.addptr": _add_pointer,
    "tt.bitcast": _bitcast,
    "tt.ptr_to_int": _pointer_cast("ptrtoint"),
    "tt.int_to_ptr": _pointer_cast("inttoptr"),
}
