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
from collections.abc import Sequence
from dataclasses import replace

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.blocks.views import Broadcast
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.llvm.vectors import concatenated
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.products.dot_extents import DotExtents, dot_extents
from triton_rvv.lowering.products.loop_updates import plan_loop_update
from triton_rvv.lowering.products.product import Product, write_packed
from triton_rvv.lowering.products.rhs_tiles import PackedRhs
from triton_rvv.lowering.products.sums import sums_of
from triton_rvv.lowering.products.tile import MultiplyAdd
from triton_rvv.lowering.products.word_operands import (
    INT8,
    OFFSETS,
    WordsOfColumns,
    WordsOfRows,
    packed_words,
    words_of,
)
from triton_rvv.targets.target import Target

__all__ = ["multiply_words", "takes_words"]

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
