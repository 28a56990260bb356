"""Reductions along rows that keep the order of elements, for combinations that do not commute.

Neighbours are combined in pairs, the results in pairs again, and so on: a tree that is the same for
vectors of any length. It is carried out in place in an array, whose first half each level leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.loops.vector_shape import vector_width
from triton_rvv.lowering.reductions.combine_region import CombineRegion

__all__ = ["reduce_rows_in_order"]


def reduce_rows_in_order(
    context: Context,
    sources: Sequence[Tensor],
    combination: CombineRegion,
    results: Sequence[Buffer],
) -> None:
    """Each row becomes one element.

    Args:
        combination: how two elements become one, the left one first.
    """
    shape = sources[0].shape
    width = 1 if context.runs_once else vector_width(context, sources)
    arrays = [materialise.row_major_array(context, source.type) for source in sources]
    for source, array in zip(sources, arrays, strict=True):
        materialise.copy(context, source, array)
    for row in index_loops.positions(context, shape[:-1], unrolled=False):
        tree = _Tree(context, combination, arrays, row)
        if context.runs_once:
            tree.halve_in_one_loop(shape[-1])
        else:
            for level in range(1, (shape[-1] // width).bit_length()):
                tree.halve(shape[-1] >> level, width)
        place = row or (integer(0),)
        for result, value in zip(results, tree.top(width), strict=True):
            result.write(context.builder, VectorIndex(place[:-1], place[-1], 1), value)


class _Tree:
    """The elements of one row on their way to a single one.

    Args:
        arrays: the elements; they are overwritten.
    """

    def __init__(
        self,
        context: Context,
        combination: CombineRegion,
        arrays: Sequence[Buffer],
        row: tuple[Val, ...],
    ) -> None:
        self._context = context
        self._builder = context.builder
        self._combination = combination
        self._arrays = arrays
        self._row = row

    def halve_in_one_loop(self, size: int) -> None:
        """Make one of `size` elements by the same tree, in little code."""
        builder = self._builder
        with builder.loop(integer(1), integer(size.bit_length()), integer(1)) as level:
            self.halve(builder.binary("lshr", integer(size), level), 1)

    def halve(self, count: int | Val, width: int) -> None:
        """Make `count` elements of twice as many, `width` of them at a time."""
        for start in index_loops.steps(self._context, count, width, unrolled=False):
            doubled = self._builder.mul(start, integer(2))
            both = VectorIndex(self._row, doubled, 2 * width)
            pairs = [array.at(self._builder, both) for array in self._arrays]
            for array, value in zip(self._arrays, self._combined(pairs), strict=True):
                array.write(self._builder, VectorIndex(self._row, start, width), value)

    def top(self, width: int) -> Sequence[Val]:
        """The single element that the first `width` ones become."""
        first = VectorIndex(self._row, integer(0), width)
        values: Sequence[Val] = [array.at(self._builder, first) for array in self._arrays]
        while values[0].width > 1:
            values = self._combined(values)
        return values

    def _combined(self, pairs: Sequence[Val]) -> Sequence[Val]:
        lanes = range(pairs[0].width)
        left, right = ([self._builder.chosen(p, lanes[side::2]) for p in pairs] for side in (0, 1))
        return self._combination.emit(left, right)
