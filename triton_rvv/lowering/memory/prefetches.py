"""Prefetches of what a walk over a block in memory reads or writes next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from triton_rvv.frontend.types import PointerType, ScalarType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.buffer import memory_type
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import READ, Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.ttir.access import RowsAhead

__all__ = [
    "RowHints",
    "ends_of_run",
    "prefetch_ahead",
    "prefetch_columns_ahead",
    "row_in_set",
    "run_address",
]


@dataclass
class RowHints:
    """What to ask for beside each run of a load.

    Attributes:
        to_next_program: elements to the block of the next program, where its lines are few.
        later_row: where the row lies that a later turn of a loop reads in its place.
        ahead: where its row may be asked for ahead, which of those beside it are.
        is_long: whether that is some lines further on, and not in place of the next program.
    """

    to_next_program: Val | None = None
    later_row: Affine | None = None
    ahead: RowsAhead | None = None
    is_long: bool = False

    def ask(self, builder: Builder, load: Tensor, row: Val, point: VectorIndex) -> None:
        """Ask for what follows a run, or takes its place later.

        The next program's block is asked for in the last of two walks, in which lines of this one
        are near, or in the only one.
        """
        following, is_read_again = self.to_next_program, not load.is_over
        most = builder.abilities.machine.max_rows_asked_for
        is_ahead = self.ahead is not None and self.ahead.takes(load, most)
        is_last = load.walks == 1 or (is_ahead and not self.is_long and not is_read_again)
        if following is not None and is_last:
            _prefetch_next_program(builder, row, load.element, point.width, following)
        if self.later_row is not None:
            _prefetch_later_row(builder, self.later_row, point)
        elif is_ahead and self.is_long and load.walks == 0 and not (following and is_read_again):
            _prefetch_stream(builder, row, load.element, point)


def run_address(builder: Builder, pointers: Affine, point: VectorIndex) -> Val:
    """The address of the first element of a contiguous run."""
    row = pointers.row_base(builder, point)
    return builder.element_pointer(memory_type(pointers.pointee), row, point.start)


def ends_of_run(
    builder: Builder, start: Val, element: ScalarType | PointerType, width: int, stride: Val
) -> list[Val]:
    """Addresses in each of the cache lines in which a run lies.

    Args:
        stride: elements from one row to the next; the first row starts with a line.
    """
    size_bytes, line_bytes = element.size_bytes, builder.abilities.machine.line_bytes
    places = [*range(0, width, max(line_bytes // size_bytes, 1))]
    if builder.multiple(stride) * size_bytes % min(width * size_bytes, line_bytes) != 0:
        places.append(width - 1)
    type_ = memory_type(element)
    return [builder.element_pointer(type_, start, integer(place)) for place in places]


def prefetch_ahead(
    builder: Builder,
    pointers: Affine,
    point: VectorIndex,
    address: Val,
    access: Val,
    is_aligned: bool = True,
) -> None:
    """Ask for a run some rows further on; a hint, whatever is there.

    After the last rows of a block come the first ones of the next turn, where a loop is known to
    move the block by so many elements. Unless the first row is aligned, a run may lie in one line
    more.

    Processors that foresee rows are not asked: on Zen 4, finding out which rows share sets of its
    cache took a tenth of the time of a transposed copy and of column sums.
    """
    if builder.abilities.foresees_rows or not point.index or not point.version.linear:
        return
    rows, element = pointers.shape[-2], memory_type(pointers.pointee)
    rows_ahead = _rows_ahead(builder, point)
    if not pointers.components[-2].may_be_linear:
        ahead = max(1, rows_ahead // point.row_runs)
        further = builder.add(point.index[-1], integer(min(ahead, rows - 1)))
        last = builder.intrinsic("llvm.umin", [further, integer(rows - 1)])
        row = replace(point, index=(*point.index[:-1], last))
        builder.prefetch(run_address(builder, pointers, row), access)
        return
    if pointers.advance is None and rows_ahead >= rows:
        return
    stride = pointers.components[-2].linear_stride(builder, pointers.index_type)
    distance, last_inside = _to_row_ahead(builder, pointers, point, stride)
    back = builder.binary("sub", distance, builder.mul(integer(rows), stride))
    beyond = integer(0) if pointers.advance is None else builder.add(pointers.advance, back)
    inside = builder.compare("sle", point.index[-1], last_inside)
    target = builder.select(inside, distance, beyond)
    further = builder.element_pointer(element, address, target)
    apart = stride if is_aligned else integer(1)
    for end in ends_of_run(builder, further, pointers.pointee, point.width, apart):
        builder.prefetch(end, access)


def _prefetch_next_program(
    builder: Builder, address: Val, element: ScalarType | PointerType, width: int, distance: Val
) -> None:
    """Ask for what the next program reads in place of a run; a hint, whatever is there.

    Where programs read neighbouring rows, the line in which the next one's run begins is the last
    one of the run before, so each line is asked for by its last element.

    Args:
        distance: elements to those of the next program.
    """
    start = builder.element_pointer(memory_type(element), address, distance)
    _prefetch_ends(builder, start, element, width)


def _prefetch_later_row(builder: Builder, pointers: Affine, point: VectorIndex) -> None:
    """Ask for a run of the row that a later turn of a loop reads; a hint, whatever is there."""
    pointers = pointers.on(point.version)
    start = run_address(builder, pointers, point)
    if point.start.constant == 0:
        builder.prefetch(start)
    _prefetch_ends(builder, start, pointers.pointee, point.width)


def _prefetch_stream(
    builder: Builder, address: Val, element: ScalarType | PointerType, point: VectorIndex
) -> None:
    """Ask for the lines that a long row has some lines behind a run; a hint, whatever is there.

    Of runs of less than a line, only those that begin where a line may are asked beside.
    """
    machine, size_bytes = builder.abilities.machine, element.size_bytes
    run_bytes = point.width * size_bytes
    begins = builder.multiple(point.start) * size_bytes % machine.line_bytes == 0
    if point.start.constant is not None or not (begins or run_bytes >= machine.line_bytes):
        return
    type_ = memory_type(element)
    for further_bytes in range(0, run_bytes, machine.line_bytes):
        distance = integer((machine.stream_ahead_bytes + further_bytes) // size_bytes)
        builder.prefetch(builder.element_pointer(type_, address, distance))


def _prefetch_ends(
    builder: Builder, start: Val, element: ScalarType | PointerType, width: int
) -> None:
    """Ask for lines by their last elements, if the run starts with a line."""
    type_ = memory_type(element)
    in_line = max(builder.abilities.machine.line_bytes // element.size_bytes, 1)
    for end in range(min(in_line, width), width + 1, in_line):
        builder.prefetch(builder.element_pointer(type_, start, integer(end - 1)))


def _rows_ahead(builder: Builder, point: VectorIndex) -> int:
    """How many rows further on a load asks for what comes next."""
    own = point.rows_ahead
    return builder.abilities.machine.rows_ahead if own is None else own


def _to_row_ahead(
    builder: Builder, pointers: Affine, point: VectorIndex, stride: Val
) -> tuple[Val, Val]:
    """Elements to the row to ask for, and the last row from which that is still in the block.

    It is nearer where rows share a few sets of the cache.
    """
    rows = pointers.shape[-2]
    nearest = max(builder.abilities.machine.colliding_rows_ahead, point.rows_together)
    counts = [min(count, rows) for count in (nearest, _rows_ahead(builder, point))]
    near, far = [(builder.mul(integer(n), stride), integer(rows - n - 1)) for n in counts]
    if counts[1] <= counts[0]:
        return far
    apart_bytes = builder.abilities.machine.conflict_bytes
    collide = builder.compare("eq", row_in_set(builder, pointers, apart_bytes), integer(0))
    return builder.select(collide, near[0], far[0]), builder.select(collide, near[1], far[1])


def row_in_set(builder: Builder, pointers: Affine, apart_bytes: int) -> Val:
    """Bytes from a row to the next one, modulo a power of two.

    With a power of two that lines of few sets are apart, 0 where all rows share these.
    """
    stride = pointers.components[-2].linear_stride(builder, pointers.index_type)
    distance_bytes = builder.mul(stride, integer(pointers.pointee.size_bytes))
    return builder.binary("and", distance_bytes, integer(apart_bytes - 1))


def prefetch_columns_ahead(builder: Builder, pointers: Affine, point: VectorIndex) -> None:
    """Ask for what follows a run, each element of which lies in a cache line of its own column.

    Rows are a few elements apart. While as many of them go by as a line holds, the next line of
    each column is asked for: at each row for some of the columns. Below the block come the columns
    of the next run, and behind those what a loop moves the block to.
    """
    is_on_path = point.index and point.version.linear and pointers.extra is None
    if not (is_on_path and builder.choices.allow("prefetch-columns")):
        return
    *_, above, last = pointers.components
    if not (above.may_be_linear and last.may_be_linear):
        return
    down = builder.intervals.number(above.linear_stride(builder, "i64"))
    machine = builder.abilities.machine
    elements = machine.line_bytes // pointers.pointee.size_bytes
    if down is None or not 0 < down < elements:
        return
    rows, columns, lanes = *pointers.shape[-2:], point.width
    stride, row = last.linear_stride(builder, pointers.index_type), point.index[-1]
    period = 1 << min(rows, elements // down).bit_length() - 1
    ahead = max(period, machine.rows_at_once)
    below = integer((ahead - rows) * down)
    to_next_run = builder.add(below, builder.mul(integer(lanes), stride))
    if pointers.advance is not None:
        back = builder.binary("sub", below, builder.mul(point.start, stride))
        is_last = builder.compare("sge", point.start, integer(columns - lanes))
        to_next_turn = builder.add(pointers.advance, back)
        to_next_run = builder.select(is_last, to_next_turn, to_next_run)
    inside = builder.compare("slt", row, integer(rows - ahead))
    distance = builder.select(inside, integer(ahead * down), to_next_run)
    start = pointers.at(builder, replace(point, width=1, memo={}))
    _, turn = builder.split(row, min(period, lanes))
    element, step = memory_type(pointers.pointee), builder.mul(integer(period), stride)
    first = builder.add(distance, builder.mul(turn, stride))
    address = builder.element_pointer(element, start, first)
    for part in range(0, lanes, period):
        if part:
            address = builder.element_pointer(element, address, step)
        builder.choices.follow("prefetch-columns")
        builder.prefetch(address, READ)
