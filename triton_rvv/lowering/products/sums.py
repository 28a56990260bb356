"""Where a product's sums begin, and where they go: the same for every kind of tile."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val
from triton_rvv.lowering.math.casts import conversion
from triton_rvv.lowering.products.accumulator_init import AccumulatorInit, accumulator_init
from triton_rvv.lowering.products.epilogue_stores import EpilogueStore
from triton_rvv.lowering.products.loop_updates import LoopUpdate

__all__ = ["Sums", "sums_of"]


@dataclass(frozen=True)
class Sums:
    """The sums of a product `result = start + A @ B`.

    Args:
        start: the accumulator before, in the type of the sums.
        result: the accumulator after; it may be the array that `start` reads.
        store: what to do with complete tiles in the last turn of a loop.
        update: what to do with complete tiles in place of writing them to `result`.
    """

    start: AccumulatorInit
    result: Buffer
    store: EpilogueStore | None
    update: LoopUpdate | None

    def plane(self, builder: Builder, position: Val) -> Sums:
        """Those of one position in a batch, which no store or update takes."""
        result = self.result.plane(builder, position)
        return replace(self, start=self.start.plane(position), result=result)

    def write(self, builder: Builder, points: Sequence[VectorIndex], totals: Sequence[Val]) -> None:
        """Have complete sums at some points go where they belong."""
        source, target = self.start.usual.element, self.result.element
        assert isinstance(source, ScalarType)
        assert isinstance(target, ScalarType)
        rounded = conversion(source, target)
        sums = [rounded(builder, [total]) for total in totals]
        write = self.result.write_each if self.update is None else self.update.write
        to_array = functools.partial(write, builder, points, sums)
        if self.store is None:
            to_array()
        else:
            to_memory = functools.partial(self.store.write, builder, points, sums)
            builder.branches(self.store.is_now(builder), to_memory, to_array)


def sums_of(operation: Operation, start: Tensor, result: Buffer, update: LoopUpdate | None) -> Sums:
    """The sums of a product, whose loop's last store they take if they can.

    Args:
        start: what they are added to, which has been prepared.
        result: the array for them.
        update: what the loop does with them.
    """
    before = accumulator_init(start)
    return Sums(before, result, before.store_of(operation), update)
