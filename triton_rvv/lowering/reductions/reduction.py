"""What a reduction or a scan works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import Choices
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.reductions.combine_region import CombineRegion

__all__ = ["Reduction"]


@dataclass(frozen=True)
class Reduction:
    """Blocks of one shape, how two of their elements become one, and where the outcome goes."""

    context: Context
    combination: CombineRegion
    sources: Sequence[Tensor]
    results: Sequence[Buffer]

    @property
    def builder(self) -> Builder:
        """Writes the code."""
        return self.context.builder

    @property
    def choices(self) -> Choices:
        """By which rules code is written."""
        return self.context.choices

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the blocks."""
        return self.sources[0].shape

    def at(self, point: VectorIndex) -> list[Val]:
        """An element of each block, or a run of them."""
        return [source.at(self.builder, point) for source in self.sources]

    def write(self, point: VectorIndex, values: Sequence[Val]) -> None:
        """Put elements where the outcome goes."""
        for result, value in zip(self.results, values, strict=True):
            result.write(self.builder, point, value)

    def write_row(self, row: tuple[Val, ...], values: Sequence[Val]) -> None:
        """Put what a row becomes where the outcome goes."""
        place = row or (integer(0),)
        self.write(VectorIndex(place[:-1], place[-1], 1), values)
