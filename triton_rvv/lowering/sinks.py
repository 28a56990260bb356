"""Carries out recipes: walks over the elements of blocks, and decides what to keep in arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from triton_rvv.lowering.affine import Affine
from triton_rvv.lowering.buffer import Buffer
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.paths import all_fit, guarded
from triton_rvv.lowering.runs import group_of_runs, run_width, runs_together, spanning_width
from triton_rvv.lowering.sharing import at_same_places, reachable, readers
from triton_rvv.lowering.tensors import ANY_PATH, EXPENSIVE, PLAIN_PATH, Path, Point, Splat, Tensor
from triton_rvv.lowering.values import Val, integer
from triton_rvv.lowering.views import coordinates_of
from triton_rvv.types import TensorType

__all__ = [
    "copied_exactly",
    "copy",
    "copy_together",
    "each_element",
    "for_each_run",
    "materialise",
    "neighbours",
    "points_across",
    "positions",
    "prepare",
    "quick_to_read",
    "row_major",
    "row_major_array",
    "settle_loads",
    "spanning_points",
    "steps",
    "steps_along",
    "walking",
    "where_sums_fit",
]

# Blocks walked in at most this many runs are unrolled, so that LLVM keeps them in registers.
UNROLLED_RUNS = 8

# Sides of squares that are transposed in registers: a larger one leaves none for the results.
SMALLEST_SIDE, LARGEST_SIDE = 4, 16

T = TypeVar("T")


# -- what is computed when ---------------------------------------------------------------------


def materialise(context: Context, tensor: Tensor) -> Buffer:
    """An array that holds the tensor's elements as they are now."""
    if isinstance(tensor, Buffer):
        return tensor
    if tensor.settled is None:
        buffer = context.buffer(tensor.type, tensor.panel_bits)
        copy(context, tensor, buffer)
        context.keep(tensor, buffer)
        _drop_loads(context)
        return buffer
    return tensor.settled


def quick_to_read(context: Context, tensor: Tensor) -> Tensor:
    """The tensor, or an array of it if elements that are asked for one by one would cost more."""
    if isinstance(tensor, Splat | Affine) or tensor.cost == 0:
        return tensor
    return materialise(context, tensor)


def row_major(context: Context, tensor: Tensor) -> Buffer:
    """An array that holds the tensor's elements as they are now, one whole row after another.

    No product should take it for an operand: it has no panels.
    """
    found = tensor if isinstance(tensor, Buffer) else tensor.settled
    if found is not None and found.panel == found.shape[-1]:
        return found
    array = row_major_array(context, tensor.type)
    copy(context, tensor, array)
    return array


def row_major_array(context: Context, type_: TensorType) -> Buffer:
    """An array without panels, its contents undefined."""
    return Buffer(type_, context.buffer(type_).pointer, type_.shape[-1])


def copy(context: Context, tensor: Tensor, buffer: Buffer, is_plain: bool = True) -> None:
    """Write every element of `tensor` to `buffer`; `is_plain` as in `paths.guarded`."""
    _write_all(context, [(tensor, buffer)], is_plain)


def copy_together(context: Context, pairs: Sequence[tuple[Tensor, Buffer]]) -> None:
    """Write every element of tensors of one shape to arrays, in one walk.

    A tensor may read its own array where it is written next, and no other array of these.
    """
    with walking(context, [tensor for tensor, _ in pairs]):
        _write_all(context, pairs)


def _write_all(
    context: Context, pairs: Sequence[tuple[Tensor, Buffer]], is_plain: bool = True
) -> None:
    """Write every element of tensors of one shape to arrays."""
    tensors, arrays = [tensor for tensor, _ in pairs], [array for _, array in pairs]

    def write(point: Point, values: Sequence[Val]) -> None:
        for array, value in zip(arrays, values, strict=True):
            array.write(context.builder, point, value)

    for_each_run(
        context,
        [*tensors, *arrays],
        lambda point: [tensor.at(context.builder, point) for tensor in tensors],
        write,
        is_plain=is_plain,
    )


def prepare(context: Context, roots: Sequence[Tensor], changes_memory: bool = False) -> None:
    """Get ready for a sink that evaluates `roots`.

    What only this sink uses is computed on the way. Of what others use too, costly results, and
    loads that take long, are computed now and kept; where the sink changes memory, so are all
    other loads.
    """
    order, exclusive, _ = reachable(roots, set())
    _compute_shared(context, roots, [tensor for tensor in order if tensor not in exclusive])
    if changes_memory:
        settle_loads(context)


