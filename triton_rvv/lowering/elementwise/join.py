"""`tl.join`, `tl.split`, `tl.interleave` and `tl.cat`: two blocks as one, and one as two."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.buffer import Buffer, loaded, memory_type, stored
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vectors import in_turn
from triton_rvv.lowering.llvm.vp_memory import store_first
from triton_rvv.lowering.loops import loop_nests, materialise

__all__ = ["HANDLERS"]


def _join(context: Context, operation: Operation) -> None:
    """Elements of two blocks in turn, which a new last dimension tells apart."""
    left, right = (context.tensor(value) for value in operation.operands)
    type_, builder = operation.result.block, context.builder
    if isinstance(left, Splat) and isinstance(right, Splat) and left.value == right.value:
        context.bind(operation.result, Splat(type_, left.value))
        return
    materialise.prepare(context, [left, right])
    result = context.buffer(type_)

    def evaluate(point: VectorIndex) -> Val:
        pair = [stored(builder, part.at(builder, point)) for part in (left, right)]
        return in_turn(builder, pair)

    def commit(point: VectorIndex, value: Val) -> None:
        address = result.address(builder, (*point.coordinates, integer(0)))
        if point.lanes is None:
            builder.store(value, address, type_.element.size_bytes)
        else:
            count = builder.mul(point.lanes, integer(2))
            store_first(builder, value, address, count, type_.element.size_bytes)

    loop_nests.for_each_run(context, [left, right], evaluate, commit)
    context.bind(operation.result, result)


def _split(context: Context, operation: Operation) -> None:
    """The two halves of a block whose last dimension has two elements."""
    tensor, builder = context.tensor(operation.operands[0]), context.builder
    type_ = TensorType(tensor.shape[:-1], tensor.element)
    if isinstance(tensor, Splat):
        for value in operation.results:
            context.bind(value, Splat(type_, tensor.value))
        return
    materialise.prepare(context, [tensor])
    pairs = materialise.materialise(context, tensor)
    results = [context.buffer(type_) for _ in operation.results]
    element = memory_type(type_.element)

    def evaluate(point: VectorIndex) -> list[Val]:
        address = pairs.address(builder, (*point.coordinates, integer(0)))
        both = builder.load(
            vector_type(element, 2 * point.width), address, type_.element.size_bytes
        )
        if point.width == 1:
            halves = [builder.lanes(both, lane, 1) for lane in range(2)]
        else:
            halves = [builder.shuffle(both, range(lane, 2 * point.width, 2)) for lane in range(2)]
        return [loaded(builder, half, type_.element) for half in halves]

    def commit(point: VectorIndex, values: list[Val]) -> None:
        for result, value in zip(results, values, strict=True):
            result.write(builder, point, value)

    loop_nests.for_each_run(context, results, evaluate, commit)
    for value, result in zip(operation.results, results, strict=True):
        context.bind(value, result)


def _cat(context: Context, operation: Operation) -> None:
    """One block after the other, along their only dimension."""
    parts = [context.tensor(value) for value in operation.operands]
    materialise.prepare(context, parts)
    result, builder = context.buffer(operation.result.block), context.builder
    for index, part in enumerate(parts):
        first = integer(index * part.shape[0])
        commit = functools.partial(_write_from, builder, result, first)
        loop_nests.for_each_run(context, [part], functools.partial(part.at, builder), commit)
    context.bind(operation.result, result)


def _write_from(
    builder: Builder, result: Buffer, first: Val, point: VectorIndex, value: Val
) -> None:
    place = builder.add(first, point.start)
    result.write(builder, VectorIndex((), place, point.width, lanes=point.lanes), value)


HANDLERS: Mapping[str, Handler] = {"tt.join": _join, "tt.split": _split, "tt.cat": _cat}
