"""Conditions of masks, which people read as `512*%pid + i0 < %n & %1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from triton_rvv.frontend.ttir import Value
from triton_rvv.lowering.ttir.polynomials import Polynomial

__all__ = ["Comparison", "Condition", "as_text", "comparisons"]

_SYMBOLS = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}

# Two sums and how they are compared, or what no sums explain.
Comparison = tuple[Polynomial, str, Polynomial]
Condition = Comparison | Value


def comparisons(mask: Sequence[Condition]) -> Sequence[Comparison] | None:
    """The conditions of a mask; None where one is no comparison of sums."""
    known = [*filter(_is_comparison, mask)]
    return known if len(known) == len(mask) else None


def as_text(mask: Sequence[Condition]) -> str:
    """The conditions of a mask as people read them."""
    return " & ".join(dict.fromkeys(map(_condition_text, mask)))


def _is_comparison(condition: Condition) -> TypeGuard[Comparison]:
    return isinstance(condition, tuple)


def _condition_text(condition: Condition) -> str:
    if isinstance(condition, Value):
        return condition.name
    left, predicate, right = condition
    return f"{left} {_SYMBOLS.get(predicate, predicate)} {right}"
