"""`tl.histogram`: how often each number below a limit occurs in a block."""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.lowering import sinks
from triton_rvv.lowering.buffer import Buffer
from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.registry import Handler, block_type
from triton_rvv.lowering.tensors import Point, Splat
from triton_rvv.lowering.values import Val, integer
from triton_rvv.ttir import Operation

__all__ = ["HANDLERS"]


def _histogram(context: Context, operation: Operation) -> None:
    """One after another, since any two elements may be counted in the same place.

    Elements that are no number of the histogram, or that the mask leaves out, are not counted.
    """
    type_ = block_type(operation)
    elements, *masks = (context.tensor(value) for value in operation.operands)
    sinks.prepare(context, [elements, *masks])
    numbers = sinks.materialise(context, elements)
    counts = context.buffer(type_)
    sinks.copy(context, Splat(type_, integer(0, type_.element.llvm)), counts)
    wanted = [sinks.materialise(context, mask) for mask in masks]
    for place in sinks.steps(context, elements.shape[0], 1, unrolled=False):
        point = Point((), place, 1)
        condition = Val("i1", "true")
        for mask in wanted:
            condition = mask.at(context.builder, point)
        _count(context.builder, counts, numbers.at(context.builder, point), condition)
    context.bind(operation.result, counts)


def _count(builder: Builder, counts: Buffer, number: Val, wanted: Val) -> None:
    """Add one to the number's count, or nothing to the first one."""
    wide = builder.resize(number, "i64", signed=False)
    is_inside = builder.compare("ult", wide, integer(counts.shape[0]))
    is_counted = builder.conjunction(is_inside, wanted)
    point = Point((), builder.select(is_counted, wide, integer(0)), 1)
    one = builder.cast("zext", is_counted, counts.element.llvm)
    counts.write(builder, point, builder.add(counts.at(builder, point), one))


HANDLERS: Mapping[str, Handler] = {"tt.histogram": _histogram}
