"""What the handlers of operations have in common."""

from __future__ import annotations

from collections.abc import Callable

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.context import Context

__all__ = ["Handler", "block_type"]

Handler = Callable[[Context, Operation], None]


def block_type(operation: Operation) -> TensorType:
    """The type of an operation's only result, which is a block."""
    type_ = operation.result.type
    assert isinstance(type_, TensorType)
    return type_
