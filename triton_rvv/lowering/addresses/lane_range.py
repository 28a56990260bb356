"""Which lanes of a run a mask lets through: neighbours, by the first and the end, or all or none.

A block that reaches beyond the end of a row, such as 64 columns for 50, has masks. Where it is
walked in a few runs, sizes and grid say that all but one of these are inside or behind the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import FALSE, TRUE, Val, integer

__all__ = ["LaneRange", "decided_in_run"]


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

    def turned(self, builder: Builder, width: int) -> LaneRange:
        """The same lanes counted from the last of a run on."""
        bounds = [
            None if bound is None else builder.binary("sub", integer(width), bound)
            for bound in (self.end, self.first)
        ]
        return LaneRange(*bounds)

    def ends(self, builder: Builder, count: int) -> tuple[Val, Val]:
        """The first and the last of `count` lanes that are in it, or two others if none is."""
        first, last = integer(0), integer(count - 1)
        if self.first is not None:
            first = builder.smin(builder.smax(self.first, first), last)
        if self.end is not None:
            last = builder.smin(builder.add(self.end, integer(-1)), last)
        return first, builder.smax(first, last)

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


@rule("decide-runs", nothing)
def decided_in_run(
    builder: Builder, predicate: str, left: Affine, right: Val, point: VectorIndex
) -> Val | None:
    """TRUE or FALSE where a comparison is the same in all lanes of a run; None if that is unknown.

    Args:
        left: what varies along its last dimension, if anything does.
    """
    step = left.components[-1].constant_stride
    in_row = 1 < point.width <= left.shape[-1]
    is_sum = left.extra is None and (left.wrapped is None or point.version.fits)
    if step is None or not in_row or not is_sum:
        return None
    places = point.start, point.width
    holds = builder.intervals.decided_along(predicate, left.base, places, step, right)
    return {True: TRUE, False: FALSE, None: None}[holds]
