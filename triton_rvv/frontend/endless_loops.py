"""Keeps loops that may never end, which MLIR removes where nothing uses their results.

MLIR takes every `scf.while` without side effects to end, so a kernel that spins for ever would seem
to work. LLVM keeps such a loop, since nothing marks ours as `mustprogress` (LLVM language
reference). An `scf.for` always ends: its step is positive.
"""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["keep_endless_loops"]


@functools.cache
def keep_endless_loops(options_type: type) -> None:
    """From now on Triton's front end gives each `while` loop of ours an effect, so that it stays.

    The effect is a barrier, which is no instruction here. Other targets' loops stay as they are.

    Args:
        options_type: of our compiler's options.
    """
    from triton._C.libtriton import ir

    condition = ir.builder.create_condition_op

    def create_condition_op(builder: Any, *operands: Any) -> Any:
        if isinstance(builder.options, options_type):
            builder.create_barrier()
        return condition(builder, *operands)

    ir.builder.create_condition_op = create_condition_op
