"""What loads and stores have in common: their conditions, single elements, and notes for people."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from triton_rvv.frontend.types import PointerType, ScalarType
from triton_rvv.lowering.addresses.lane_range import LaneRange
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import memory_type
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import TRUE, Val
from triton_rvv.lowering.llvm.vp_memory import first_lanes

__all__ = ["condition_at", "first_where", "load_scalar", "note_access", "wanted_lanes", "zero"]

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


def condition_at(builder: Builder, mask: Mask | None, point: VectorIndex) -> Val:
    """A mask at `point`, which may be left out; a scalar where it is the same for the run."""
    return TRUE if mask is None else mask.condition(builder, _of_memory(point))


def _of_memory(point: VectorIndex) -> VectorIndex:
    return replace(point, version=point.version.of_memory) if point.version.in_bounds else point


def wanted_lanes(builder: Builder, mask: Mask | None, point: VectorIndex) -> tuple[Val, LaneRange]:
    """The lanes that are wanted of a run: a condition, and the lanes in which that counts."""
    here = _of_memory(point)
    condition, lanes = (TRUE, LaneRange()) if mask is None else mask.parts(builder, here)
    return condition, lanes.within(builder, LaneRange(end=point.lanes))


def first_where(builder: Builder, condition: Val, lanes: Val | None, width: int) -> Val:
    """A condition, where only so many lanes are wanted."""
    if lanes is None:
        return condition
    return builder.conjunction(condition, first_lanes(builder, lanes, width))


def load_scalar(
    builder: Builder, element: ScalarType | PointerType, address: Val, condition: Val, fill: Val
) -> Val:
    """One element in its memory type; where the condition is false, memory is left alone."""
    type_ = memory_type(element)
    if condition.truth is True:
        return builder.load(type_, address, element.size_bytes)
    # Reading a place of our own keeps this free of branches inside vector code.
    safe = builder.alloca(type_, 1)
    chosen = builder.select(condition, address, safe)
    return builder.select(condition, builder.load(type_, chosen, element.size_bytes), fill)


def zero(element: str) -> str:
    """How a constant of 0 is written, of a type of LLVM."""
    if element == "ptr":
        return "null"
    return "0" if element.startswith("i") else "0.0"
