"""Comparisons of positions, which make masks, and conjunctions of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.masks import JointComparison, Mask, Term
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.elementwise.index import or_elementwise
from triton_rvv.lowering.elementwise.quotients import low_bits
from triton_rvv.lowering.llvm.predicates import EXCHANGED, predicate_of
from triton_rvv.lowering.llvm.values import FALSE
from triton_rvv.lowering.loops.wrapping import fits_32_bits

__all__ = ["HANDLERS"]


def _compare(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    predicate = predicate_of(operation)
    if left.is_pointer or right.is_pointer:
        return None
    if left.is_uniform:
        left, right, predicate = right, left, EXCHANGED[predicate]
    varying = [axis for axis, part in enumerate(left.components) if not part.is_zero]
    if not right.is_uniform:
        return None
    type_ = operation.result.block
    if len(varying) > 1:
        if not JointComparison.is_one(context.builder, predicate, left):
            return None
        return Mask(type_, [], [JointComparison(type_, predicate, left, right.base)])
    if not varying:
        return Splat(type_, context.builder.compare(predicate, left.base, right.base))
    fits = fits_32_bits(context, left) if left.index_type == "i32" else FALSE
    return Mask(type_, [Term(varying[0], predicate, left, right.base, fits)], [])


def _and(context: Context, operation: Operation) -> None:
    operands = [context.lowered(value) for value in operation.operands]
    masks = [operand for operand in operands if isinstance(operand, Mask)]
    if not masks:
        or_elementwise(low_bits)(context, operation)
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
    context.bind(operation.result, Mask(operation.result.block, terms, others, uniform))


HANDLERS: Mapping[str, Handler] = {"arith.cmpi": or_elementwise(_compare), "arith.andi": _and}
