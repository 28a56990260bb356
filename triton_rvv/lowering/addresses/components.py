"""What one dimension adds to the integers or addresses of a block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = [
    "NO_COMPONENT",
    "Component",
    "Listed",
    "Lookup",
    "PartlyLinear",
    "Periodic",
    "Segmented",
    "Segments",
    "Table",
    "positions",
    "reaches",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class PartlyLinear:
    """Values along one dimension that rise evenly on some paths.

    Args:
        values: all of them, one-dimensional.
        linear: true at run time where all are `start + step * position`.
        start: the first one.
        step: from one to the next, where they are linear.
        bound: what no value exceeds, with or without its sign.
        granule: so many from a multiple of that number on are linear in any case; 1 if unknown.
    """

    values: Tensor
    linear: Val
    start: Val
    step: int
    bound: Val
    granule: int = 1

    def linear_within(self, builder: Builder, count: Val | None) -> Val:
        """Whether the first `count` values are linear, as far as is known; None stands for all."""
        return self.linear

    def at(self, builder: Builder, position: Val, width: int) -> Val:
        """The values at `position` and after it, whether they are linear or not."""
        return self.values.at(builder, VectorIndex((), position, width))


class Segments(ABC):
    """How values rise evenly in segments, which code finds at run time."""

    @abstractmethod
    def step(self, builder: Builder) -> int:
        """From one value to the next within a segment."""

    @abstractmethod
    def length(self, builder: Builder) -> int | None:
        """The most values that are linear, if known."""

    @abstractmethod
    def bound(self, builder: Builder) -> Val:
        """What no value exceeds, with or without its sign, as i64."""

    def granule(self, builder: Builder) -> int:
        """So many values from a multiple of that number on are linear; 1 if unknown."""
        return 1

    @abstractmethod
    def first_of(self, builder: Builder, first: Val, count: int) -> tuple[Val, Val]:
        """Whether `count` values from `first` on are linear, and the one there."""

    @abstractmethod
    def run_of(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        """How many values from `first` on are linear, as i64, and the one there.

        Where none are, or that is not known, it is 0 or less; no more than `size` follow.
        """

    def linear_within(self, builder: Builder, count: Val) -> Val | None:
        """Whether the first `count` values are linear; None where only all are known to be."""
        return None


class Periodic(Segments):
    """Values that rise evenly but for what the place within a period adds."""

    # Neighbours, each with its own place.
    period: int

    @abstractmethod
    def beyond_start(self, builder: Builder, positions: Val) -> Val:
        """What is added to the start at integers that are no less than 0."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Segmented(PartlyLinear):
    """Values that rise evenly in segments."""

    segments: Segments

    @staticmethod
    def of(builder: Builder, values: Tensor, segments: Segments) -> Segmented:
        """Values, with code here that finds out whether all of them are linear."""
        linear, start = segments.first_of(builder, integer(0), values.shape[0])
        return Segmented(
            values=values,
            linear=linear,
            start=start,
            step=segments.step(builder),
            bound=segments.bound(builder),
            granule=segments.granule(builder),
            segments=segments,
        )

    def linear_within(self, builder: Builder, count: Val | None) -> Val:
        found = None if count is None else self.segments.linear_within(builder, count)
        return self.linear if found is None else found

    def linear_from(self, builder: Builder, first: Val, count: int) -> tuple[Val, Val]:
        """Whether `count` values from `first` on are linear, and `start` that fits them, as i64."""
        linear, value = self.segments.first_of(builder, first, count)
        return linear, self._start_of(builder, first, value)

    def run_from(self, builder: Builder, first: Val, size: int) -> tuple[Val, Val]:
        """How many are linear, as `run_of` says, and the `start` that fits them, as i64."""
        count, value = self.segments.run_of(builder, first, size)
        return count, self._start_of(builder, first, value)

    def _start_of(self, builder: Builder, first: Val, value: Val) -> Val:
        value = builder.resize(value, "i64")
        if isinstance(self.segments, Periodic):
            return value
        return builder.binary("sub", value, builder.mul(integer(self.step), first))


