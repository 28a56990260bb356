"""Says of the operation that code is written for how its loads and stores reach memory."""

from __future__ import annotations

from typing import Literal

from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val

__all__ = ["note_access"]

_WAYS = {0: "one element for all lanes", 1: "contiguous"}


def note_access(
    builder: Builder,
    kind: Literal["loads", "stores"],
    stride: Val | None,
    condition: Val,
    point: VectorIndex,
    name: str = "",
) -> None:
    """Note one vector of a load or store.

    Args:
        kind: which of them it is.
        stride: elements from one lane to the next; None where they follow no rule.
        condition: which lanes count.
        point: where it is evaluated.
        name: of the pointers, where the operation is another one.
    """
    if not builder.choices.is_watched:
        return
    if point.width == 1:
        way = "one by one"
    elif stride is None:
        way = "gathered" if kind == "loads" else "scattered"
    else:
        way = _WAYS.get(-1 if stride.constant is None else stride.constant, "by strides")
    masked = "" if condition.truth is True else ", masked"
    builder.choices.note(kind, f"{name} {way}{masked}".lstrip())
