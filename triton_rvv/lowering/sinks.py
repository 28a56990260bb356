"""Carries out recipes: walks over the elements of blocks, and decides what to keep in arrays."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from triton_rvv.lowering.context import Context
from triton_rvv.lowering.paths import all_fit, guarded
from triton_rvv.lowering.tensors import ANY_PATH, EXPENSIVE, Buffer, Path, Point, Tensor
from triton_rvv.lowering.values import Val, integer
from triton_rvv.lowering.views import coordinates_of
from triton_rvv.types import PointerType, TensorType

__all__ = [
    "copied_exactly",
    "copy",
    "each_element",
    "for_each_run",
    "group_of_runs",
    "materialise",
    "neighbours",
    "positions",
    "prepare",
    "row_major",
    "row_major_array",
    "run_width",
    "settle_loads",
    "spanning_points",
    "spanning_width",
    "steps",
    "where_sums_fit",
]

# Blocks walked in at most this many runs are unrolled, so that LLVM keeps them in registers.
UNROLLED_RUNS = 8

T = TypeVar("T")


# -- what is computed when ---------------------------------------------------------------------


def materialise(context: Context, tensor: Tensor) -> Buffer:
    """An array that holds the tensor's elements as they are now."""
    if isinstance(tensor, Buffer):
        return tensor
    if tensor.settled is None:
        buffer = context.buffer(tensor.type)
        copy(context, tensor, buffer)
        context.keep(tensor, buffer)
        return buffer
    return tensor.settled


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
    for_each_run(
        context,
        [tensor, buffer],
        lambda point: tensor.at(context.builder, point),
        lambda point, value: buffer.write(context.builder, point, value),
        is_plain=is_plain,
    )
    context.pending_loads = [load for load in context.pending_loads if load is not tensor]


def prepare(context: Context, roots: Sequence[Tensor], changes_memory: bool = False) -> None:
    """Get ready for a sink that evaluates `roots`.

    What only this sink uses is computed on the way. Of what others use too, loads and costly
    results are computed now and kept; where the sink changes memory, so are all other loads.
    """
    order, exclusive = _reachable(roots)
    for tensor in order:
        shared = tensor not in exclusive
        if shared and (tensor in context.pending_loads or tensor.cost >= EXPENSIVE):
            materialise(context, tensor)
    context.pending_loads = [load for load in context.pending_loads if load not in exclusive]
    if changes_memory:
        settle_loads(context)


def settle_loads(context: Context) -> None:
    """Carry out every load that was put off."""
    while context.pending_loads:
        materialise(context, context.pending_loads[0])


def _reachable(roots: Sequence[Tensor]) -> tuple[list[Tensor], set[Tensor]]:
    """All recipes under `roots`, operands first, and those that nothing else uses.

    A recipe is exclusive where every use of it is below these roots, by way of exclusive ones.
    """
    order: list[Tensor] = []
    seen: set[Tensor] = set()

    def visit(tensor: Tensor) -> None:
        if tensor not in seen:
            seen.add(tensor)
            for operand in tensor.operands:
                visit(operand)
            order.append(tensor)

    for root in roots:
        visit(root)
    found = Counter(roots)
    exclusive: set[Tensor] = set()
    for tensor in reversed(order):
        # A recipe without uses in the kernel is a part of one other.
        if found[tensor] >= max(tensor.uses, 1):
            exclusive.add(tensor)
            found.update(tensor.operands)
    return order, exclusive


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

    def walk(path: Path) -> None:
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

    guarded(context, tensors, walk, otherwise, is_plain)


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
        for start in steps(context, shape[-1], runs * width, unrolled):
            yield [
                Point(row, context.builder.add(start, integer(run * width)), width, path)
                for row in neighbours(context, index, rows)
                for run in range(runs)
            ]


def spanning_width(context: Context, tensors: Sequence[Tensor]) -> int:
    """How many elements a run takes that spans several short rows; 0 where none may."""
    type_ = tensors[0].type
    lanes = min(type_.elements, context.run_lanes(_widest_bits(tensors)))
    may_span = lanes > type_.shape[-1] and all(tensor.spans_rows for tensor in tensors)
    return lanes if may_span else 0


def spanning_points(
    context: Context, tensors: Sequence[Tensor], width: int, path: Path, unrolled: bool
) -> Iterator[list[Point]]:
    """Runs over a whole block in row-major order, as many side by side as suit it.

    The body of the caller's `for` is the body of the loop.
    """
    shape, elements = tensors[0].shape, tensors[0].type.elements
    together = min(_runs_together(tensors), elements // width)
    for first in steps(context, elements, together * width, unrolled):
        points = []
        for run in range(together):
            number = context.builder.add(first, integer(run * width))
            where = coordinates_of(context.builder, shape, number)
            points.append(Point(where[:-1], where[-1], width, path, number=number))
        yield points


def group_of_runs(tensors: Sequence[Tensor], shape: Sequence[int], width: int) -> tuple[int, int]:
    """How many rows, and runs in each of them, are best computed side by side.

    Cheap recipes need few registers, so that more of them fit.
    """
    together = _runs_together(tensors)
    runs = min(together, shape[-1] // width)
    rows = min(together // runs, shape[-2]) if len(shape) > 1 else 1
    return rows, runs


def _runs_together(tensors: Sequence[Tensor]) -> int:
    return 4 if sum(tensor.cost for tensor in tensors) <= EXPENSIVE else 2


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


def run_width(context: Context, tensors: Sequence[Tensor]) -> int:
    """How many neighbours one run takes."""
    return min(tensors[0].shape[-1], context.run_lanes(_widest_bits(tensors)))


def _widest_bits(tensors: Sequence[Tensor]) -> int:
    bits = 8  # truth values take a byte in memory
    for tensor in tensors:
        # Addresses are seldom computed for every lane.
        own = 0 if isinstance(tensor.element, PointerType) else tensor.element.bits
        bits = max(bits, own, tensor.widest_bits())
    return bits


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
