"""Lines of integers that go on as others where a condition says so, as beyond the edge of an image.

A signal is mirrored there, goes on from its other end, or repeats what is next to its end:

    at = tl.abs(at)                             at = tl.where(at < 0, at + n, at)
    at = tl.where(at < n, at, 2 * n - 2 - at)   left = tl.where(at == 0, n - 1, at - 1)

Where a block, or a part of it, is on one side of the condition, its integers rise evenly: addresses
made of them are contiguous.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.clamped import columns_of, fit_32_bits, with_columns
from triton_rvv.lowering.addresses.components import Segments
from triton_rvv.lowering.addresses.line import Line
from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.math.lanes import Emit

__all__ = ["Chosen", "Condition", "chosen_line"]


@dataclass(frozen=True, eq=False)
class Condition:
    """Where integers of a line are no larger, no smaller, or others than a limit.

    Args:
        line: 32-bit integers in a block's last dimension.
        predicate: by which they are compared.
        limit: as i64.
    """

    line: Affine
    predicate: Literal["sle", "sge", "ne"]
    limit: Val

    def opposite(self, builder: Builder) -> Condition | None:
        """It holds where this one does not; None where that is for the limit alone."""
        if self.predicate == "ne":
            return None
        if self.predicate == "sle":
            return Condition(self.line, "sge", builder.add(self.limit, integer(1)))
        return Condition(self.line, "sle", builder.add(self.limit, integer(-1)))


@dataclass(frozen=True, eq=False)
class Chosen(Segments):
    """32-bit integers of one line where a condition holds, and of another one elsewhere.

    Args:
        condition: on a line that rises.
        rise: of that, from one to the next where its own steps are linear.
        kept: the integers where it holds, in 64 bits.
        pace: from one of them to the next, more than 0.
        others: those elsewhere, in 64 bits.
        goes_on: whether these rise like those that are kept.
    """

    condition: Condition
    rise: int
    kept: Line
    pace: int
    others: Line
    goes_on: bool

    def step(self, builder: Builder) -> int:
        return self.pace

    def length(self, builder: Builder) -> int | None:
        return self.kept.length(builder)

    @functools.cached_property
    def _compared(self) -> Line:
        return Line(self.condition.line, "i64")

    def linear_within(self, builder: Builder, count: Val, size: int) -> Val | None:
        if self._compared.steps or self.kept.steps:
            return None
        return self._all_are_kept(builder, self._compared.at(builder, integer(0), 1)[1], count)

    def first_of(self, builder: Builder, first: Val, count: int) -> tuple[Val, Val]:
        guards, compared = self._compared.at(builder, first, count)
        own, value = self.kept.at(builder, first, count)
        linear = _all_of(builder, [self._all_are_kept(builder, compared, integer(count)), *own])
        if self.goes_on:
            own, other = self.others.at(builder, first, count)
            value = builder.select(linear, value, other)
            beyond = _all_of(builder, [self._none_is_kept(builder, compared, count), *own])
            linear = builder.binary("or", linear, beyond)
        return _all_of(builder, [*guards, linear]), value

    def run_of(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        """As of `Segments`; minus how many others there are that do not rise evenly."""
        most, compared = self._compared.run_at(builder, first, size)
        is_kept, before, beyond = self._sides(builder, compared, size)
        count, value = self.kept.run_at(builder, first, size)
        count = builder.smin(count, before)
        if self.goes_on:
            own, other = self.others.run_at(builder, first, size)
            count = builder.select(is_kept, count, builder.smin(own, beyond))
            value = builder.select(is_kept, value, other)
        else:
            beyond = builder.smin(beyond, builder.smax(most, integer(0)))
            count = builder.select(is_kept, count, builder.binary("sub", integer(0), beyond))
        return builder.smin(count, most), value

    def _sides(self, builder: Builder, value: Val, size: int) -> tuple[Val, Val, Val]:
        """Whether an integer is kept, and how many are, and are not, from there on.

        The first number counts where it is kept, the second where it is not.
        """
        predicate, limit = self.condition.predicate, self.condition.limit
        room, rise = builder.binary("sub", limit, value), integer(self.rise)
        if predicate == "sle":
            is_kept = builder.compare("sge", room, integer(0))
            steps = room if self.rise == 1 else builder.binary("sdiv", room, rise)
            return is_kept, builder.add(steps, integer(1)), integer(size)
        ahead = room
        if self.rise > 1:
            ahead = builder.binary("sdiv", builder.add(room, integer(self.rise - 1)), rise)
        is_below = builder.compare("sgt", room, integer(0))
        if predicate == "sge":
            return builder.compare("sle", room, integer(0)), integer(size), ahead
        is_kept = builder.compare("ne", room, integer(0))
        return is_kept, builder.select(is_below, ahead, integer(size)), integer(1)

    def _all_are_kept(self, builder: Builder, first: Val, count: Val) -> Val:
        """Whether the condition holds for so many integers from one on."""
        predicate, limit = self.condition.predicate, self.condition.limit
        last = self._last(builder, first, count)
        is_above = builder.compare("sge" if predicate == "sge" else "sgt", first, limit)
        if predicate == "sge":
            return is_above
        is_below = builder.compare("sle" if predicate == "sle" else "slt", last, limit)
        return is_below if predicate == "sle" else builder.binary("or", is_below, is_above)

    def _none_is_kept(self, builder: Builder, first: Val, count: int) -> Val:
        """Whether it holds for none of them, where others go on."""
        if self.condition.predicate == "sle":
            return builder.compare("sgt", first, self.condition.limit)
        last = self._last(builder, first, integer(count))
        return builder.compare("slt", last, self.condition.limit)

    def _last(self, builder: Builder, first: Val, count: Val) -> Val:
        reach = builder.mul(integer(self.rise), builder.add(count, integer(-1)))
        return builder.add(first, reach)

    def bound(self, builder: Builder) -> Val:
        farthest = integer(0)
        for line in (self.kept, self.others):
            low, high = line.affine.ends(builder)
            opposite = builder.binary("sub", integer(0), low)
            farthest = functools.reduce(builder.smax, [farthest, opposite, high])
        return builder.select(self.fits(builder), farthest, integer(1 << 31))

    def fits(self, builder: Builder) -> Val:
        lines = (self.condition.line, self.kept.affine, self.others.affine)
        return _all_of(builder, [fit_32_bits(builder, *each.ends(builder)) for each in lines])


def _all_of(builder: Builder, guards: Sequence[Val]) -> Val:
    return functools.reduce(builder.conjunction, guards, TRUE)


def chosen_line(
    builder: Builder,
    condition: Condition,
    chosen: tuple[Affine, Affine],
    emit: Emit,
    cost: int,
) -> Affine | None:
    """A block whose columns are chosen by a condition; None for blocks of which nothing is known.

    Args:
        condition: on a block of 32-bit integers.
        chosen: likewise, where it holds and elsewhere.
        emit, cost: the operation on the compared, the first and the second line, and roughly its
            instructions.
    """
    blocks = (condition.line, *chosen)
    found = [each for block in blocks if (each := columns_of(builder, block)) is not None]
    if len(found) < len(blocks):
        return None
    (line, rise), (kept, pace), (others, other_pace) = found
    values = Elementwise(line.type, emit, [line, kept, others], cost)
    on_line: Condition | None = replace(condition, line=line)
    if pace < 1 and on_line is not None:
        on_line = on_line.opposite(builder)
        kept, pace, others, other_pace = others, other_pace, kept, pace
    if on_line is None or rise < 1 or pace < 1:
        return None
    goes_on = pace == other_pace and condition.predicate != "ne"
    lines = Line(kept, "i64"), Line(others, "i64")
    segments = Chosen(on_line, rise, lines[0], pace, lines[1], goes_on)
    return with_columns(builder, chosen[0], values, segments)
