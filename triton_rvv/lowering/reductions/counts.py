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
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer, type_suffix
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.loops import index_loops, loop_versioning
from triton_rvv.lowering.loops.vector_shape import runs_together, spanning_width, vector_width
from triton_rvv.lowering.reductions.reduction import Reduction
from triton_rvv.lowering.ttir.combined import operation_of_each, widened_truths

__all__ = ["count_along_rows", "counted"]


@rule("count-truths", nothing)
def counted(context: Context, operation: Operation) -> Tensor | None:
    """The truth values that a sum along rows counts; short rows are better taken together."""
    if operation_of_each(operation) != ("arith.addi",):
        return None
    truths = widened_truths(context.kernel.makers.get(operation.operands[0]))
    if truths is None or not context.knows(truths):
        return None
    tensor = context.tensor(truths)
    is_along_rows = operation.integer("axis") == len(tensor.shape) - 1
    return tensor if is_along_rows and not spanning_width(context, [tensor]) else None


def count_along_rows(reduction: Reduction) -> None:
    """Each row of truth values becomes the number of those that are true."""
    context, builder, (truths,) = reduction.context, reduction.builder, reduction.sources
    width, columns = vector_width(context, [truths]), truths.shape[-1]
    runs = min(runs_together(context, [truths]), columns // width)
    step, type_ = runs * width, reduction.results[0].element.llvm

    def walk(version: LoopVersion) -> None:
        for index in index_loops.positions(context, truths.shape[:-1], unrolled=False):
            total = Variable(builder, integer(0, type_))
            for start, where in index_loops.steps_along(context, 0, columns, step, version):
                starts = [builder.add(start, integer(run * width)) for run in range(runs)]
                points = [VectorIndex(index, at, width, where) for at in starts]
                parts = [functools.partial(_count, builder, truths, point) for point in points]
                for count in builder.interleave(parts):
                    total.write(builder.add(total.read(), builder.resize(count, type_)))
            reduction.write_row(index, [total.read()])

    loop_versioning.guarded(context, [truths], walk, step=step if columns > step else 0)


def _count(builder: Builder, truths: Tensor, point: VectorIndex) -> Val:
    """The number of true elements of a run, as i32."""
    value = builder.cast("zext", truths.at(builder, point), "i32")
    if point.width == 1:  # a row of one element
        return value
    return builder.call("i32", f"llvm.vector.reduce.add.{type_suffix(value)}", [value])
