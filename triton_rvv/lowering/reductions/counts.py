"""Counts of the elements of each row for which a condition holds: `tl.sum(x > y, axis=1)`.

A run's truth values are counted where they lie, a bit for each, and only counts are added up. Made
numbers of 32 bits first, they would take as many registers as lanes need.
"""

from __future__ import annotations

import functools

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import LoopVersion, VectorIndex
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer, type_suffix
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.loops import index_loops, loop_versioning
from triton_rvv.lowering.loops.vector_shape import runs_together, spanning_width, vector_width
from triton_rvv.lowering.reductions.reduction import Reduction
from triton_rvv.lowering.ttir.combining import operation_of_each, widened_truths

__all__ = ["count_along_rows", "counted"]


@rule("count-truths", nothing)
def counted(context: Context, operation: Operation) -> list[Tensor] | None:
    """The truth values that sums along rows count; short rows are better taken together."""
    if {*operation_of_each(operation)} != {"arith.addi"}:
        return None
    makers = context.kernel.makers
    truths = [widened_truths(makers.get(each)) for each in operation.operands]
    known = [each for each in truths if each is not None and context.knows(each)]
    if len(known) < len(truths):
        return None
    tensors = [context.tensor(each) for each in known]
    is_along_rows = operation.integer("axis") == len(tensors[0].shape) - 1
    return tensors if is_along_rows and not spanning_width(context, tensors) else None


def count_along_rows(reduction: Reduction) -> None:
    """Each row of truth values becomes the number of those that are true."""
    context, builder, sources = reduction.context, reduction.builder, reduction.sources
    width, columns = vector_width(context, sources), reduction.shape[-1]
    runs = min(runs_together(context, sources), columns // width)
    step, types = runs * width, [each.element.llvm for each in reduction.results]

    def walk(version: LoopVersion) -> None:
        for index in index_loops.positions(context, reduction.shape[:-1], unrolled=False):
            totals = [Variable(builder, integer(0, type_)) for type_ in types]
            for start, where in index_loops.steps_along(context, 0, columns, step, version):
                starts = [builder.add(start, integer(run * width)) for run in range(runs)]
                points = [VectorIndex(index, at, width, where) for at in starts]
                parts = [functools.partial(_counts, reduction, point) for point in points]
                for counts in builder.interleave(parts):
                    for total, count, type_ in zip(totals, counts, types, strict=True):
                        total.write(builder.add(total.read(), builder.resize(count, type_)))
            reduction.write_row(index, [total.read() for total in totals])

    loop_versioning.guarded(context, sources, walk, step=step if columns > step else 0)


def _counts(reduction: Reduction, point: VectorIndex) -> list[Val]:
    """The number of true elements of a run of each block, as i32."""
    builder = reduction.builder
    values = [builder.cast("zext", each, "i32") for each in reduction.at(point)]
    if point.width == 1:  # rows of one element
        return values
    return [
        builder.call("i32", f"llvm.vector.reduce.add.{type_suffix(each)}", [each])
        for each in values
    ]
