"""Quotients and remainders of positions, also as shifts and masks of bits."""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import NO_COMPONENT, Component, Table
from triton_rvv.lowering.addresses.div_mod import divided
from triton_rvv.lowering.addresses.div_mod_pow2 import div_mod_pow2
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.elementwise import arith
from triton_rvv.lowering.elementwise.index import or_elementwise, uniform_only
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.ttir.every_other import EVERY_OTHER
from triton_rvv.lowering.ttir.shaped_blocks import IS_RESHAPED

__all__ = ["HANDLERS", "low_bits"]


def _remainder(
    context: Context, operation: Operation, left: Affine, right: Affine
) -> Tensor | None:
    """`(base + iota) % n`: linear unless the block crosses a multiple of n.

    The values are tabulated, and only where they are not linear at run time.
    """
    if (steps := _steps(context, operation, left, right)) is not None:
        return steps
    varying = [axis for axis, part in enumerate(left.components) if not part.is_zero]
    if not right.is_uniform or len(varying) != 1 or EVERY_OTHER in operation.attributes:
        return uniform_only(context, operation, left, right)
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
    table = Table(values=values, linear=linear, start=start, step=1, bound=n, rises=rises)
    components[axis] = Component(None, ((table, integer(1, n.type)),))
    return Affine(left.type, integer(0, n.type), components)


def _quotient(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    steps = _steps(context, operation, left, right)
    return steps or uniform_only(context, operation, left, right)


def _digits(
    context: Context, operation: Operation, left: Affine, operand: Val, period: int
) -> Affine | None:
    """A quotient or remainder by a small power of two along one dimension."""
    varying = [axis for axis, part in enumerate(left.components) if not part.is_zero]
    is_followed = EVERY_OTHER not in operation.attributes
    if len(varying) != 1 or left.wrapped is not None or not is_followed:
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
    return uniform_only(context, operation, left, right)


def low_bits(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    """`at & 1`, which is a remainder without a sign."""
    mask = context.builder.intervals.number(right.base) if right.is_uniform else None
    if mask is not None and mask > 0:
        operand = integer(mask, right.base.type)
        if (found := _digits(context, operation, left, operand, mask + 1)) is not None:
            return found
    return uniform_only(context, operation, left, right)


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


HANDLERS: Mapping[str, Handler] = {
    "arith.remsi": or_elementwise(_remainder),
    "arith.divsi": or_elementwise(_quotient),
    "arith.shrsi": or_elementwise(_shift),
}
