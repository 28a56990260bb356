"""Operations that order or inform and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.blocks.context import Context, Handler

__all__ = ["HANDLERS"]


def _assume(context: Context, operation: Operation) -> None:
    """Tell LLVM what its author knows to hold."""
    context.builder.call_void("llvm.assume", [context.scalar(operation.operands[0])])


def _barrier(context: Context, operation: Operation) -> None:
    """One program is one thread, which has nobody to wait for."""


HANDLERS: Mapping[str, Handler] = {
    "llvm.intr.assume": _assume,
    "ttg.barrier": _barrier,
    "gpu.barrier": _barrier,
}
