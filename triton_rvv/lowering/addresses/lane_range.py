"""Neighbouring lanes of a run, such as those inside an image, by the first and the end of them."""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import TRUE, Val, integer

__all__ = ["LaneRange"]


@dataclass(frozen=True)
class LaneRange:
    """The lanes from `first` on and before `end`, any numbers of 64 bits; None bounds nothing.

    As few bits as number the lanes are enough to compare them, whatever the elements have.
    """

    first: Val | None = None
    end: Val | None = None

    def within(self, builder: Builder, other: LaneRange) -> LaneRange:
        """The lanes that are in both."""
        return LaneRange(
            _bound(builder, "llvm.smax", self.first, other.first),
            _bound(builder, "llvm.smin", self.end, other.end),
        )

    def from_place(self, builder: Builder, start: Val) -> LaneRange:
        """The same counted from a place on, such as where a run starts."""
        ends = [
            None if bound is None else builder.binary("sub", bound, start)
            for bound in (self.first, self.end)
        ]
        return LaneRange(*ends)

    def where(self, builder: Builder, condition: Val, width: int) -> Val:
        """A mask of a run that is true in these lanes where a condition holds as well.

        It is the condition itself where nothing is bounded, or where that never holds.
        """
        if condition.truth is False or (self.first is None and self.end is None):
            return condition
        limit = integer(width)
        end = limit if self.end is None else _clamped(builder, self.end, limit)
        if condition.width == 1:
            end, condition = builder.select(condition, end, integer(0)), TRUE
        narrow = "i8" if width <= 128 else "i16"
        lanes, count = builder.iota(narrow, width), end
        if self.first is not None:
            first = _clamped(builder, self.first, limit)
            count = builder.smax(builder.binary("sub", end, first), integer(0))
            start = builder.splat(builder.resize(first, narrow), width)
            lanes = builder.binary("sub", lanes, start)
        inside = builder.splat(builder.resize(count, narrow), width)
        return builder.conjunction(builder.compare("ult", lanes, inside), condition)


def _bound(builder: Builder, name: str, one: Val | None, other: Val | None) -> Val | None:
    if one is None or other is None:
        return other if one is None else one
    return builder.intrinsic(name, [one, other])


def _clamped(builder: Builder, place: Val, limit: Val) -> Val:
    """The place, or the nearest one from 0 to the limit."""
    place = builder.smax(place, integer(0))
    return builder.smin(place, limit)
