"""Operations of Triton that are refused, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.errors import CompileError
from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.blocks.context import Context, Handler

__all__ = ["REASONS", "REFUSALS"]

# By operation: its name in the language, and what to do.
REASONS = {
    "tt.elementwise_inline_asm": (
        "tl.inline_asm_elementwise",
        "it is written for one processor: use operations of the language",
    )
}


def _refusal(name: str, advice: str) -> Handler:
    def refuse(_: Context, operation: Operation) -> None:
        raise CompileError(f"{name} is not supported: {advice}", operation.line)

    return refuse


REFUSALS: Mapping[str, Handler] = {
    operation: _refusal(name, advice) for operation, (name, advice) in REASONS.items()
}
