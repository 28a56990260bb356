"""Lines of integers that others are made from: dividends, and what has a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import Component, Segmented
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = ["Line", "shortest"]


@dataclass(frozen=True, eq=False)
class Line:
    """Integers of one dimension that rise evenly where the steps that they are made from do.

    Args:
        affine: looks nothing up but steps.
        type_: in which integers are computed.
    """

    affine: Affine
    type_: str

    @property
    def part(self) -> Component:
        """What the dimension adds."""
        return self.affine.components[0]

    @property
    def steps(self) -> Sequence[Segmented]:
        """The tables that the line is made from."""
        return [steps for steps, _ in self.part.tables]

    def stride(self, builder: Builder) -> int | None:
        """From an integer to the next one, where that is known."""
        return self.part.linear_stride(builder, self.affine.index_type).constant

    def length(self, builder: Builder) -> int | None:
        """The most neighbours that rise evenly, if known."""
        return shortest([steps.segments.length(builder) for steps in self.steps])

    def at(self, builder: Builder, first: Val, count: int) -> tuple[list[Val], Val]:
        """The integer at `first`, and guards under which `count` from it on rise evenly."""
        guards, total = [], self._without_steps(builder, first)
        for steps, scale in self.part.tables:
            linear, value = steps.segments.first_of(builder, first, count)
            guards.append(linear)
            total = self._with(builder, total, value, scale)
        return guards, total

    def run_at(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        """How many integers from `first` on rise evenly, and the one there, as of `Segments`."""
        count, total = integer(size), self._without_steps(builder, first)
        for steps, scale in self.part.tables:
            own, value = steps.segments.run_of(builder, first, size)
            count = builder.smin(count, own)
            total = self._with(builder, total, value, scale)
        return count, total

    def _without_steps(self, builder: Builder, first: Val) -> Val:
        base, stride = self.affine.base, self.part.stride or integer(0, self.type_)
        base, first, stride = (builder.resize(each, self.type_) for each in (base, first, stride))
        return builder.add(base, builder.mul(first, stride))

    def _with(self, builder: Builder, total: Val, value: Val, scale: Val) -> Val:
        value, scale = (builder.resize(each, self.type_) for each in (value, scale))
        return builder.add(total, builder.mul(value, scale))


def shortest(lengths: Sequence[int | None]) -> int | None:
    """The least of those that are known."""
    return min((each for each in lengths if each is not None), default=None)
