"""Comparisons that sizes and grid decide for all lanes of a run when code is made.

A block that reaches beyond the end of a row, such as 64 columns for 50, has masks. Where it is
walked in a few runs, all but one of these are inside or behind the end.
"""

from __future__ import annotations

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import FALSE, TRUE, Val

__all__ = ["decided_in_run"]


@rule("decide-runs", nothing)
def decided_in_run(
    builder: Builder, predicate: str, left: Affine, right: Val, point: VectorIndex
) -> Val | None:
    """TRUE or FALSE where a comparison is the same in all lanes of a run; None if that is unknown.

    Args:
        builder: knows the ranges of numbers.
        predicate: LLVM's name of the comparison.
        left: what varies along its last dimension, if anything does.
        right: a scalar.
        point: the run.
    """
    step = left.components[-1].constant_stride
    in_row = 1 < point.width <= left.shape[-1]
    is_sum = left.extra is None and (left.wrapped is None or point.version.fits)
    if step is None or not in_row or not is_sum:
        return None
    places = point.start, point.width
    holds = builder.intervals.decided_along(predicate, left.base, places, step, right)
    return {True: TRUE, False: FALSE, None: None}[holds]