@contextmanager
def walking(
    context: Context, roots: Sequence[Tensor], changes: Callable[[Tensor], bool] | None = None
) -> Iterator[None]:
    """Like `prepare`, for a sink that evaluates every element of `roots` inside the `with`.

    Of what others use too, elements that are computed for this sink are kept as they go by: costly
    ones, and those whose loads the sink may change, so that no load is copied beforehand.

    Args:
        context: where the code goes.
        roots: of one shape.
        changes: of a sink that changes memory, whether it may change what a load reads.
    """
    places = at_same_places(roots)
    candidates = {each for each in places if _is_worth_keeping(context, each)}
    if changes is not None:
        candidates.difference_update(context.pending_loads)
        candidates |= places & _kept_for_loads(roots, filter(changes, context.pending_loads))
    order, exclusive, kept = reachable(roots, candidates)
    others = [tensor for tensor in order if tensor not in exclusive and tensor not in kept]
    _compute_shared(context, roots, others)
    if changes is not None:
        # What only this walk asks for is read on the way.
        context.pending_loads = [each for each in context.pending_loads if each not in exclusive]
        settle_loads(context, changes)
    for tensor in kept:
        tensor.filling = context.buffer(tensor.type)
    yield
    for tensor in kept:
        assert tensor.filling is not None
        context.keep(tensor, tensor.filling)
        tensor.filling = None
    _drop_loads(context)


def _kept_for_loads(roots: Sequence[Tensor], changed: Iterable[Tensor]) -> set[Tensor]:
    """What is made of loads that a sink changes, where nothing else asks for these loads again."""
    loads = set(changed)
    if not loads:
        return set()
    made = readers(roots, loads)
    order, exclusive, _ = reachable(roots, made)
    asked_again = [each for each in order if each in loads and each not in exclusive]
    return made - readers(roots, asked_again)


def settle_loads(context: Context, which: Callable[[Tensor], bool] = lambda _: True) -> None:
    """Carry out loads that were put off."""
    for load in [load for load in context.pending_loads if which(load)]:
        if load.settled is None:
            materialise(context, load)
    _drop_loads(context)


def _compute_shared(context: Context, roots: Sequence[Tensor], shared: Sequence[Tensor]) -> None:
    """Compute what is better not computed again for the next sink, before this one."""
    for tensor in shared:
        if _is_worth_keeping(context, tensor):
            materialise(context, tensor)
    for root in roots:
        root.finish()
    _drop_loads(context)


def _drop_loads(context: Context) -> None:
    """Forget the loads that nothing asks for any more."""
    context.pending_loads = [
        load for load in context.pending_loads if not (load.is_over or load.settled)
    ]


def _is_worth_keeping(context: Context, tensor: Tensor) -> bool:
    """Whether an array of the elements, or registers, are faster than to ask for them again."""
    if tensor.settled is not None:
        return False
    if tensor in context.pending_loads:
        stays_in_registers = tensor.type.elements <= UNROLLED_RUNS * run_width(context, [tensor])
        if stays_in_registers or not tensor.own_reads_again:
            return True
    return tensor.cost >= EXPENSIVE


# -- walking over blocks -----------------------------------------------------------------------


def for_each_run(
    context: Context,
    tensors: Sequence[Tensor],
    evaluate: Callable[[Point], T],
    commit: Callable[[Point, T], None],
    exactly: Callable[[], None] | None = None,
    is_plain: bool = True,
) -> None:
    """Walk over a block in row-major order, in runs that suit the vector registers.

    Several runs are evaluated side by side, since an in-order core waits for every result that is
    asked for too early, and then committed one after another.

    Args:
        context: where the code goes.
        tensors: what `evaluate` asks for, all of one shape; their guards decide at run time which
            path is taken.
        evaluate: writes the code that computes one run; it must not branch.
        commit: writes the code that does something with the outcome.
        exactly: writes the code for where sums in addresses or masks wrap, in a block of many
            runs; by default, elements are evaluated and committed one after another.
        is_plain: as in `paths.guarded`.
    """
    width, points_of = _way_to_walk(context, tensors)
    unrolled = tensors[0].type.elements <= UNROLLED_RUNS * width
    by_row = points_of is _points_by_row and not unrolled
    step = width * group_of_runs(tensors, tensors[0].shape, width)[1] if by_row else 0

    by_column, side = _loads_by_column(context, tensors)
    if by_column:
        step = 0

    def walk(path: Path) -> None:
        if path == PLAIN_PATH and by_column:
            _walk_squares(context, tensors[0].shape, side, by_column, evaluate, commit)
            return
        for points in points_of(context, tensors, width, path, unrolled):
            outcomes = context.builder.interleave(
                [functools.partial(evaluate, point) for point in points]
            )
            for point, outcome in zip(points, outcomes, strict=True):
                commit(point, outcome)

    def otherwise() -> None:
        if exactly is not None and not unrolled:
            exactly()
        else:
            _walk_exactly(context, tensors, evaluate, commit)

    guarded(context, tensors, walk, otherwise, is_plain, step)


