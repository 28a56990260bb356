"""`tl.dot` by instructions that multiply and add several steps along K at once.

`HostTarget.steps_together` says which there are: x86's `vdpbf16ps` takes 2 steps of bf16, and
`vpdpbusd` 4 steps of 8-bit integers. Both add the products in each word of 32 bits of two registers
to a sum of 32 bits. So both operands are copied into arrays of words: of A, neighbours in a row
make a word, and of B, neighbours in a column.

    for each word along K: b = B[word, columns]; for each row r: acc[r] = dp(acc[r], A[r, word], b)

`vpdpbusd` takes one operand to be unsigned. That is A, to which 128 is added: 128 times the sum of
each column of B is too much then, and is taken from the sums before a tile starts. Integers wrap,
so the result is exact.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.blocks.views import Plane
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.helpers import Variable
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vectors import concatenated
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.math.lanes import Emit
from triton_rvv.lowering.products.dot_extents import DotExtents, dot_extents
from triton_rvv.lowering.products.word_operands import (
    INT8,
    OFFSETS,
    WordsOfColumns,
    WordsOfRows,
    packed_words,
    words_of,
)
from triton_rvv.targets.target import Target

__all__ = ["is_grouped", "multiply_in_groups"]

# With fewer rows, copying B costs more than it saves.
_MIN_ROWS = 4
# The instructions take registers of at least 128 bits.
_MIN_COLUMNS = 4
# Words along K whose multiply-adds are written out.
_UNROLL = 8
# Sums of a column's words that are under way together.
_CHAINS = 4

_SUMS = {"bf16": "f32", "i8": "i32"}


def is_grouped(target: Target, left: Tensor, right: Tensor, sum_type: ScalarType) -> bool:
    """Whether such an instruction can compute `left @ right`."""
    element = left.element
    if not isinstance(element, ScalarType) or element != right.element:
        return False
    together = target.steps_together(element.name)
    is_large = left.shape[-2] >= _MIN_ROWS and right.shape[-1] >= _MIN_COLUMNS
    fits = is_large and left.shape[-1] >= together
    return together > 1 and fits and sum_type.name == _SUMS[element.name]


def multiply_in_groups(
    context: Context,
    operation: Operation,
    left: Tensor,
    right: Tensor,
    start: Tensor,
    result: Buffer,
    rounded: Emit,
) -> None:
    """Write `start + left @ right` to `result`, which may be the array that `start` reads.

    Args:
        operation: the product, for whose operands `is_grouped` holds.
        left, right, start: its operands; `start` has the type of the sums.
    """
    assert isinstance(left.element, ScalarType)
    assert isinstance(start.element, ScalarType)
    together = context.target.steps_together(left.element.name)
    a, b = WordsOfRows(left, together), WordsOfColumns(right, together)
    materialise.prepare(context, [a, b, start])
    live = dot_extents(context, operation, left, right, start.element)
    words = None if live.depth is None else words_of(context.builder, live.depth, together)
    around = [None] * (len(left.shape) - 2)
    product = _Product(
        packed_words(context, a, [*around, live.rows, words], whole_columns=_UNROLL),
        packed_words(context, b, [*around, words, live.columns], whole_rows=_UNROLL),
        start,
        result,
        rounded,
        DotExtents(live.rows, live.columns, words),
        _multiply_add(context.target, left.element.name),
        is_offset=left.element == INT8,
    )
    for batch in index_loops.positions(context, left.shape[:-2], unrolled=False):
        _tiles(context, product.plane(context.builder, *batch) if batch else product)


# Adds products of words to sums: of the sums, a word of A in each lane, and words of B.
_MultiplyAdd = Callable[[Builder, Val, Val, Val], Val]


def _multiply_add(target: Target, element: str) -> _MultiplyAdd:
    """What writes the instruction for operands of a type."""
    sum_, operand, many, name = {
        "bf16": ("float", "bfloat", 2, "llvm.x86.avx512bf16.dpbf16ps"),
        "i8": ("i32", "i8", 4, "llvm.x86.avx512.vpdpbusd"),
    }[element]

    def emit(builder: Builder, total: Val, left: Val, right: Val) -> Val:
        type_ = vector_type(operand, many * total.width)
        operands = [builder.reinterpret(word, type_) for word in (left, right)]
        sums = vector_type(sum_, total.width)
        return builder.call(sums, f"{name}.{32 * total.width}", [total, *operands])

    return emit


@dataclass(frozen=True)
class _Product:
    """A product on its way: `result = start + a @ b`.

    Args:
        a, b: the operands as words.
        start: the accumulator before, in the type of the sums.
        result: the accumulator after; it may be the array that `start` reads.
        live: how many rows, columns and words along K there are to compute.
        multiply_add: writes the instruction.
        is_offset: whether 128 has been added to each element of A.
    """

    a: Buffer
    b: Buffer
    start: Tensor
    result: Buffer
    rounded: Emit
    live: DotExtents
    multiply_add: _MultiplyAdd
    is_offset: bool

    @property
    def unroll(self) -> int:
        """Words along K that are written out."""
        return min(self.a.shape[-1], _UNROLL)

    def words(self, builder: Builder) -> Val | int:
        """How far loops along K go, in words."""
        return self.live.padded_depth(builder, self.unroll) or self.a.shape[-1]

    def plane(self, builder: Builder, batch: Val) -> _Product:
        """One product of a batch of them."""
        a, b, result = (array.plane(builder, batch) for array in (self.a, self.b, self.result))
        return replace(self, a=a, b=b, start=Plane(self.start, batch), result=result)


def _tiles(context: Context, product: _Product) -> None:
    """Every tile of the result; a panel of B stays in the L1 cache while rows of A go by."""
    rows, columns = product.result.shape
    tile_rows, panel = min(rows, context.target.tile_rows), product.b.panel
    # A single tile stays in registers from one product to the next.
    single = (rows, columns) == (tile_rows, panel)
    live_rows = rows if product.live.rows is None or single else product.live.rows
    live_columns = columns if product.live.columns is None or single else product.live.columns
    for column in index_loops.steps(context, live_columns, panel, single):
        offset = _offset(context, product, column) if product.is_offset else None
        for row in index_loops.steps(context, live_rows, tile_rows, single):
            places = [context.builder.add(row, integer(place)) for place in range(tile_rows)]
            _tile(
                context, product, [VectorIndex((place,), column, panel) for place in places], offset
            )


def _offset(context: Context, product: _Product, column: Val) -> Sequence[Val]:
    """128 times the sum of each column of a panel."""
    builder, width = context.builder, _register_lanes(context, product)
    pieces = product.b.panel // width
    zeros, offsets = (
        Val(vector_type("i32", width), "zeroinitializer"),
        builder.splat(OFFSETS, width),
    )
    # Sums of neighbouring words do not wait for one another.
    chains = min(product.unroll, _CHAINS)
    totals = [[Variable(builder, zeros) for _ in range(pieces)] for _ in range(chains)]
    for base in index_loops.steps(context, product.words(builder), product.unroll, unrolled=False):
        for word in range(product.unroll):
            bs = _b(builder, product, column, base, word, width)
            for total, b in zip(totals[word % chains], bs, strict=True):
                total.write(product.multiply_add(builder, total.read(), offsets, b))
    add = functools.partial(builder.binary, "add")
    return [functools.reduce(add, [t.read() for t in piece]) for piece in zip(*totals, strict=True)]


def _tile(
    context: Context, product: _Product, points: Sequence[VectorIndex], offset: Sequence[Val] | None
) -> None:
    """One tile of the result, whose rows are at `points`.

    Args:
        points: the tile's rows.
        offset: what is to be taken from the sums, one vector for each register of a row.
    """
    builder, width = context.builder, _register_lanes(context, product)
    row, column, panel = points[0].index[0], points[0].start, product.a.panel
    totals = []
    for point in points:
        before = product.start.at(builder, point)
        pieces = [builder.lanes(before, at, width) for at in range(0, point.width, width)]
        if offset is not None:
            pieces = [builder.binary("sub", *two) for two in zip(pieces, offset, strict=True)]
        totals.append([Variable(builder, piece) for piece in pieces])
    for base in index_loops.steps(context, product.words(builder), product.unroll, unrolled=False):
        first, place = builder.split(base, panel)
        pointer = product.a.address_in_panel(builder, first, row, place)
        for word in range(product.unroll):
            bs = _b(builder, product, column, base, word, width)
            for number, sums in enumerate(totals):
                address = builder.element_pointer("i32", pointer, integer(number * panel + word))
                a = builder.splat(builder.load("i32", address, 4), width)
                for total, b in zip(sums, bs, strict=True):
                    total.write(product.multiply_add(builder, total.read(), a, b))
    for point, sums in zip(points, totals, strict=True):
        whole = concatenated(builder, [each.read() for each in sums])
        product.result.write(builder, point, product.rounded(builder, [whole]))


def _register_lanes(context: Context, product: _Product) -> int:
    """Words in one register, as far as there are columns."""
    return min(product.b.panel, context.target.lanes(32))


def _b(
    builder: Builder, product: _Product, column: Val, base: Val, word: int, width: int
) -> list[Val]:
    """The words of a panel of B, a step along K, in registers."""
    start = product.b.address_in_panel(builder, column, base, integer(0))
    places = range(word * product.b.panel, (word + 1) * product.b.panel, width)
    pointers = [builder.element_pointer("i32", start, integer(place)) for place in places]
    return [builder.load(vector_type("i32", width), pointer, 4) for pointer in pointers]
