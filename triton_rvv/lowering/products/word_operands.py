"""Operands of products in words of 32 bits, each of some neighbouring steps along K."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import guards_of_all
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import Extents, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vectors import in_turn
from triton_rvv.lowering.loops import loop_versioning, materialise
from triton_rvv.lowering.products.pack import copy_part

__all__ = ["INT8", "OFFSETS", "WordsOfColumns", "WordsOfRows", "packed_words", "words_of"]

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
