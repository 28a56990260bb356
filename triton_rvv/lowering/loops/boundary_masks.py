"""Walks over parts of lines that tell runs at the rim of an image from those inside.

At the rim, each load of a neighbour has a mask of its own: whether its row is inside, and which of
its columns are. Runs inside need no masks, and where they begin and end follows from a few scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from triton_rvv.lowering.addresses.lane_range import LaneRange
from triton_rvv.lowering.addresses.masks import Mask, Term
from triton_rvv.lowering.blocks.tensors import Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import LoopVersion, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import Choices, no, rule
from triton_rvv.lowering.llvm.values import TRUE, Val, integer

__all__ = ["BoundaryMasks"]

_Visit = Callable[[Sequence[VectorIndex]], None]


class BoundaryMasks:
    """The masks of one walk, where it is worth looking which runs need them.

    It is where there are several: blocks with one mask for all are told apart as a whole.

    Args:
        tensors: the recipes of the walk, all of one shape.
    """

    def __init__(
        self, builder: Builder, tensors: Sequence[Tensor], width: int, together: int
    ) -> None:
        below = recipes_under(tensors)
        masks = [each for each in below if isinstance(each, Mask) and each.materialised is None]
        elsewhere = [each for each in below if not each.own_stays_in_place]
        looks_away = any(isinstance(each, Mask) for other in elsewhere for each in other.walk())
        self._masks = masks if len(masks) > 1 and not looks_away else []
        self._builder, self._width = builder, width
        self._together = min(together, tensors[0].shape[-1] // width)

    @property
    def choices(self) -> Choices:
        """By which rules code is written."""
        return self._builder.choices

    @property
    def are_any(self) -> bool:
        """Whether there are such masks."""
        return bool(self._masks)

    @rule("split-at-edges", no)
    def apply_on(self, version: LoopVersion) -> bool:
        """Whether some runs on a path may need no masks, where others do."""
        builder, unknown = self._builder, self._unknown(version)
        return (
            version.linear
            and version.fits
            and bool(unknown)
            and all(
                term.is_uniform_on(builder, version) or term.bounds(builder, version)
                for term in unknown
            )
        )

    def begin_on(self, version: LoopVersion) -> bool:
        """Whether leading columns may need masks, not only the last ones."""
        return self._columns(version).first is not None and self.apply_on(version)

    def visit_row(
        self, version: LoopVersion, row: tuple[Val, ...], end: Val, runs: int, visit: _Visit
    ) -> None:
        """Visit a row by so many runs side by side; those that begin before `end`."""
        builder, width = self._builder, self._width
        size, within = integer(runs * width), self._columns(version)
        holds = self._rows_hold(version, row, integer(0))
        first = builder.select(holds, within.first or integer(0), end)
        masked = replace(version, plain_columns=None)
        inside = replace(masked, rows_inside=True, columns_inside=True)
        with builder.loop(integer(0), end, size) as start:
            is_inside = builder.compare("sge", start, first)
            if within.end is not None:
                ends = builder.compare("sle", builder.add(start, size), within.end)
                is_inside = builder.conjunction(is_inside, ends)

            def run_on(where: LoopVersion) -> None:
                starts = [builder.add(start, integer(run * width)) for run in range(runs)]
                visit([VectorIndex(row, each, width, where) for each in starts])

            builder.branches(is_inside, lambda: run_on(inside), lambda: run_on(masked))

    def _columns(self, version: LoopVersion) -> LaneRange:
        """The columns in which all comparisons of columns hold."""
        within = LaneRange()
        for term in self._unknown(version):
            if (bounds := term.bounds(self._builder, version)) is not None:
                within = within.within(self._builder, bounds)
        return within

    def visit(self, version: LoopVersion, first: Val, count: Val, visit: _Visit) -> None:
        """Visit the runs of a part of a line, the last one with as many lanes as are left."""
        builder, width = self._builder, self._width
        end, holds = builder.add(first, count), self._rows_hold(version, (), first)
        inside = replace(version, rows_inside=True, columns_inside=True)
        left, right = self._inside(version, first, end)
        left, right = (builder.select(holds, place, first) for place in (left, right))
        size, _ = builder.split(builder.binary("sub", right, left), width * self._together)
        grouped = builder.add(left, size)
        pieces = [(left, grouped, self._together), (grouped, right, 1)]
        for begin, stop, runs in pieces if self._together > 1 else pieces[:1]:
            with builder.loop(begin, stop, integer(runs * width)) as start:
                starts = [builder.add(start, integer(run * width)) for run in range(runs)]
                visit([VectorIndex((), each, width, inside) for each in starts])
        with (
            self._before_and_behind(first, left, right, end) as (begin, stop),
            builder.loop(begin, stop, integer(width)) as start,
        ):
            lanes = builder.binary("sub", stop, start)
            visit([VectorIndex((), start, width, version, lanes=lanes)])

    @contextmanager
    def _before_and_behind(
        self, first: Val, inner: Val, inner_end: Val, end: Val
    ) -> Iterator[tuple[Val, Val]]:
        """What is before and behind a part, one after the other in a loop."""
        builder = self._builder
        with builder.loop(integer(0), integer(2), integer(1)) as turn:
            is_first = builder.compare("eq", turn, integer(0))
            yield builder.select(is_first, first, inner_end), builder.select(is_first, inner, end)

    def _inside(self, version: LoopVersion, first: Val, end: Val) -> tuple[Val, Val]:
        """Where the runs begin and end in which all columns are inside, in steps from `first`."""
        builder, within = self._builder, self._columns(version)
        low, high = within.first or first, within.end or end
        ahead = builder.binary("sub", builder.smax(low, first), first)
        steps, _ = builder.split(builder.add(ahead, integer(self._width - 1)), self._width)
        begin = builder.smin(builder.add(first, steps), end)
        left = builder.binary("sub", builder.smin(high, end), begin)
        size = builder.smax(left, integer(0))
        return begin, builder.add(begin, builder.split(size, self._width)[0])

    def _rows_hold(self, version: LoopVersion, row: tuple[Val, ...], first: Val) -> Val:
        """Whether what masks say of all columns alike holds."""
        builder, holds = self._builder, TRUE
        if not version.unmasked:
            for mask in self._masks:
                holds = builder.conjunction(holds, mask.uniform)
        for term in self._unknown(version):
            if term.is_uniform_on(builder, version):
                holds = builder.conjunction(
                    holds, term.at(builder, VectorIndex(row, first, 1, version))
                )
        return holds

    def _unknown(self, version: LoopVersion) -> list[Term]:
        """The comparisons that are not known to hold on a path."""
        terms = [term for mask in self._masks for term in mask.terms]
        return [term for term in terms if not term.is_known_on(self._builder, version)]