def _loads_by_column(context: Context, tensors: Sequence[Tensor]) -> tuple[Sequence[Tensor], int]:
    """What is best loaded in squares and transposed in registers, and the side of a square.

    Nothing on the way into an array: its panels are filled sooner by gathers of whole runs.
    """
    shape = tensors[0].shape
    lanes = run_width(context, tensors) // context.target.run_registers
    side = min(*shape[-2:], lanes, LARGEST_SIDE)
    if len(shape) < 2 or side < SMALLEST_SIDE or not context.target.transposes_registers:
        return [], 0
    if any(isinstance(tensor, Buffer) for tensor in tensors):
        return [], 0
    below = dict.fromkeys(tensor for root in tensors for tensor in root.walk())
    return [t for t in below if t.is_by_column and t.shape == shape and t.settled is None], side


def _walk_squares(
    context: Context,
    shape: Sequence[int],
    side: int,
    by_column: Sequence[Tensor],
    evaluate: Callable[[Point], T],
    commit: Callable[[Point, T], None],
) -> None:
    """Walk over a block on the plain path in squares.

    Args:
        context: where the code goes.
        shape: of the block.
        side: of a square.
        by_column: what is asked for whole squares.
        evaluate: writes the code that computes one run.
        commit: writes the code that does something with the outcome.
    """
    builder = context.builder
    for index in positions(context, shape[:-1], False, side):
        for start in steps(context, shape[-1], side, unrolled=False):
            rows = neighbours(context, index, side)
            points = [Point(row, start, side, PLAIN_PATH) for row in rows]
            for load in by_column:
                for point, row in zip(points, load.square_at(builder, points), strict=True):
                    load.remember(builder, point, row)
            for point in points:
                commit(point, evaluate(point))


def _walk_exactly(
    context: Context,
    tensors: Sequence[Tensor],
    evaluate: Callable[[Point], T],
    commit: Callable[[Point, T], None],
) -> None:
    """Walk over a block of which nothing is known: in little code, whatever time it takes."""
    width, points_of = _way_to_walk(context, tensors)
    if tensors[0].type.elements > UNROLLED_RUNS * width:
        for point in each_element(context, tensors[0].shape):
            commit(point, evaluate(point))
        return
    # Arrays stay in registers only as long as nobody asks for single elements.
    groups = points_of(context, tensors, width, ANY_PATH, True)
    outcomes = [(point, evaluate(point)) for points in groups for point in points]
    for point, outcome in outcomes:
        commit(point, outcome)


# Takes what `_points_by_row` does.
_Walk = Callable[[Context, Sequence[Tensor], int, Path, bool], Iterator[list[Point]]]


def _way_to_walk(context: Context, tensors: Sequence[Tensor]) -> tuple[int, _Walk]:
    """The elements in a run, and what goes from run to run."""
    width, longer = run_width(context, tensors), spanning_width(context, tensors)
    return max(width, longer), _points_by_row if longer <= width else spanning_points


def _points_by_row(
    context: Context, tensors: Sequence[Tensor], width: int, path: Path, unrolled: bool
) -> Iterator[list[Point]]:
    """Runs over a whole block, each within a row, as many side by side as suit it.

    The body of the caller's `for` is the body of the loops.
    """
    shape = tensors[0].shape
    rows, runs = group_of_runs(tensors, shape, width)
    for index in positions(context, shape[:-1], unrolled, rows):
        for start, where in steps_along(context, 0, shape[-1], runs * width, path, unrolled):
            yield [
                Point(
                    row,
                    context.builder.add(start, integer(run * width)),
                    width,
                    where,
                    row_runs=shape[-1] // width,
                )
                for row in neighbours(context, index, rows)
                for run in range(runs)
            ]


