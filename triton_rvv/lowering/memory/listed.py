"""Loads of blocks whose rows or columns lie where no rule puts them, as those of a convolution do.

    at = n[:, None] * size + (y * width + x)[:, None] + channel[None, :]
    load(x_ptr + at, mask=((y >= 0) & (y < height))[:, None] & (channel < channels)[None, :])

Before the block is loaded, the offsets of each such dimension become one list, and so do the
conditions that differ along it alone: each is computed once, and not for every element.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import Component, Listed, Lookup, positions
from triton_rvv.lowering.addresses.masks import Mask, Term
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import rule
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.loops.row_offsets import line_of, varying

__all__ = ["with_lists"]

_ANY_NUMBER = integer((1 << 63) - 1)


@rule("join-lists", lambda _, pointers, mask: (pointers, mask))
def with_lists(context: Context, pointers: Affine, mask: Mask | None) -> tuple[Affine, Mask | None]:
    """Addresses and mask of a block with no more than one list of each for a dimension.

    The same where no dimension is listed, and in kernels without products, where a block has few
    rows.
    """
    if not context.has_products or len(pointers.shape) < 2:
        return pointers, mask
    if any(part.listed for part in pointers.components):
        components = [
            _one_list(context, part, size)
            for part, size in zip(pointers.components, pointers.shape, strict=True)
        ]
        pointers = Affine(
            pointers.type,
            pointers.base,
            components,
            pointers.extra,
            pointers.advance,
            pointers.wrapped,
        )
    if mask is not None:
        for axis, size in enumerate(mask.shape):
            if size > 1:
                mask = _one_condition(context, mask, axis)
    return pointers, mask


def _one_list(context: Context, part: Component, size: int) -> Component:
    """The same offsets, of a dimension of a block of addresses, in one list."""
    if not part.listed or (part.stride is None and _is_one_list(part.looked_up)):
        return part
    line = TensorType((size,), ScalarType("i64"))
    values = context.buffer(line)

    def total(builder: Builder, point: VectorIndex) -> Val:
        place = positions(builder, point, "i64")
        stride = part.stride or integer(0)
        value = builder.mul(place, builder.splat(stride, point.width))
        for listed, scale in part.looked_up:
            run = builder.resize(listed.at(builder, point.start, point.width), "i64")
            value = builder.add(value, builder.mul(run, builder.splat(scale, point.width)))
        return value

    width = min(size, context.run_lanes(64))
    for start in index_loops.steps(context, size, width, unrolled=False):
        point = VectorIndex((), start, width)
        values.write(context.builder, point, total(context.builder, point))
    return Component(listed=((Listed(values, _ANY_NUMBER), integer(1)),))


def _is_one_list(looked_up: Sequence[tuple[Lookup, Val]]) -> bool:
    (values, scale), *others = looked_up
    return not others and scale.constant == 1 and values.values.element.bits == 64


def _one_condition(context: Context, mask: Mask, axis: int) -> Mask:
    """The same mask with all that differs along one dimension only, by no rule, in one list."""
    terms = [term for term in mask.terms if term.axis == axis and _is_without_rule(term)]
    others = [(each, line_of(each, axis)) for each in mask.operands if varying(each) == {axis}]
    found = {each: line for each, line in others if line is not None}
    if not found and not any(term.left.components[axis].without_line for term in terms):
        return mask
    line = _conjunction([*map(_line_of_term, terms), *found.values()])
    values = context.buffer(line.type)
    materialise.copy(context, line, values)
    kept = [term for term in mask.terms if term not in terms]
    rest = [each for each in mask.operands if each not in found]
    return Mask(mask.type, [*kept, _term_of(mask.shape, axis, values)], rest, mask.uniform)


def _is_without_rule(term: Term) -> bool:
    return not term.has_guard and term.left.extra is None and term.left.wrapped is None


def _line_of_term(term: Term) -> Tensor:
    """The comparison at each position of its dimension."""
    size, part = term.left.shape[term.axis], term.left.components[term.axis]
    line = Affine(TensorType((size,), term.left.element), term.left.base, [part])
    right = Splat(line.type, term.right)
    type_ = TensorType((size,), ScalarType("i1"))
    predicate = term.predicate
    return Elementwise(type_, lambda b, values: b.compare(predicate, *values), [line, right])


def _conjunction(lines: Sequence[Tensor]) -> Tensor:
    """Whether all conditions hold, as bytes."""

    def all_hold(builder: Builder, values: Sequence[Val]) -> Val:
        total = values[0]
        for value in values[1:]:
            total = builder.conjunction(total, value)
        return builder.cast("zext", total, "i8")

    type_ = TensorType(lines[0].shape, ScalarType("i8"))
    return Elementwise(type_, all_hold, lines, len(lines))


def _term_of(shape: tuple[int, ...], axis: int, values: Buffer) -> Term:
    """A list of truth values as a comparison along a dimension of a block."""
    none = Component()
    part = Component(listed=((Listed(values, integer(1)), integer(1, "i8")),))
    components = [part if axis == own else none for own in range(len(shape))]
    left = Affine(TensorType(shape, ScalarType("i8")), integer(0, "i8"), components)
    return Term(axis, "ne", left, integer(0, "i8"), TRUE)
