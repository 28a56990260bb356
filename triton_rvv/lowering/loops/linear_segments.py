"""Walks over rows in parts, each of which is linear where the row is not."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.chosen_lines import Chosen
from triton_rvv.lowering.addresses.clamped import Clamped
from triton_rvv.lowering.addresses.components import Periodic, Segmented
from triton_rvv.lowering.addresses.div_mod import DivMod
from triton_rvv.lowering.addresses.line import shortest
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor, recipes_in_columns
from triton_rvv.lowering.blocks.vector_index import Extents, LoopVersion, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import rule
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.loops.boundary_masks import BoundaryMasks
from triton_rvv.lowering.loops.index_loops import positions
from triton_rvv.lowering.loops.vector_shape import tail_width

__all__ = ["LinearSegments"]

_Visit = Callable[[Sequence[VectorIndex]], None]
# Writes a loop over rows around what visits the runs of one.
_EachRow = Callable[[Callable[[_Visit], None]], None]

# So many elements are computed one by one, in less time than a run that has other lanes as well:
# fewer where it loads what a limit repeats beside neighbours.
_FEW, _FEW_AT_LIMITS = 4, 2


class LinearSegments:
    """How the recipes of a walk over a line, or over the rows of a block, are linear in parts.

    Args:
        tensors: the recipes, all of one shape.
        boundary_masks: tells runs apart that need masks.

    Attributes:
        found: the steps that decide where a part ends; none where others decide as well.
    """

    def __init__(
        self,
        context: Context,
        tensors: Sequence[Tensor],
        width: int,
        together: int,
        boundary_masks: BoundaryMasks,
    ) -> None:
        builder = context.builder
        self._context = context
        self._shape = tensors[0].shape
        self.found = _partly_linear(context, tensors)
        self._width = width
        self._together = together
        self._boundary_masks = boundary_masks
        self._size = tensors[0].shape[-1]
        self._granule = min((each.granule for each in self.found), default=1)
        self._longest = shortest([each.segments.length(builder) for each in self.found])
        # Most parts are that long.
        rest = self._longest and self._longest % (width * together)
        self._rest_width = tail_width(builder, tensors, width, together, rest)

    def visit(self, version: LoopVersion, extents: Extents, visit: _Visit) -> None:
        """Visit the runs of each part of a block, on a linear path where it is linear.

        The last run of a part has as many lanes as are left. Of the block, only the leading part is
        visited that `extents` says.
        """
        pairs = zip(self._shape, extents, strict=True)
        *rows, end = [integer(size) if count is None else count for size, count in pairs]

        def each_row(walk: Callable[[_Visit], None]) -> None:
            for index in positions(self._context, rows, unrolled=False):

                def in_row(points: Sequence[VectorIndex], index: tuple[Val, ...] = index) -> None:
                    visit([replace(point, index=index) for point in points] if index else points)

                walk(in_row)

        self._visit_row(self._context.builder, version, end, each_row)

    def _visit_row(
        self, builder: Builder, version: LoopVersion, end: Val, each_row: _EachRow
    ) -> None:
        """Visit the runs of each part before column `end`, in every row before the next part."""
        # Boundaries are at the ends of whole rows.
        if self._width <= self._granule < self._size and not self._has_boundary_masks:
            self._visit_granules(builder, version, end, each_row)
        else:
            self._visit_any(builder, version, end, each_row)

    @property
    def _limits(self) -> list[Clamped]:
        """What columns stay at beyond a limit, as at the edge of an image."""
        segments = [each.segments for each in self.found]
        return [each for each in segments if isinstance(each, Clamped)]

    @property
    def _go_on(self) -> bool:
        """Whether lines go on elsewhere at the ends of rows, where parts are short."""
        return len(self._shape) > 1 or any(isinstance(e.segments, Chosen) for e in self.found)

    @property
    def _periods(self) -> list[Segmented]:
        return [each for each in self.found if isinstance(each.segments, Periodic)]

    @property
    def _has_boundary_masks(self) -> bool:
        """Whether to tell runs with masks from others: not in rows of only a few runs."""
        is_short = self._longest is not None and self._longest < 2 * self._width
        return self._boundary_masks.are_any and not is_short and len(self._shape) == 1

    def _visit_granules(
        self, builder: Builder, version: LoopVersion, end: Val, each_row: _EachRow
    ) -> None:
        """The same for parts of one length, which is known when code is made."""
        size = self._granule
        with builder.loop(integer(0), end, integer(size)) as first:
            is_linear, starts = TRUE, dict[object, Val]()
            for steps in self.found:
                own, starts[steps] = steps.linear_from(builder, first, size)
                is_linear = builder.conjunction(is_linear, own)
            count, is_whole = integer(size), builder.split(end, size)[1].constant == 0
            if not is_whole:
                rest = builder.binary("sub", end, first)
                count = builder.smin(count, rest)
            where = replace(version, linear=True, starts=starts, origin=first)

            def others(visit: _Visit) -> None:
                with builder.loop(integer(0), count, integer(self._width)) as place:
                    lanes = None if is_whole else builder.binary("sub", count, place)
                    start = builder.add(first, place)
                    visit([VectorIndex((), start, self._width, version, lanes=lanes)])

            builder.branches(
                is_linear,
                lambda: self._visit_runs(builder, where, first, count, each_row),
                lambda: each_row(others),
                likely=True,
            )

    def _visit_any(
        self, builder: Builder, version: LoopVersion, end: Val, each_row: _EachRow
    ) -> None:
        """The same for parts that end wherever a multiple of a divisor is crossed."""
        place = Variable(builder, integer(0))
        head, body, done = (builder.fresh_label(hint) for hint in ("parts", "part", "done"))
        builder.branch(head)
        builder.label(head)
        first = place.read()
        builder.branch_if(builder.compare("slt", first, end), body, done)
        builder.label(body)
        count, counts, starts = integer(self._size), dict[Segmented, Val](), dict[object, Val]()
        for steps in self.found:
            counts[steps], starts[steps] = steps.run_from(builder, first, self._size)
            count = builder.smin(count, counts[steps])
        rest = builder.binary("sub", end, first)

        def linear() -> None:
            length = builder.smin(count, rest)
            where = replace(version, linear=True, starts=starts, origin=first)
            self._visit_runs(builder, where, first, length, each_row)
            place.write(builder.add(first, length))

        def some(lanes: Val) -> None:
            with builder.loop(integer(0), lanes, integer(1)) as lane:
                point = VectorIndex((), builder.add(first, lane), 1, version)
                each_row(lambda visit: visit([point]))
            place.write(builder.add(first, lanes))

        def run() -> None:
            lanes = builder.smin(self._lanes_before_linear(builder, count, counts), rest)
            point = VectorIndex((), first, self._width, version, lanes=lanes)
            each_row(lambda visit: visit([point]))
            place.write(builder.add(first, lanes))

        def at_limits() -> None:
            # Few elements are beyond most limits. Of a whole block, all those behind a row may be.
            one = functools.partial(some, integer(1))
            if end.constant and all(each.has_plain_ends for each in self._limits):
                builder.branches(self._are_several(builder, first, rest), run, one)
            else:
                one()

        def others() -> None:
            # Gathers take as much as for a whole run.
            lanes = builder.smin(self._lanes_in_short_parts(builder, counts), rest)
            are_several = builder.compare("sgt", lanes, integer(_FEW))
            builder.branches(are_several, run, functools.partial(some, lanes))

        if self._go_on and not self._limits:
            is_linear = builder.compare("sgt", builder.smin(count, rest), integer(_FEW))
        else:
            is_linear = builder.compare("sgt", count, integer(0))
            others = at_limits if self._limits else run
        builder.branches(is_linear, linear, others, likely=True)
        builder.branch(head)
        builder.label(done)

    def _are_several(self, builder: Builder, first: Val, rest: Val) -> Val:
        """Whether more than a few elements in turn are beyond one of the limits."""
        most = integer(0)
        for limits in self._limits:
            _, inside = limits.inside(builder, first)
            beyond = inside.first or integer(0)
            if inside.end is not None:
                is_behind = builder.compare("sle", inside.end, integer(0))
                beyond = builder.select(is_behind, rest, beyond)
            most = builder.smax(most, beyond)
        return builder.compare("sgt", most, integer(_FEW_AT_LIMITS))

    def _lanes_in_short_parts(self, builder: Builder, counts: Mapping[Segmented, Val]) -> Val:
        """So many elements are among others, or in parts of a few; a run where that is not known.

        Args:
            counts: how many are linear, as of `Segments.run_of`.
        """
        most, width = integer(1), integer(self._width)
        for own in (counts[steps] for steps in self.found):
            part = builder.smax(own, builder.binary("sub", integer(0), own))
            part = builder.select(builder.compare("ne", own, integer(0)), part, width)
            is_long = builder.compare("sgt", own, integer(_FEW))
            most = builder.smax(most, builder.select(is_long, integer(0), part))
        if len(self._periods) > 1:
            count = builder.smin(*(counts[each] for each in self._periods))
            before = self._lanes_before_linear(builder, count, counts)
            is_ahead = builder.compare("slt", count, integer(0))
            most = builder.select(is_ahead, builder.smax(most, before), most)
        return most

    def _lanes_before_linear(
        self, builder: Builder, count: Val, counts: Mapping[Segmented, Val]
    ) -> Val:
        """How many elements to visit on a path that is not linear: all of a run if none is ahead.

        That is so where periods never begin together, as of `at // 2` and `(at + 1) // 2`.
        """
        is_ahead = builder.compare("slt", count, integer(0))
        periodic = [
            (each.segments.period, own)
            for each, own in counts.items()
            if isinstance(each.segments, Periodic)
        ]
        for (period, own), (next_period, following) in itertools.pairwise(periodic):
            # Minus the elements to the next period; a period has begun where there are more.
            place, other = (builder.smin(each, integer(0)) for each in (own, following))
            apart = builder.binary("sub", place, other)
            apart = builder.binary("and", apart, integer(min(period, next_period) - 1))
            meet = builder.compare("eq", apart, integer(0))
            is_ahead = builder.conjunction(is_ahead, meet)
        # The period of digits may be longer than a run.
        before = builder.smin(builder.binary("sub", integer(0), count), integer(self._width))
        return builder.select(is_ahead, before, integer(self._width))

    def _visit_runs(
        self, builder: Builder, version: LoopVersion, first: Val, count: Val, each_row: _EachRow
    ) -> None:
        """Visit the runs of `count` elements, those of whole groups side by side."""
        if self._has_boundary_masks and self._boundary_masks.apply_on(version):
            each_row(lambda visit: self._boundary_masks.visit(version, first, count, visit))
            return
        most = self._size if count.constant is None else count.constant
        together = min(self._together, most // self._width)
        group = self._width * together
        whole, rest = builder.split(count, group)

        def groups(visit: _Visit) -> None:
            with builder.loop(integer(0), whole, integer(group)) as place:
                start = builder.add(first, place)
                starts = [builder.add(start, integer(at)) for at in range(0, group, self._width)]
                visit([VectorIndex((), each, self._width, version) for each in starts])

        def last(visit: _Visit) -> None:
            width = self._rest_width
            with builder.loop(whole, count, integer(width)) as place:
                lanes = builder.binary("sub", count, place)
                visit([VectorIndex((), builder.add(first, place), width, version, lanes=lanes)])

        each_row(groups)
        if rest.constant != 0:
            each_row(last)


@rule("walk-segments", lambda context, tensors: [])
def _partly_linear(context: Context, tensors: Sequence[Tensor]) -> list[Segmented]:
    """The steps that tell where rows are linear; none where other things do as well."""
    below = recipes_in_columns(tensors)
    if below is None:
        return []
    is_line = len(tensors[0].shape) == 1
    is_known = all(each.is_one_line for each in below if isinstance(each, Buffer))
    lines = [each for each in below if isinstance(each, Affine)]
    lines += [term.left for each in below if isinstance(each, Mask) for term in each.terms]
    parts = [line.components[-1] for line in lines]
    steps = [*dict.fromkeys(step for part in parts for step, _ in part.tables)]
    is_known &= not any(step.is_table for step in steps)
    is_known &= not any(part.granular for line in lines for part in line.components)
    # Panels of a product are as short as what a division leaves of a row.
    among = Clamped | Chosen if context.has_products else Clamped | Chosen | DivMod
    is_known &= is_line or all(isinstance(each.segments, among) for each in steps)
    return steps if is_known else []
