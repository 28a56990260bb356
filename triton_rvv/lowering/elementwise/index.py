"""Sums and products of positions that keep the dimensions of a block apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.as_affine import as_affine
from triton_rvv.lowering.addresses.chosen_lines import Condition, chosen_line
from triton_rvv.lowering.addresses.clamped import clamped
from triton_rvv.lowering.addresses.components import Component
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.elementwise import arith
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.predicates import EXCHANGED, predicate_of
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops.row_offsets import listed_by_row
from triton_rvv.lowering.loops.wrapping import scaled_wrapped, sum_of_wrapped, widened
from triton_rvv.lowering.ttir.column_limits import IS_COLUMN

__all__ = ["HANDLERS", "add_components", "or_elementwise", "uniform_only"]


def or_elementwise(
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


def uniform_only(
    context: Context, operation: Operation, left: Affine, right: Affine
) -> Tensor | None:
    """Blocks of one value stay scalars: the operation is done once."""
    if not (left.is_uniform and right.is_uniform):
        return None
    emit, _ = arith.EMITTERS[operation.name]
    return Splat(operation.result.block, emit(context.builder, [left.base, right.base]))


def add_components(builder: Builder, left: Affine, right: Affine) -> list[Component]:
    """The components of a sum, dimension by dimension."""
    return [_plus(builder, *pair) for pair in zip(left.components, right.components, strict=True)]


def _plus(builder: Builder, left: Component, right: Component) -> Component:
    if left.is_zero or right.is_zero:
        return right if left.is_zero else left
    strides = [part.stride for part in (left, right) if part.stride is not None]
    stride = builder.add(*strides) if len(strides) == 2 else next(iter(strides), None)
    listed, granular = left.listed + right.listed, left.granular + right.granular
    return Component(stride, left.tables + right.tables, listed, granular)


def _with_rows(
    attempt: Callable[[Context, Operation, Affine, Affine], Affine],
) -> Handler:
    """A handler for sums of columns and of what differs from row to row by no rule.

    They are kept apart.
    """

    def handler(context: Context, operation: Operation) -> None:
        lowered = [context.lowered(value) for value in operation.operands]
        affine = [as_affine(operand) for operand in lowered]
        for place, other in enumerate(lowered):
            known = affine[1 - place]
            if known is None or affine[place] is not None or known.components[-1].is_zero:
                continue
            assert isinstance(other, Tensor)
            if (listed := listed_by_row(context, other)) is not None:
                pair = (listed, known) if place == 0 else (known, listed)
                context.bind(operation.result, attempt(context, operation, *pair))
                return
        or_elementwise(attempt)(context, operation)

    return handler


def _add(context: Context, operation: Operation, left: Affine, right: Affine) -> Affine:
    base = context.builder.add(left.base, right.base)
    components = add_components(context.builder, left, right)
    wrapped = sum_of_wrapped(context, left, right)
    return Affine(operation.result.block, base, components, wrapped=wrapped)


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


def _limit(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    """`tl.maximum(at - 1, 0)`: linear where the limit is not reached."""
    block, limit = (right, left) if left.is_uniform else (left, right)
    if block.is_uniform or IS_COLUMN not in operation.attributes or not limit.is_uniform:
        return uniform_only(context, operation, left, right)
    is_lower = operation.name == "arith.maxsi"
    return clamped(context.builder, block, limit.base, *arith.EMITTERS[operation.name], is_lower)


def _absolute(context: Context, operation: Operation, block: Affine, _: Affine) -> Tensor | None:
    """`tl.abs(at)`: linear where no integer is below 0."""
    if IS_COLUMN not in operation.attributes or block.is_uniform:
        return None
    emit, cost = arith.EMITTERS[operation.name]
    negative = _scale(context.builder, block, integer(-1, block.base.type))
    condition = Condition(block, "sge", integer(0))

    def absolute(builder: Builder, values: Sequence[Val]) -> Val:
        return emit(builder, values[:1])

    return chosen_line(context.builder, condition, (block, negative), absolute, cost)


def _choose(context: Context, operation: Operation) -> None:
    """`tl.where(at < n, at, 2 * n - 2 - at)`: linear where all are on one side."""
    chosen = _chosen_by_line(context, operation) if IS_COLUMN in operation.attributes else None
    if chosen is None:
        arith.HANDLERS[operation.name](context, operation)
    else:
        context.bind(operation.result, chosen)


# A condition in place of each comparison with a limit: how it compares, and with how much more.
_CONDITIONS: Mapping[str, tuple[Literal["sle", "sge", "ne"], int]] = {
    "slt": ("sle", -1),
    "sle": ("sle", 0),
    "sgt": ("sge", 1),
    "sge": ("sge", 0),
    "ne": ("ne", 0),
}


def _chosen_by_line(context: Context, operation: Operation) -> Affine | None:
    builder, (condition, *values) = context.builder, operation.operands
    comparison = context.kernel.makers.get(condition)
    if comparison is None or comparison.name != "arith.cmpi":
        return None
    blocks = [as_affine(context.lowered(each)) for each in (*values, *comparison.operands)]
    known = [each for each in blocks if each is not None]
    if len(known) < len(blocks):
        return None
    kept, other, line, most = known
    predicate = predicate_of(comparison)
    if line.is_uniform:
        line, most, predicate = most, line, EXCHANGED[predicate]
    if predicate == "eq":
        kept, other, predicate = other, kept, "ne"
    if predicate not in _CONDITIONS or line.is_uniform or not most.is_uniform:
        return None

    def emit(builder: Builder, lines: Sequence[Val]) -> Val:
        compared, first, second = lines
        limits = builder.splat(most.base, compared.width)
        return builder.select(builder.compare(predicate, compared, limits), first, second)

    name, more = _CONDITIONS[predicate]
    limit = builder.add(builder.resize(most.base, "i64"), integer(more))
    return chosen_line(builder, Condition(line, name, limit), (kept, other), emit, 2)


def _extend(context: Context, operation: Operation, operand: Affine, _: Affine) -> Affine | None:
    """Sign extension part by part, where that is right or can be."""
    if operand.base.type not in ("i32", "i64"):
        return None
    return widened(context, operand)


HANDLERS: Mapping[str, Handler] = {
    "arith.addi": _with_rows(_add),
    "arith.subi": _with_rows(_subtract),
    "arith.muli": or_elementwise(_multiply),
    "arith.minsi": or_elementwise(_limit),
    "arith.maxsi": or_elementwise(_limit),
    "math.absi": or_elementwise(_absolute),
    "arith.select": _choose,
    "arith.extsi": or_elementwise(_extend),
}
