"""The loop of a matrix product by vector instructions, tile by tile.

    for each tile's columns of B:           or rows of A, whichever operand stays in the L1 cache
        for each tile's rows of A:          the last one of fewer
            begin with the sums before, multiply and add along K, have the sums go where they belong

Products differ in how tiles read A (`Lhs`) and B (`Rhs`), in the instruction (`MultiplyAdd`), in
where sums begin and go (`Sums`), and in what counts (`DotExtents`).

Tiles have as many rows as fill the vector registers with one run of columns each. Where fewer rows
are left, their tiles take more runs, so that as many sums are under way and few rows are wasted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import index_loops
from triton_rvv.lowering.products.dot_extents import DotExtents
from triton_rvv.lowering.products.lhs_tiles import Lhs, PackedLhs, TransposedPackedLhs
from triton_rvv.lowering.products.rhs_tiles import Rhs
from triton_rvv.lowering.products.sums import Sums
from triton_rvv.lowering.products.tile import MultiplyAdd, Tile, multiplied_and_added

__all__ = ["Product", "RowsOfA", "write_packed", "write_tiles"]

_USUAL_BITS = 32  # of sums, at least

# So many rows of A from the given one on, for a tile.
RowsOfA = Callable[[Val, int], Lhs]


@dataclass(frozen=True)
class Product:
    """A dot product on its way: `A @ b`, added to what its sums begin with.

    Args:
        live: how many rows, columns and steps along K there are to compute.
        rows, depth: the shape of A.
        sums: where they begin and go.
        multiply_add: the instruction that a tile is made of.
    """

    live: DotExtents
    rows: int
    depth: int
    b: Rhs
    sums: Sums
    multiply_add: MultiplyAdd = multiplied_and_added

    def tile_rows(self, most_rows: int) -> int:
        """The rows of a tile, of so many at most.

        Sums of 16 bits take half the time, and tiles of all rows would wait for their loads of A:
        those of half as many take two runs of columns.
        """
        are_short = self.sums.start.usual.element.bits < _USUAL_BITS
        takes_two_runs = are_short and self.b.block.shape[-1] > self.b.panel
        return min(self.rows, most_rows // 2 if takes_two_runs else most_rows)

    def is_one_tile(self, most_rows: int) -> bool:
        """Whether a tile of that many rows at most is the whole block, and stays in registers."""
        return self.rows <= most_rows and self.b.block.shape[-1] <= self.b.panel


def write_packed(
    context: Context,
    a: Buffer,
    product: Product,
    rows: type[PackedLhs] | type[TransposedPackedLhs] = PackedLhs,
) -> None:
    """Multiply operands that lie in panels, plane by plane where there is a batch of them.

    `rows` reads the array of A, or of its transpose.
    """
    builder = context.builder
    if len(a.shape) == 2:
        write_tiles(context, product, functools.partial(rows, builder, a))
        return
    block = product.b.block
    assert isinstance(block, Buffer)
    for batch in index_loops.steps(context, a.shape[0], 1, unrolled=False):
        plane = a.plane(builder, batch)
        one = replace(
            product,
            b=replace(product.b, block=block.plane(builder, batch)),
            sums=product.sums.plane(builder, batch),
        )
        write_tiles(context, one, functools.partial(rows, builder, plane))


def write_tiles(context: Context, product: Product, rows_of_a: RowsOfA) -> None:
    """Every tile of the result.

    Args:
        rows_of_a: the rows of A for a tile.
    """
    builder, most, live = context.builder, context.target.tile_rows, product.live.rows

    def every(end: int | Val) -> None:
        rows = product.tile_rows(most)
        whole_tiles = functools.partial(index_loops.steps, context, end, rows, False)
        _tiles(context, product, rows_of_a, rows, whole_tiles)

    if live is None:
        every(product.rows)
        return

    def last(first: Val, rows: int) -> None:
        _tiles(context, product, rows_of_a, min(product.rows, rows), lambda: [first])

    count = builder.intervals.number(live)
    if count is not None and not product.is_one_tile(most):
        whole, rest = builder.split(integer(count), most)
        every(whole)
        if rest.constant:
            last(whole, max(product.b.machine.min_tile_rows, rest.constant))
    else:
        _with_last_rows(builder, live, most, every, last)


def _with_last_rows(
    builder: Builder,
    live: Val,
    most: int,
    every: Callable[[Val], None],
    last: Callable[[Val, int], None],
) -> None:
    """Tiles of `most` rows, and one of half or a quarter as many where the run says so.

    Args:
        every: writes the tiles before a row.
        last: writes one tile at a row, of so many rows.
    """
    # More than half a tile of rows are worth a whole one.
    half, quarter = most // 2, max(1, most // 4)
    whole, _ = builder.split(builder.add(live, integer(half - 1)), most)
    rest = builder.binary("sub", live, whole)
    every(whole)

    def last_few() -> None:
        is_any = builder.compare("sgt", rest, integer(0))
        builder.branches(is_any, lambda: last(whole, quarter))

    are_more = builder.compare("sgt", rest, integer(quarter))
    builder.branches(are_more, lambda: last(whole, half), last_few)


def _tiles(
    context: Context,
    product: Product,
    rows_of_a: RowsOfA,
    tile_rows: int,
    starts: Callable[[], Iterable[Val]],
) -> None:
    """Tiles of some rows of the result.

    Args:
        starts: gives the first row of each tile; the body of the loop is that of a loop over them.
    """
    b = product.b.of_tiles(context.target.tile_rows // tile_rows)
    product, columns = replace(product, b=b), b.block.shape[-1]
    # A single tile stays in registers from one product to the next.
    single = (tile_rows, b.width) == (product.rows, columns)
    live = product.live.columns
    # Where one step is all there is, it is taken in any case.
    end = columns if live is None or columns <= b.width else live
    # Whether columns of B stay in the L1 cache while rows of A go by, and not the other way round.
    b_stays = b.lies_in_memory or b.size_bytes > b.machine.resident_bytes
    if b_stays:
        for column in index_loops.steps(context, end, b.width, single):
            for row in starts():
                _tile(context, product, rows_of_a(row, tile_rows), (row, column), stays=True)
    else:
        for row in starts():
            rows = rows_of_a(row, tile_rows)
            for column in index_loops.steps(context, end, b.width, single):
                _tile(context, product, rows, (row, column), stays=single)


def _tile(
    context: Context, product: Product, rows: Lhs, corner: tuple[Val, Val], stays: bool
) -> None:
    """One tile of the result.

    Args:
        corner: row and column of the tile's upper left element.
        stays: whether the next tile, if any, takes the same columns.
    """
    builder, (row, column) = context.builder, corner
    tile = Tile(builder, rows, product.b, column, stays, product.multiply_add)
    if context.choices.is_watched:
        operands = f"{type(rows).__name__} by {type(product.b).__name__}"
        context.choices.note("tiles", f"{rows.count} x {product.b.width}, {operands}")
    # Loads take longest where they come first.
    depth, end = _depth_and_turns(builder, product, tile)
    ahead = tile.begin(depth)
    places = [builder.add(row, integer(offset)) for offset in range(rows.count)]
    starts = [builder.add(column, integer(run * product.b.panel)) for run in range(product.b.runs)]
    points = [VectorIndex((place,), start, product.b.panel) for place in places for start in starts]
    sums = product.sums
    totals = sums.start.read(builder, points)
    for base in index_loops.steps(context, end, tile.unroll, unrolled=False):
        if sums.store is not None:
            after = builder.add(base, integer(tile.unroll))
            ends = builder.compare("sge", after, end)
            now = builder.conjunction(sums.store.is_now(builder), ends)
            builder.branches(now, functools.partial(sums.store.prefetch, builder, points))
        tile.multiply(base, depth, ahead, totals)
    if end is not depth:
        tail_k = product.b.machine.tail_k
        with builder.loop(end, depth, integer(tail_k)) as base:
            longest = tail_k * product.b.runs
            replace(tile, longest=longest).multiply(base, depth, ahead, totals)
    sums.write(builder, points, [total.read() for total in totals])


def _depth_and_turns(builder: Builder, product: Product, tile: Tile) -> tuple[Val, Val]:
    """How far a tile goes along K, and how far of that in whole turns: all, if it is one value."""
    live = product.live
    if live.depth is None:
        depth = integer(product.depth)
        return depth, depth
    if tile.rows.is_padded and product.b.is_padded:
        padded = live.padded_depth(builder, tile.unroll)
        assert padded is not None
        return padded, padded
    if tile.unroll <= product.b.machine.tail_k:  # of which the depth is a multiple
        return live.depth, live.depth
    whole, rest = builder.split(live.depth, tile.unroll)
    return live.depth, live.depth if rest.constant == 0 else whole
