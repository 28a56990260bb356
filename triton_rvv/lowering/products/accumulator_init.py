"""Accumulators of loops over products, which begin with one number everywhere.

    total = zeros(M, N)
    for ...:
        total = dot(a, b, total)

The array of `total` is not filled before the loop: in the first turn, a product starts from the
number itself, and writes the whole array.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.blocks.buffer import Buffer, memory_type
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat, guards_of_all
from triton_rvv.lowering.blocks.sharing import replaced
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, VectorIndex
from triton_rvv.lowering.blocks.views import Plane
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import FALSE, TRUE, Val, integer, vector_type
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.products.epilogue_stores import EpilogueStore

__all__ = ["AccumulatorInit", "UnfilledAccumulator", "accumulator_init"]


class UnfilledAccumulator(Buffer):
    """An array of which nothing has been written in a loop's first turn.

    Args:
        array: where the elements are in later turns.
        is_first: whether this is the first turn, as i1.
        store: what the last turn may do with the elements.
    """

    def __init__(
        self, array: Buffer, is_first: Val, initial: Splat, store: EpilogueStore | None
    ) -> None:
        super().__init__(array.type, array.pointer, array.panel)
        self.is_first = is_first
        self.initial = initial
        self.store = store

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        written = super().evaluate(builder, point)
        return builder.select(self.is_first, self.initial.evaluate(builder, point), written)


@dataclass(frozen=True)
class AccumulatorInit:
    """An accumulator before a product.

    Args:
        usual: its elements.
        first: in place of `usual` where `is_first` holds; the same tensor where that never does.
        is_first: whether this is the first turn of a loop, as i1.
        store: what the last turn of the loop may do with the elements.
    """

    usual: Tensor
    first: Tensor
    is_first: Val = FALSE
    store: EpilogueStore | None = None

    def store_of(self, product: Operation) -> EpilogueStore | None:
        """Have the product take what its loop's last turn may do; None where that is nothing."""
        if self.store is None or self.store.product is not product:
            return None
        self.store.is_taken = True
        return self.store

    def plane(self, position: Val) -> AccumulatorInit:
        """The part at one position of the first dimension."""
        return replace(self, usual=Plane(self.usual, position), first=Plane(self.first, position))

    def read(self, builder: Builder, points: Sequence[VectorIndex]) -> list[Variable]:
        """The elements at each of the points, to add to."""
        element = memory_type(self.usual.element)
        unknown = (Val(vector_type(element, point.width), "poison") for point in points)
        totals = [Variable(builder, value) for value in unknown]

        def write(source: Tensor, there: Sequence[VectorIndex] = points) -> None:
            for point, total in zip(there, totals, strict=True):
                total.write(source.at(builder, replace(point, memo={})))

        def write_usual() -> None:
            plain = functools.partial(write, self.usual, _on_plain_path(points))
            is_plain = _is_plain_up_to(builder, self.usual, points[-1]) or FALSE
            builder.branches(is_plain, plain, lambda: write(self.usual))

        builder.branches(self.is_first, lambda: write(self.first), write_usual)
        return totals


def _on_plain_path(points: Sequence[VectorIndex]) -> list[VectorIndex]:
    """The runs of a tile where they ask for those of the tile below.

    Lines of nearer rows are needed before they are there.
    """
    rows = len({point.index for point in points})
    return [
        replace(point, version=PLAIN_VERSION, rows_ahead=rows, rows_together=rows)
        for point in points
    ]


@rule("begin-plainly", nothing)
def _is_plain_up_to(builder: Builder, tensor: Tensor, last: VectorIndex) -> Val | None:
    """Whether what a tile begins with is on the plain path, as i1; None where nothing is loaded.

    `last` is the tile's lower right run.
    """
    if not any(isinstance(each, Load) for each in tensor.walk()):
        return None
    end = builder.add(last.start, integer(last.width))
    rows = [builder.add(position, integer(1)) for position in last.index]
    guards = guards_of_all(builder, [tensor], [*rows, end])
    return None if guards is None else functools.reduce(builder.conjunction, guards, TRUE)


def accumulator_init(tensor: Tensor) -> AccumulatorInit:
    """An accumulator that a sink is about to read."""
    arrays = [each for each in tensor.walk() if isinstance(each, UnfilledAccumulator)]
    if len(arrays) != 1 or not _is_elementwise_of(tensor, arrays[0]):
        return AccumulatorInit(tensor, tensor)
    (array,) = arrays
    usual, first = (replaced(tensor, array, other) for other in (array.alias(), array.initial))
    return AccumulatorInit(usual, first, array.is_first, array.store)


def _is_elementwise_of(tensor: Tensor, array: Tensor) -> bool:
    if tensor is array:
        return True
    parts = [part for part in tensor.operands if array in part.walk()]
    return isinstance(tensor, Elementwise) and all(_is_elementwise_of(p, array) for p in parts)
