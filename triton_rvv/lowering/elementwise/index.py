"""Integer and address arithmetic that keeps the dimensions of a block apart."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import PointerType, TensorType, element_type
from triton_rvv.lowering.addresses.affine import Affine, as_affine, sum_of_offsets
from triton_rvv.lowering.addresses.clamped import clamped
from triton_rvv.lowering.addresses.components import NO_COMPONENT, Component, Table
from triton_rvv.lowering.addresses.div_mod import divided
from triton_rvv.lowering.addresses.div_mod_pow2 import div_mod_pow2
from triton_rvv.lowering.addresses.masks import JointComparison, Mask, Term
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.memory_format import memory_type
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.registry import Handler, block_type
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.elementwise import arith
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.predicates import CMPI_PREDICATES
from triton_rvv.lowering.llvm.values import FALSE, Val, integer
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.loops.row_offsets import listed_by_row, varying
from triton_rvv.lowering.loops.wrapping import fits_32_bits, scaled_wrapped, sum_of_wrapped, widened
from triton_rvv.lowering.math.lanes import Emit
from triton_rvv.lowering.ttir.column_limits import IS_COLUMN
from triton_rvv.lowering.ttir.shaped_blocks import IS_RESHAPED

__all__ = ["HANDLERS"]


def _or_elementwise(
    attempt: Callable[[Context, Operation, Affine, Affine], Tensor | None],
) -> Handler:
    """A handler that keeps an affine result where it can, and computes element-wise elsewhere."""

    def handler(context: Context, operation: Operation) -> None:
        operands = [as_affine(context.lowered(value)) for value in operation.operands]
        left, right = operands if len(operands) == 2 else (operands[0], operands[0])
        if left is not None and right is not None:
            result = attempt(context, operation, left, right)
            if result is not None:
                context.bind(operation.result, result)
                return
        arith.HANDLERS[operation.name](context, operation)

    return handler


def _add_rows(context: Context, operation: Operation) -> None:
    """A sum of columns and of what differs from row to row by no rule keeps them apart."""
    lowered = [context.lowered(value) for value in operation.operands]
    affine = [as_affine(operand) for operand in lowered]
    for columns, rows in (affine, lowered), (affine[::-1], lowered[::-1]):
        known, other = columns[0], rows[1]
        if known is None or columns[1] is not None or known.components[-1].is_zero:
            continue
        assert isinstance(other, Tensor)
        if (listed := listed_by_row(context, other)) is not None:
            context.bind(operation.result, _add(context, operation, known, listed))
            return
    _or_elementwise(_add)(context, operation)


def _add(context: Context, operation: Operation, left: Affine, right: Affine) -> Affine:
    base = context.builder.add(left.base, right.base)
    components = _add_components(context.builder, left, right)
    wrapped = sum_of_wrapped(context, left, right)
    return Affine(block_type(operation), base, components, wrapped=wrapped)


def _add_components(builder: Builder, left: Affine, right: Affine) -> list[Component]:
    """The components of a sum, dimension by dimension."""
    return [_plus(builder, *pair) for pair in zip(left.components, right.components, strict=True)]


def _plus(builder: Builder, left: Component, right: Component) -> Component:
    if left.is_zero or right.is_zero:
        return right if left.is_zero else left
    strides = [part.stride for part in (left, right) if part.stride is not None]
    stride = builder.add(*strides) if len(strides) == 2 else next(iter(strides), None)
    return Component(stride, left.tables + right.tables, left.listed + right.listed)


def _subtract(context: Context, operation: Operation, left: Affine, right: Affine) -> Affine:
    minus_one = integer(-1, right.base.type)
    return _add(context, operation, left, _scale(context.builder, right, minus_one))


def _multiply(context: Context, operation: Operation, left: Affine, right: Affine) -> Affine | None:
    if not (left.is_uniform or right.is_uniform):
        return None
    tensor, factor = (left, right.base) if right.is_uniform else (right, left.base)
    return _scale(context.builder, tensor, factor)


def _scale(builder: Builder, tensor: Affine, factor: Val) -> Affine:
    components = [
        part.map(lambda number: builder.mul(number, factor)) for part in tensor.components
    ]
    base, wrapped = builder.mul(tensor.base, factor), scaled_wrapped(tensor, factor)
    return Affine(tensor.type, base, components, wrapped=wrapped)


def _uniform_only(
    context: Context, operation: Operation, left: Affine, right: Affine
) -> Tensor | None:
    """Blocks of one value stay scalars: the operation is done once."""
    if not (left.is_uniform and right.is_uniform):
        return None
    emit, _ = arith.EMITTERS[operation.name]
    return Splat(block_type(operation), emit(context.builder, [left.base, right.base]))


def _remainder(
    context: Context, operation: Operation, left: Affine, right: Affine
) -> Tensor | None:
    """`(base + iota) % n`: linear unless the block crosses a multiple of n.

    The values are tabulated, and only where they are not linear at run time.
    """
    if (steps := _steps(context, operation, left, right)) is not None:
        return steps
    varying = [axis for axis, part in enumerate(left.components) if not part.is_zero]
    if not right.is_uniform or len(varying) != 1:
        return _uniform_only(context, operation, left, right)
    axis = varying[0]
    part = left.components[axis]
    is_run = part.has_rule and part.stride is not None and part.stride.constant == 1
    if not is_run or left.wrapped is not None:
        return None
    builder, n, size = context.builder, right.base, left.shape[axis]
    emit, cost = arith.EMITTERS[operation.name]
    start = emit(builder, [left.base, n])
    # One comparison without a sign: the first is no less than 0, and the last has not wrapped.
    largest = (1 << int(n.type[1:]) - 1) - size
    rises = builder.compare("ule", left.base, integer(largest, n.type))
    room = builder.intrinsic("llvm.ssub.sat", [n, integer(size, n.type)])
    linear = builder.conjunction(rises, builder.compare("sle", start, room))
    flat = TensorType((size,), left.element)
    values = context.buffer(flat)
    row = Elementwise(flat, emit, [Affine(flat, left.base, [part]), Splat(flat, n)], cost)
    builder.branches(linear, lambda: None, lambda: materialise.copy(context, row, values))
    components = [NO_COMPONENT] * len(left.shape)
    table = Table(values, linear, start, n, rises)
    components[axis] = Component(None, ((table, integer(1, n.type)),))
    return Affine(left.type, integer(0, n.type), components)


def _quotient(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    steps = _steps(context, operation, left, right)
    return steps or _uniform_only(context, operation, left, right)


def _digits(
    context: Context, operation: Operation, left: Affine, operand: Val, period: int
) -> Affine | None:
    """A quotient or remainder by a small power of two along one dimension."""
    varying = [axis for axis, part in enumerate(left.components) if not part.is_zero]
    if len(varying) != 1 or left.wrapped is not None:
        return None
    axis, emitter = varying[0], arith.EMITTERS[operation.name]
    flat = TensorType((left.shape[axis],), left.element)
    line = Affine(flat, left.base, [left.components[axis]])
    values = Elementwise(flat, emitter[0], [line, Splat(flat, operand)], emitter[1])
    is_quotient = operation.name in ("arith.divsi", "arith.shrsi")
    found = div_mod_pow2(context.builder, line, period, values, is_quotient)
    if found is None:
        return None
    components = [NO_COMPONENT] * len(left.shape)
    components[axis] = Component(None, ((found, integer(1, operand.type)),))
    return Affine(left.type, integer(0, operand.type), components)


def _shift(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    """`at >> 1`, which is a quotient rounded down."""
    count = context.builder.intervals.number(right.base) if right.is_uniform else None
    if count is not None and 0 < count < left.element.bits:
        operand = integer(count, right.base.type)
        if (found := _digits(context, operation, left, operand, 1 << count)) is not None:
            return found
    return _uniform_only(context, operation, left, right)


def _low_bits(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    """`at & 1`, which is a remainder without a sign."""
    mask = context.builder.intervals.number(right.base) if right.is_uniform else None
    if mask is not None and mask > 0:
        operand = integer(mask, right.base.type)
        if (found := _digits(context, operation, left, operand, mask + 1)) is not None:
            return found
    return _uniform_only(context, operation, left, right)


def _limit(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    """`tl.maximum(at - 1, 0)`: linear where the limit is not reached."""
    block, limit = (right, left) if left.is_uniform else (left, right)
    if block.is_uniform or IS_COLUMN not in operation.attributes or not limit.is_uniform:
        return _uniform_only(context, operation, left, right)
    is_lower = operation.name == "arith.maxsi"
    return clamped(context.builder, block, limit.base, *arith.EMITTERS[operation.name], is_lower)


def _steps(context: Context, operation: Operation, left: Affine, right: Affine) -> Affine | None:
    """A quotient or remainder of a line by a scalar; only of lines that are not put into blocks.

    Those that are, such as the columns of a matrix, are asked for again for every row.
    """
    known = context.builder.intervals.number(right.base) if right.is_uniform else None
    # By a constant, LLVM multiplies and shifts.
    divisor = right.base if known is None else integer(known, right.base.type)
    found = None if known is None else _digits(context, operation, left, divisor, known)
    if found is not None:
        return found
    is_line = len(left.shape) == 1 and not left.components[0].is_zero and right.is_uniform
    if not is_line or IS_RESHAPED in operation.attributes:
        return None
    emit, cost = arith.EMITTERS[operation.name]
    is_quotient = operation.name == "arith.divsi"
    return divided(context, left, divisor, emit, cost, is_quotient)


def _extend(context: Context, operation: Operation, operand: Affine, _: Affine) -> Affine | None:
    """Sign extension part by part, where that is right or can be."""
    if operand.base.type not in ("i32", "i64"):
        return None
    return widened(context, operand)


def _add_pointer(context: Context, operation: Operation) -> None:
    builder, result = context.builder, operation.result
    pointers, offsets = (context.lowered(value) for value in operation.operands)
    if isinstance(pointers, Val):
        assert isinstance(offsets, Val)
        index = builder.resize(offsets, "i64")
        context.bind(result, builder.element_pointer(_pointee(result.type), pointers, index))
        return
    type_ = block_type(operation)
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
    components = _add_components(builder, addresses, wide)
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
    components = _add_components(context.builder, addresses, wide)
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
    addresses, type_ = as_affine(operand), block_type(operation)
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


# -- masks -------------------------------------------------------------------------------------

_MIRRORED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle", "eq": "eq", "ne": "ne"}
_MIRRORED |= {"ult": "ugt", "ule": "uge", "ugt": "ult", "uge": "ule"}


def _compare(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    predicate = CMPI_PREDICATES[operation.integer("predicate")]
    if left.is_pointer or right.is_pointer:
        return None
    if left.is_uniform:
        left, right, predicate = right, left, _MIRRORED[predicate]
    varying = [axis for axis, part in enumerate(left.components) if not part.is_zero]
    if not right.is_uniform:
        return None
    type_ = block_type(operation)
    if len(varying) > 1:
        if not JointComparison.is_one(predicate, left):
            return None
        return Mask(type_, [], [JointComparison(type_, predicate, left, right.base)])
    if not varying:
        return Splat(type_, context.builder.compare(predicate, left.base, right.base))
    fits = fits_32_bits(context, left) if left.index_type == "i32" else FALSE
    axis = varying[0]
    alike: set[object] = context.once(("compared", axis, left.shape, left.components[axis]), set)
    alike.add((left.base.ref, predicate, right.base.ref))
    return Mask(type_, [Term(axis, predicate, left, right.base, fits, alike)], [])


def _and(context: Context, operation: Operation) -> None:
    operands = [context.lowered(value) for value in operation.operands]
    masks = [operand for operand in operands if isinstance(operand, Mask)]
    if not masks:
        _or_elementwise(_low_bits)(context, operation)
        return
    for value in operation.operands:
        if isinstance(context.lowered(value), Mask):
            context.pass_on(value)
    terms = [term for mask in masks for term in mask.terms]
    others = [other for mask in masks for other in mask.operands]
    uniform = functools.reduce(context.builder.conjunction, [mask.uniform for mask in masks])
    for operand in operands:
        if isinstance(operand, Splat):
            uniform = context.builder.conjunction(uniform, operand.value)
        elif isinstance(operand, Tensor) and operand not in masks:
            others.append(operand)
    context.bind(operation.result, Mask(block_type(operation), terms, others, uniform))


HANDLERS: Mapping[str, Handler] = {
    "tt.addptr": _add_pointer,
    "tt.bitcast": _bitcast,
    "tt.ptr_to_int": _pointer_cast("ptrtoint"),
    "tt.int_to_ptr": _pointer_cast("inttoptr"),
    "arith.addi": _add_rows,
    "arith.subi": _or_elementwise(_subtract),
    "arith.muli": _or_elementwise(_multiply),
    "arith.remsi": _or_elementwise(_remainder),
    "arith.divsi": _or_elementwise(_quotient),
    "arith.shrsi": _or_elementwise(_shift),
    "arith.minsi": _or_elementwise(_limit),
    "arith.maxsi": _or_elementwise(_limit),
    "arith.extsi": _or_elementwise(_extend),
    "arith.cmpi": _or_elementwise(_compare),
    "arith.andi": _and,
}