def spanning_points(
    context: Context, tensors: Sequence[Tensor], width: int, path: Path, unrolled: bool
) -> Iterator[list[Point]]:
    """Runs over a whole block in row-major order, as many side by side as suit it.

    The body of the caller's `for` is the body of the loop.
    """
    shape, elements = tensors[0].shape, tensors[0].type.elements
    together = min(runs_together(tensors), elements // width)
    for first in steps(context, elements, together * width, unrolled):
        points = []
        for run in range(together):
            number = context.builder.add(first, integer(run * width))
            where = coordinates_of(context.builder, shape, number)
            points.append(Point(where[:-1], where[-1], width, path, number=number))
        yield points


def steps_along(
    context: Context, first: int, size: int, step: int, path: Path, unrolled: bool = False
) -> Iterator[tuple[Val, Path]]:
    """first, first + step, ... below `size`, and the path on which each so many columns are.

    The body of the caller's `for` is the body of the loops, of which there are two where a path has
    plain columns: at least `first` of them, in whole steps.
    """
    if unrolled or size <= step:
        for known in range(first, size, step):
            yield integer(known), path
        return
    begin = integer(first)
    if path.plain_columns is not None:
        with context.builder.loop(begin, path.plain_columns, integer(step)) as position:
            yield position, PLAIN_PATH
        begin, path = path.plain_columns, replace(path, plain_columns=None)
    with context.builder.loop(begin, integer(size), integer(step)) as position:
        yield position, path


def points_across(
    index: tuple[Val, ...], axis: int, starts: Sequence[Val], width: int, path: Path, along: Val
) -> list[Point]:
    """Runs of an array, at position `along` of a dimension that `index` leaves out."""
    where = (*index[:axis], along, *index[axis:])
    return [Point(where, start, width, path) for start in starts]


def neighbours(context: Context, index: tuple[Val, ...], rows: int) -> list[tuple[Val, ...]]:
    """`index` and the rows that follow it."""
    if not index:
        return [index]
    *outer, last = index
    return [(*outer, context.builder.add(last, integer(row))) for row in range(rows)]


def where_sums_fit(
    context: Context, tensors: Sequence[Tensor], sink: Callable[[Sequence[Tensor]], None]
) -> None:
    """Write `sink` of the tensors, or of arrays of their elements where sums in them wrap."""

    def of_arrays() -> None:
        sink([copied_exactly(context, tensor) for tensor in tensors])

    context.builder.branches(all_fit(context, tensors), lambda: sink(tensors), of_arrays)


def copied_exactly(context: Context, tensor: Tensor) -> Buffer:
    """An array of the tensor's elements, where sums in their addresses may wrap."""
    array, builder = row_major_array(context, tensor.type), context.builder
    _walk_exactly(
        context,
        [tensor, array],
        lambda point: tensor.at(builder, point),
        lambda point, value: array.write(builder, point, value),
    )
    return array


def each_element(context: Context, shape: Sequence[int]) -> Iterator[Point]:
    """Every element of a block; nothing is known of it."""
    for index in positions(context, shape, unrolled=False):
        yield Point(index[:-1], index[-1], 1)


def positions(
    context: Context, sizes: Sequence[int | Val], unrolled: bool, step: int = 1
) -> Iterator[tuple[Val, ...]]:
    """Every index of the given dimensions in row-major order, the last one in steps of `step`.

    The body of the caller's `for` is the body of the loops.
    """
    if not sizes:
        yield ()
        return
    for position in steps(context, sizes[0], step if len(sizes) == 1 else 1, unrolled):
        for rest in positions(context, sizes[1:], unrolled, step):
            yield (position, *rest)


def steps(context: Context, size: int | Val, step: int, unrolled: bool) -> Iterator[Val]:
    """0, step, 2 * step, ... below `size`, as a loop at run time unless `unrolled`.

    The body of the caller's `for` is the body of the loop.
    """
    end = integer(size) if isinstance(size, int) else size
    if (known := end.constant) is not None and (unrolled or known <= step):
        yield from map(integer, range(0, known, step))
        return
    with context.builder.loop(integer(0), end, integer(step)) as position:
        yield position
