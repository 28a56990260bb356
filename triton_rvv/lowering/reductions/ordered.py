"""Reductions along rows that keep the order of elements, for combinations that do not commute.

Neighbours are combined in pairs, the results in pairs again, and so on: a tree that is the same for
vectors of any length. It is carried out in place in an array, whose first half each level leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.loops.vector_shape import vector_width
from triton_rvv.lowering.reductions.reduction import Reduction

__all__ = ["reduce_rows_in_order"]


def reduce_rows_in_order(reduction: Reduction) -> None:
    """Each row becomes one element; of two that are combined, the left one comes first."""
    context, shape = reduction.context, reduction.shape
    width = 1 if context.runs_once else vector_width(context, reduction.sources)
    arrays = [materialise.row_major_array(context, source.type) for source in reduction.sources]
    for source, array in zip(reduction.sources, arrays, strict=True):
        materialise.copy(context, source, array)
    for row in index_loops.positions(context, shape[:-1], unrolled=False):
        tree = _Tree(replace(reduction, sources=arrays, results=arrays), row)
        if context.runs_once:
            tree.halve_in_one_loop(shape[-1])
        else:
            for level in range(1, (shape[-1] // width).bit_length()):
                tree.halve(shape[-1] >> level, width)
        reduction.write_row(row, tree.top(width))


@dataclass(frozen=True)
class _Tree:
    """The elements of one row on their way to a single one; their arrays are overwritten."""

    elements: Reduction
    row: tuple[Val, ...]

    def halve_in_one_loop(self, size: int) -> None:
        """Make one of `size` elements by the same tree, in little code."""
        builder = self.elements.builder
        with builder.loop(integer(1), integer(size.bit_length()), integer(1)) as level:
            self.halve(builder.binary("lshr", integer(size), level), 1)

    def halve(self, count: int | Val, width: int) -> None:
        """Make `count` elements of twice as many, `width` of them at a time."""
        elements = self.elements
        for start in index_loops.steps(elements.context, count, width, unrolled=False):
            doubled = elements.builder.mul(start, integer(2))
            pairs = elements.at(VectorIndex(self.row, doubled, 2 * width))
            elements.write(VectorIndex(self.row, start, width), self._combined(pairs))

    def top(self, width: int) -> Sequence[Val]:
        """The single element that the first `width` ones become."""
        values: Sequence[Val] = self.elements.at(VectorIndex(self.row, integer(0), width))
        while values[0].width > 1:
            values = self._combined(values)
        return values

    def _combined(self, pairs: Sequence[Val]) -> Sequence[Val]:
        lanes, chosen = range(pairs[0].width), self.elements.builder.chosen
        left, right = ([chosen(pair, lanes[side::2]) for pair in pairs] for side in (0, 1))
        return self.elements.combination.emit(left, right)
