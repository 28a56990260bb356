"""Walks over the elements of blocks: the loops, and the versions of them.

Some blocks are loaded in squares, which are transposed in registers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import (
    ANY_VERSION,
    PLAIN_VERSION,
    Extents,
    LoopVersion,
    VectorIndex,
)
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import integer
from triton_rvv.lowering.loops.boundary_masks import BoundaryMasks
from triton_rvv.lowering.loops.early_loads import early_loads
from triton_rvv.lowering.loops.index_loops import each_element, neighbours, positions, steps
from triton_rvv.lowering.loops.linear_segments import LinearSegments
from triton_rvv.lowering.loops.loop_versioning import guarded, guarded_within
from triton_rvv.lowering.loops.vector_groups import (
    VisitEarly,
    points_by_row,
    points_within,
    spanning_points,
)
from triton_rvv.lowering.loops.vector_shape import (
    UNROLLED_RUNS,
    group_of_runs,
    runs_together,
    spanning_width,
    vector_width,
)

__all__ = ["Squares", "for_each_run", "squares_of", "walk_exactly"]

T = TypeVar("T")

# Rows of fewer runs, or of fewer times those that are side by side, are walked with masks, since
# their edges are most of them.
_RUNS_BETWEEN_EDGES, _GROUPS_BETWEEN_EDGES = 8, 4


def for_each_run(
    context: Context,
    tensors: Sequence[Tensor],
    evaluate: Callable[[VectorIndex], T],
    commit: Callable[[VectorIndex, T], None],
    exactly: Callable[[], None] | None = None,
    is_plain: bool = True,
    within: Extents | None = None,
) -> None:
    """Walk over a block in row-major order, in runs that suit the vector registers.

    Several runs are evaluated side by side, since an in-order core waits for every result that is
    asked for too early, and then committed one after another.

    Args:
        tensors: what `evaluate` asks for, all of one shape; their guards decide at run time which
            version is taken.
        evaluate: writes the code that computes one run; it must not branch.
        commit: writes the code that does something with the outcome.
        exactly: writes the code for where sums in addresses or masks wrap, in a block of many
            runs; by default, elements are evaluated and committed one after another.
        is_plain: as in `loop_versioning.guarded`.
        within: the leading part of the block behind which nothing needs to be visited.
    """
    _Walk(context, tensors, evaluate, commit, exactly).write(is_plain, within)


class _Walk(Generic[T]):
    """How a block is walked over; the arguments are those of `for_each_run`."""

    def __init__(
        self,
        context: Context,
        tensors: Sequence[Tensor],
        evaluate: Callable[[VectorIndex], T],
        commit: Callable[[VectorIndex, T], None],
        exactly: Callable[[], None] | None,
    ) -> None:
        builder, shape = context.builder, tensors[0].shape
        self._context, self._builder, self._tensors = context, builder, tensors
        self._evaluate, self._commit, self._exactly = evaluate, commit, exactly
        width, self._vectors = _way_to_walk(context, tensors)
        self._width = width
        self._is_by_row = self._vectors is points_by_row
        self._is_unrolled = tensors[0].type.elements <= UNROLLED_RUNS * width
        is_grouped = self._is_by_row and not self._is_unrolled
        rows, runs = group_of_runs(context, tensors, shape, width) if is_grouped else (1, 0)
        self._rows_together, self._runs_together, step = rows, runs, runs * width
        self._early: VisitEarly | None = None
        if 0 < step < shape[-1] and not context.runs_once:
            early = early_loads(context, tensors, width, rows * runs)
            if early is not None:
                self._early = functools.partial(early.visit, step, evaluate, commit)
        self._squares = squares_of(context, tensors)
        self._step = 0 if self._squares else step
        together = runs_together(context, tensors)
        self._boundary_masks = BoundaryMasks(builder, tensors, width, together)
        self._segments = LinearSegments(context, tensors, width, together, self._boundary_masks)
        self._extents: Extents = [None] * len(shape)

    def write(self, is_plain: bool, within: Extents | None) -> None:
        """The walk over all of the block, or of what is in its leading part."""
        by_part = bool(self._segments.found)
        if within is not None:
            self._extents = within

        def anywhere() -> None:
            guarded(
                self._context,
                self._tensors,
                self._all,
                self._wrapped,
                is_plain,
                self._step,
                by_part=by_part,
            )

        if within is None or not self._may_end_early:
            anywhere()
        else:
            guarded_within(
                self._context, self._tensors, within, self._leading, anywhere, by_part=by_part
            )

    @property
    def _may_end_early(self) -> bool:
        """Whether a leading part can be walked over; not of arrays that registers hold."""
        below = recipes_under(self._tensors)
        reads_arrays = any(isinstance(tensor, Buffer) for tensor in below)
        in_registers = self._is_unrolled and reads_arrays
        return self._is_by_row and not self._squares and not in_registers

    def _all(self, version: LoopVersion) -> None:
        """The whole block."""
        if version == PLAIN_VERSION and self._squares:
            self._squares.walk(self._context, self._evaluate, self._commit)
        elif self._segments.found and not version.linear:
            everything = [None] * len(self._tensors[0].shape)
            self._segments.visit(version, everything, self._visit)
        elif self._has_edges(version):
            self._between_edges(version)
        else:
            early = {} if self._early is None else {"early": self._early}
            self._visit_each(
                self._vectors(
                    self._context, self._tensors, self._width, version, self._is_unrolled, **early
                )
            )

    def _has_edges(self, version: LoopVersion) -> bool:
        """Whether masks leave out what is at the edges of long rows.

        Rows that are computed side by side share more than their masks cost.
        """
        fewest = max(_RUNS_BETWEEN_EDGES, _GROUPS_BETWEEN_EDGES * self._runs_together)
        is_long = self._tensors[0].shape[-1] >= fewest * self._width
        is_alone = self._rows_together == 1 and not self._is_unrolled
        if not self._may_end_early or not is_alone or not is_long or version.unmasked:
            return False
        return self._boundary_masks.are_any and self._boundary_masks.begin_on(version)

    def _between_edges(self, version: LoopVersion) -> None:
        """The block row by row, without masks between the edges of a row."""
        pairs = zip(self._tensors[0].shape, self._extents, strict=True)
        *rows, end = [integer(size) if count is None else count for size, count in pairs]
        for row in positions(self._context, rows, unrolled=False):
            self._boundary_masks.visit_row(version, row, end, self._runs_together, self._visit)

    def _leading(self, version: LoopVersion, extents: Extents) -> None:
        """The leading part of the block."""
        if self._segments.found and not version.linear:
            self._segments.visit(version, extents, self._visit)
        else:
            self._visit_each(
                points_within(
                    self._context, self._tensors, self._width, version, extents, self._early
                )
            )

    def _visit_each(self, groups: Iterable[Sequence[VectorIndex]]) -> None:
        for points in groups:
            self._visit(points)

    def _visit(self, points: Sequence[VectorIndex]) -> None:
        outcomes = self._builder.interleave(
            [functools.partial(self._evaluate, point) for point in points]
        )
        for point, outcome in zip(points, outcomes, strict=True):
            self._commit(point, outcome)
        if self._context.choices.is_watched:
            self._context.choices.note("walks", f"{len(points)} x {points[0]}")

    def _wrapped(self) -> None:
        """The block where sums wrap."""
        if self._exactly is not None and not self._is_unrolled:
            self._exactly()
        else:
            walk_exactly(self._context, self._tensors, self._evaluate, self._commit)


def walk_exactly(
    context: Context,
    tensors: Sequence[Tensor],
    evaluate: Callable[[VectorIndex], T],
    commit: Callable[[VectorIndex, T], None],
) -> None:
    """Walk over a block of which nothing is known: in little code, whatever time it takes."""
    width, vectors = _way_to_walk(context, tensors)
    if tensors[0].type.elements > UNROLLED_RUNS * width:
        for point in each_element(context, tensors[0].shape):
            commit(point, evaluate(point))
        return
    # Arrays stay in registers only as long as nobody asks for single elements.
    groups = vectors(context, tensors, width, ANY_VERSION, True)
    outcomes = [(point, evaluate(point)) for points in groups for point in points]
    for point, outcome in outcomes:
        commit(point, outcome)


# Takes what `spanning_points` does.
_Vectors = Callable[..., Iterator[list[VectorIndex]]]


def _way_to_walk(context: Context, tensors: Sequence[Tensor]) -> tuple[int, _Vectors]:
    """The elements in a run, and what goes from run to run."""
    width, longer = vector_width(context, tensors), spanning_width(context, tensors)
    return max(width, longer), points_by_row if longer <= width else spanning_points


# Sides of squares: a larger one leaves no registers for the results.
_SMALLEST_SIDE, _LARGEST_SIDE = 4, 16


@dataclass(frozen=True)
class Squares:
    """What is loaded in squares.

    Args:
        loads: each of the shape of the block that is walked over.
        side: of a square, in elements.
    """

    loads: Sequence[Tensor]
    side: int

    def walk(
        self,
        context: Context,
        evaluate: Callable[[VectorIndex], T],
        commit: Callable[[VectorIndex, T], None],
    ) -> None:
        """Walk over the block in its plain version; the arguments are those of `for_each_run`."""
        builder, shape, side = context.builder, self.loads[0].shape, self.side
        for index in positions(context, shape[:-1], False, side):
            for start in steps(context, shape[-1], side, unrolled=False):
                rows = neighbours(context, index, side)
                points = [VectorIndex(row, start, side, PLAIN_VERSION) for row in rows]
                for load in self.loads:
                    for point, row in zip(points, load.square_at(builder, points), strict=True):
                        load.remember(builder, point, row)
                for point in points:
                    commit(point, evaluate(point))


@rule("transpose-squares", nothing)
def squares_of(context: Context, tensors: Sequence[Tensor]) -> Squares | None:
    """What of some blocks is best loaded in squares; None where nothing is.

    Nothing on the way into an array: its panels are filled sooner by gathers of whole runs.
    """
    shape = tensors[0].shape
    lanes = vector_width(context, tensors) // context.target.run_registers
    side = min(*shape[-2:], lanes, _LARGEST_SIDE)
    if len(shape) < 2 or side < _SMALLEST_SIDE or not context.target.transposes_registers:
        return None
    if any(isinstance(tensor, Buffer) for tensor in tensors):
        return None
    below = recipes_under(tensors)
    loads = [t for t in below if t.is_by_column and t.shape == shape and t.materialised is None]
    return Squares(loads, side) if loads else None
