"""How often each number below a limit occurs in a block, and how often up to each place."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.ttir.counted_kinds import COUNT

__all__ = ["HANDLERS"]

# Elements in a turn of the loop that counts.
_TOGETHER = 4


def _histogram(context: Context, operation: Operation) -> None:
    """One after another, since any two elements may be counted in the same place.

    Elements that are no number of the histogram, or that the mask leaves out, are counted in a
    place behind it.
    """
    type_, builder = operation.result.block, context.builder
    operands = [context.tensor(value) for value in operation.operands]
    (bins,), elements = type_.shape, operands[0].type.elements
    counts = materialise.row_major_array(context, TensorType((2 * bins,), type_.element))
    result = Buffer(type_, counts.pointer, bins)
    materialise.copy(context, Splat(type_, integer(0, type_.element.llvm)), result)
    place_type = TensorType(operands[0].shape, ScalarType("i32"))
    recipe = Elementwise(place_type, functools.partial(_place, bins), operands)
    places = materialise.row_major_array(context, place_type)
    with materialise.walking(context, [recipe]):
        materialise.copy(context, recipe, places)
    together = min(_TOGETHER, elements)
    for first in index_loops.steps(context, elements, together, unrolled=False):
        for number in range(together):
            at = VectorIndex((), builder.add(first, integer(number)), 1)
            place = builder.resize(places.at(builder, at), "i64", signed=False)
            point = VectorIndex((), place, 1)
            one = integer(1, type_.element.llvm)
            counts.write(builder, point, builder.add(counts.at(builder, point), one))
    context.bind(operation.result, result)


def _place(bins: int, builder: Builder, values: Sequence[Val]) -> Val:
    """Where an element is counted, or the number of bins where it is not."""
    number, *masks = values
    if int(number.element[1:]) < 32:
        number = builder.cast("zext", number, "i32")
    limit = builder.splat(integer(bins, number.element), number.width)
    is_counted = builder.compare("ult", number, limit)
    for mask in masks:
        is_counted = builder.binary("and", is_counted, mask)
    place = builder.select(is_counted, number, limit)
    return builder.cast("trunc", place, "i32") if place.element == "i64" else place


def _count(context: Context, operation: Operation) -> None:
    """The same, and after each number how often it has occurred."""
    builder, first = context.builder, operation.integer("start")
    numbers, *masks = (context.tensor(value) for value in operation.operands)
    counted, ranks = operation.results
    type_, one = counted.block, integer(1, counted.block.element.llvm)
    (bins,), elements = type_.shape, numbers.type.elements
    counts = materialise.row_major_array(context, TensorType((2 * bins,), type_.element))
    result = Buffer(type_, counts.pointer, bins)
    materialise.copy(context, Splat(type_, integer(0, type_.element.llvm)), result)
    place_type = TensorType(numbers.shape, ScalarType("i32"))
    recipe = Elementwise(place_type, functools.partial(_place_from, first, bins), [numbers])
    recipes = [recipe, *(_ones(mask, type_) for mask in masks)]
    arrays = [materialise.row_major_array(context, each.type) for each in recipes]
    with materialise.walking(context, recipes):
        for each, array in zip(recipes, arrays, strict=True):
            materialise.copy(context, each, array)
    places, *steps = arrays
    ranked = materialise.row_major_array(context, ranks.block) if ranks.uses else None
    together = min(_TOGETHER, elements)
    for start in index_loops.steps(context, elements, together, unrolled=False):
        for number in range(together):
            at = VectorIndex((), builder.add(start, integer(number)), 1)
            place = builder.resize(places.at(builder, at), "i64", signed=False)
            point = VectorIndex((), place, 1)
            step = steps[0].at(builder, at) if steps else one
            count = builder.add(counts.at(builder, point), step)
            counts.write(builder, point, count)
            if ranked is not None:
                ranked.write(builder, at, count)
    context.bind(counted, result)
    if ranked is not None:
        context.bind(ranks, ranked)


def _ones(mask: Tensor, counts: TensorType) -> Tensor:
    """1 where a number counts, and 0 where it does not."""

    def widened(builder: Builder, values: Sequence[Val]) -> Val:
        return builder.cast("zext", values[0], counts.element.llvm)

    return Elementwise(TensorType(mask.shape, counts.element), widened, [mask])


def _place_from(first: int, bins: int, builder: Builder, values: Sequence[Val]) -> Val:
    """Where a number is counted if kinds begin at one other than 0."""
    (number,) = values
    if first:
        start = builder.splat(integer(first, number.element), number.width)
        number = builder.binary("sub", number, start)
    return _place(bins, builder, [number])


HANDLERS: Mapping[str, Handler] = {"tt.histogram": _histogram, COUNT: _count}