@dataclass(frozen=True, eq=False, kw_only=True)
class Table(PartlyLinear):
    """Values of a one-dimensional block that is not linear, such as `(base + iota) % n`.

    `values` are written only where `linear` is false at run time.

    Args:
        rises: true at run time where the values before the remainder are taken do not wrap.
    """

    rises: Val

    def linear_within(self, builder: Builder, count: Val | None) -> Val:
        if count is None:
            return self.linear
        start, bound = (builder.resize(value, "i64") for value in (self.start, self.bound))
        room = builder.intrinsic("llvm.ssub.sat", [bound, count])
        return builder.conjunction(self.rises, builder.compare("sle", start, room))

    def at(self, builder: Builder, position: Val, width: int) -> Val:
        stored = super().at(builder, position, width)
        first, point = builder.splat(self.start, width), VectorIndex((), position, width)
        line = builder.add(first, positions(builder, point, stored.element))
        return builder.select(self.linear, line, stored)


@dataclass(frozen=True)
class Listed:
    """Values of a one-dimensional block that no rule explains, such as rows of a page table.

    Args:
        values: one integer for each position.
        bound: what no value exceeds, with or without its sign, as i64.
    """

    values: Buffer
    bound: Val

    def at(self, builder: Builder, position: Val, width: int) -> Val:
        """The values at `position` and after it."""
        return self.values.at(builder, VectorIndex((), position, width))


# What is looked up by position, whether or not a rule explains it.
Lookup = PartlyLinear | Listed


@dataclass(frozen=True)
class Component:
    """What one dimension adds to an element.

    That is `stride * position + sum(scale * table[position]) + sum(scale * listed[position])`.
    Tables are linear on some paths, digits among them periodic.
    """

    stride: Val | None = None
    tables: tuple[tuple[PartlyLinear, Val], ...] = ()
    listed: tuple[tuple[Listed, Val], ...] = ()

    @property
    def is_zero(self) -> bool:
        """Whether the dimension adds nothing."""
        return self.stride is None and self.has_rule

    @property
    def has_rule(self) -> bool:
        """Whether no values are looked up."""
        return not self.tables and not self.listed

    @property
    def constant_stride(self) -> int | None:
        """The stride where the dimension rises evenly by a constant."""
        return self.stride.constant if self.has_rule and self.stride is not None else None

    @property
    def looked_up(self) -> tuple[tuple[Lookup, Val], ...]:
        """All values that are looked up, each with its scale."""
        return (*self.tables, *self.listed)

    @property
    def digits(self) -> list[tuple[Periodic, Val]]:
        """The periods of tables, each with its scale."""
        found = [(table.segments, scale) for table, scale in self.segmented]
        return [(each, scale) for each, scale in found if isinstance(each, Periodic)]

    @property
    def segmented(self) -> list[tuple[Segmented, Val]]:
        """The tables that are linear in segments, each with its scale."""
        return [(table, scale) for table, scale in self.tables if isinstance(table, Segmented)]

    @property
    def may_be_linear(self) -> bool:
        """Whether the dimension has one stride where every table is linear."""
        return not self.listed and not self.digits

    def map(self, change: Callable[[Val], Val]) -> Component:
        """With its stride and scales changed."""
        return Component(
            None if self.stride is None else change(self.stride),
            tuple((table, change(scale)) for table, scale in self.tables),
            tuple((listed, change(scale)) for listed, scale in self.listed),
        )

    def linear_stride(self, builder: Builder, type_: str) -> Val:
        """The stride where every table is linear, and nothing is listed."""
        total = self.stride or integer(0, type_)
        for table, scale in self.tables:
            total = builder.add(total, builder.mul(scale, integer(table.step, type_)))
        return total


NO_COMPONENT = Component()


def positions(builder: Builder, point: VectorIndex, type_: str) -> Val:
    """start, start + 1, ... in the lanes."""
    start = builder.resize(point.start, type_)
    return builder.add(builder.splat(start, point.width), builder.iota(type_, point.width))


def reaches(builder: Builder, part: Component, size: int) -> list[tuple[Val, Val]]:
    """How far each term of a dimension gets below and above 0, as i64."""
    zero, found = integer(0), []
    if part.stride is not None:
        far = builder.mul(builder.resize(part.stride, "i64"), integer(size - 1))
        if far.constant is not None:
            found.append((integer(min(far.constant, 0)), integer(max(far.constant, 0))))
        else:
            ends = [builder.intrinsic(name, [far, zero]) for name in ("llvm.smin", "llvm.smax")]
            found.append((ends[0], ends[1]))
    for values, scale in part.looked_up:
        bound, factor = (builder.resize(value, "i64") for value in (values.bound, scale))
        far = _magnitude(builder, builder.mul(bound, factor))
        found.append((builder.binary("sub", zero, far), far))
    return found


def _magnitude(builder: Builder, value: Val) -> Val:
    if value.constant is not None:
        return integer(abs(value.constant))
    return builder.smax(value, builder.binary("sub", integer(0), value))
