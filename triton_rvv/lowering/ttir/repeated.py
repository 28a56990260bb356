"""Blocks in which what a reduction gives is repeated along the dimension that it reduced."""

from __future__ import annotations

from collections.abc import Iterator

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.rewriter import Rewriter

__all__ = ["repeated"]


def repeated(
    value: Value, type_: TensorType, reduction: Operation, rewriter: Rewriter
) -> Iterator[Operation]:
    """The operations that make such a block, the last of which gives it.

    Args:
        value: one number, or one for each row.
        reduction: whose dimension is filled.
    """
    line = reduction.line
    whole = rewriter.value(value, type_)
    if not isinstance(value.type, TensorType):
        yield rewriter.operation("tt.splat", [value], [whole], {}, line)
        return
    axis = reduction.integer("axis")
    shape = (*type_.shape[:axis], 1, *type_.shape[axis + 1 :])
    column = rewriter.value(value, TensorType(shape, type_.element))
    yield rewriter.operation("tt.expand_dims", [value], [column], {"axis": axis}, line)
    yield rewriter.operation("tt.broadcast", [column], [whole], {}, line)
