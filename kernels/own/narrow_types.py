"""What a user's kernel computes in fp16 and bf16, by its IR."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType

__all__ = ["computes_in_bf16", "rounded_to"]

_TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
_ARITHMETIC = frozenset(
    {"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "math.fma", "tt.dot"}
)
_COMPARISONS = frozenset({"arith.cmpf", "arith.maxnumf", "arith.minnumf", "arith.negf"})


def rounded_to(module: Operation) -> torch.dtype | None:
    """The coarsest type, of fp16 and bf16, that a kernel converts to or has results of arithmetic
    in; None if it does neither.

    Args:
        module: the kernel's TTIR, parsed.
    """
    rounding = _ARITHMETIC | {"arith.truncf"}
    found = [op.results for op in module.walk() if op.name in rounding]
    kinds = {_TYPES[name] for results in found for name in _elements(results) & _TYPES.keys()}
    return max(kinds, key=lambda kind: torch.finfo(kind).eps, default=None)


def computes_in_bf16(module: Operation) -> bool:
    """Whether a kernel does more with bf16 than to convert, load and store it.

    Args:
        module: as for `rounded_to`.
    """
    computing = _ARITHMETIC | _COMPARISONS
    return any("bf16" in _elements(op.operands) for op in module.walk() if op.name in computing)


def _elements(values: Iterable[Value]) -> set[str]:
    """MLIR's names of the values' types, of blocks those of their elements."""
    kinds = (value.type for value in values)
    return {str(kind.element if isinstance(kind, TensorType) else kind) for kind in kinds}
