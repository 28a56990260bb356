"""`tl.dot` by instructions that multiply and add several steps along K at once.

`HostTarget.steps_together` says which there are: x86's `vdpbf16ps` takes 2 steps of bf16, and
`vpdpbusd` 4 steps of 8-bit integers. Both add the products in each word of 32 bits of two registers
to a sum of 32 bits. So both operands are copied into arrays of words: of A, neighbours in a row
make a word, and of B, neighbours in a column. A product of words has the tiles of any other.

`vpdpbusd` takes one operand to be unsigned. That is A, to which 128 is added: 128 times the sum of
each column of B is too much then, and is taken from the sums before. Integers wrap, so the result
is exact.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import Elementwise, guards_of_all
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import Extents, VectorIndex
from triton_rvv.lowering.blocks.views import Broadcast
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.llvm.vectors import concatenated, in_turn
from triton_rvv.lowering.loops import index_loops, loop_versioning, materialise
from triton_rvv.lowering.products.dot_extents import DotExtents, dot_extents
from triton_rvv.lowering.products.loop_updates import plan_loop_update
from triton_rvv.lowering.products.pack import copy_part
from triton_rvv.lowering.products.product import Product, write_packed
from triton_rvv.lowering.products.rhs_tiles import PackedRhs
from triton_rvv.lowering.products.sums import sums_of
from triton_rvv.lowering.products.tile import MultiplyAdd
from triton_rvv.targets.target import Target

__all__ = [
    "INT8",
    "OFFSETS",
    "WordsOfColumns",
    "WordsOfRows",
    "multiply_words",
    "packed_words",
    "takes_words",
    "words_of",
]

# With fewer rows, copying B costs more than it saves.
_MIN_ROWS = 4
# The instructions take registers of at least 128 bits.
_MIN_COLUMNS = 4
# Sums of a column's words that are under way together.
_CHAINS = 4

_SUMS = {"bf16": "f32", "i8": "i32"}


def takes_words(target: Target, left: Tensor, right: Tensor, sum_type: ScalarType) -> bool:
    """Whether such an instruction can compute `left @ right`."""
    element = left.element
    if not isinstance(element, ScalarType) or element != right.element:
        return False
    together = target.steps_together(element.name)
    is_large = left.shape[-2] >= _MIN_ROWS and right.shape[-1] >= _MIN_COLUMNS
    fits = is_large and left.shape[-1] >= together
    return together > 1 and fits and sum_type.name == _SUMS[element.name]


def multiply_words(
    context: Context,
    operation: Operation,
    operands: tuple[Tensor, Tensor],
    start: Tensor,
    result: Buffer,
) -> None:
    """Write `start + left @ right` to `result`, which may be the array that `start` reads.

    Args:
        operation: the product, for whose operands `takes_words` holds.
        operands: left and right.
        start: in the type of the sums.
    """
    (left, right), builder, target = operands, context.builder, context.target
    assert isinstance(left.element, ScalarType)
    assert isinstance(start.element, ScalarType)
    together = target.steps_together(left.element.name)
    # A word has several steps.
    machine = replace(target.machine, unroll_k=target.machine.unroll_k // 2)
    unroll = machine.unroll_k
    a, b = WordsOfRows(left, together), WordsOfColumns(right, together)
    update = plan_loop_update(context, operation, result)
    materialise.prepare(context, [a, b, start, *([update.value] if update else [])])
    elements = dot_extents(context, operation, left, right, start.element)
    depth = None if elements.depth is None else words_of(builder, elements.depth, together)
    live = DotExtents(elements.rows, elements.columns, depth)
    around = [None] * (len(left.shape) - 2)
    rows = packed_words(context, a, [*around, live.rows, depth], whole_columns=unroll)
    columns = packed_words(context, b, [*around, depth, live.columns], whole_rows=unroll)
    multiply_add = _multiply_add(target, left.element.name)
    if left.element == INT8:
        start = _without_offsets(context, start, columns, live, unroll, multiply_add)
    sums = sums_of(operation, start, result, update)
    panels = PackedRhs(columns, columns.panel, machine)
    product = Product(live, rows.shape[-2], rows.shape[-1], panels, sums, multiply_add)
    write_packed(context, rows, product)


def _multiply_add(target: Target, element: str) -> MultiplyAdd:
    """What writes the instruction for operands of a type, once for each register of a run."""
    sum_, operand, many, name = {
        "bf16": ("float", "bfloat", 2, "llvm.x86.avx512bf16.dpbf16ps"),
        "i8": ("i32", "i8", 4, "llvm.x86.avx512.vpdpbusd"),
    }[element]

    def emit(builder: Builder, left: Val, right: Val, total: Val) -> Val:
        width = min(total.width, target.lanes(32))
        word = builder.splat(builder.resize(left, "i32"), width)
        sums = []
        for first in range(0, total.width, width):
            words = (word, builder.lanes(right, first, width))
            factors = [
                builder.reinterpret(each, vector_type(operand, many * width)) for each in words
            ]
            before = builder.lanes(total, first, width)
            type_ = vector_type(sum_, width)
            sums.append(builder.call(type_, f"{name}.{32 * width}", [before, *factors]))
        return concatenated(builder, sums)

    return emit


def _without_offsets(
    context: Context,
    start: Tensor,
    b: Buffer,
    live: DotExtents,
    most: int,
    multiply_add: MultiplyAdd,
) -> Tensor:
    """The sums before, less what the 128 in each element of A adds to them.

    Args:
        most: words along K that are written out.
    """
    builder, (*batch, words, columns) = context.builder, b.shape
    offsets = context.buffer(TensorType((*batch, 1, columns), b.element))
    unroll = min(words, most)
    zeros = Val(vector_type("i32", b.panel), "zeroinitializer")
    for plane in index_loops.positions(context, batch, unrolled=False):
        for column in index_loops.steps(context, live.columns or columns, b.panel, unrolled=False):
            # Sums of neighbouring words do not wait for one another.
            chains = [Variable(builder, zeros) for _ in range(min(unroll, _CHAINS))]
            end = live.padded_depth(builder, unroll) or words
            for base in index_loops.steps(context, end, unroll, unrolled=False):
                for word in range(unroll):
                    place = (*plane, builder.add(base, integer(word)))
                    run = b.at(builder, VectorIndex(place, column, b.panel))
                    chain = chains[word % len(chains)]
                    chain.write(multiply_add(builder, OFFSETS, run, chain.read()))
            total = functools.reduce(builder.add, [each.read() for each in chains])
            offsets.write(builder, VectorIndex((*plane, integer(0)), column, b.panel), total)
    spread = Broadcast(start.type, [offsets])
    return Elementwise(start.type, _difference, [start, spread])


def _difference(builder: Builder, values: Sequence[Val]) -> Val:
    before, offsets = values
    return builder.binary("sub", before, offsets)


_WORD, INT8 = ScalarType("i32"), ScalarType("i8")
# 128 in each byte of a word, as the signed integer that LLVM writes.
OFFSETS = integer(0x80808080 - (1 << 32), "i32")


def words_of(builder: Builder, steps: Val, together: int) -> Val:
    """So many steps along K in words, the last of which need not be full."""
    more = builder.add(steps, integer(together - 1))
    return builder.shift_right(more, together.bit_length() - 1)


def packed_words(
    context: Context, words: _Words, extents: Extents, whole_rows: int = 1, whole_columns: int = 1
) -> Buffer:
    """An array of a block's words, as far as they count (see `pack.copy_part`).

    Where the operand is masked or wraps, its elements are copied first: of each element, the code
    for that is long. So they are where something else uses them too.
    """
    builder, operand = context.builder, words.operands[0]
    if isinstance(operand, Buffer):
        return materialise.materialise(context, words)
    if operand.uses > 1:
        return materialise.materialise(context, words.of(materialise.materialise(context, operand)))
    guards = words.guards_within(builder, extents)
    if guards is None:
        extents, guards = [None] * len(extents), words.plain_guards(builder)
    array = context.buffer(words.type)

    def copied() -> None:
        with context.region():
            materialise.copy(context, words.of(materialise.materialise(context, operand)), array)

    builder.branches(
        loop_versioning.all_of(context, guards),
        lambda: copy_part(context, words, array, extents, whole_rows, whole_columns),
        copied,
        likely=True,
    )
    return array


class _Words(Tensor):
    """A block of which some elements make a word.

    Args:
        shape: of the words.
        together: how many elements make a word, a power of two.
    """

    def __init__(self, shape: tuple[int, ...], operand: Tensor, together: int) -> None:
        super().__init__(TensorType(shape, _WORD), [operand])
        self._together = together

    @abstractmethod
    def of(self, operand: Tensor) -> _Words:
        """The same words of another block."""

    def _steps(self, builder: Builder, words: Val | None) -> Val | None:
        return None if words is None else builder.mul(words, integer(self._together))


class WordsOfRows(_Words):
    """Some neighbours in a row make a word."""

    def __init__(self, operand: Tensor, together: int) -> None:
        *outer, depth = operand.shape
        super().__init__((*outer, depth // together), operand, together)

    def of(self, operand: Tensor) -> WordsOfRows:
        return WordsOfRows(operand, self._together)

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        together = integer(self._together)
        lanes = self._steps(builder, point.lanes)
        start, width = builder.mul(point.start, together), point.width * self._together
        moved = replace(point, start=start, width=width, lanes=lanes, number=None)
        type_ = vector_type("i32", point.width)
        value = builder.reinterpret(self.operands[0].at(builder, moved), type_)
        if self.operands[0].element != INT8:
            return value
        return builder.binary("xor", value, builder.splat(OFFSETS, point.width))

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        *outer, words = extents
        own = [*outer, self._steps(builder, words)]
        return guards_of_all(builder, self.operands, own)

    def own_bits(self) -> int:
        # A run of words is a longer one of the operand.
        return self._together * self.operands[0].widest_bits()


class WordsOfColumns(_Words):
    """Some neighbours in a column make a word."""

    def __init__(self, operand: Tensor, together: int) -> None:
        *outer, depth, columns = operand.shape
        super().__init__((*outer, depth // together, columns), operand, together)

    def of(self, operand: Tensor) -> WordsOfColumns:
        return WordsOfColumns(operand, self._together)

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        *outer, row = point.index
        first, parts = builder.mul(row, integer(self._together)), []
        for step in range(self._together):
            index = (*outer, builder.add(first, integer(step)))
            parts.append(self.operands[0].at(builder, replace(point, index=index, number=None)))
        type_ = vector_type("i32", point.width)
        return builder.reinterpret(in_turn(builder, parts), type_)

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        *outer, words, columns = extents
        own = [*outer, self._steps(builder, words), columns]
        return guards_of_all(builder, self.operands, own)
