"""What one dimension adds to the integers or addresses of a block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import TRUE, Val, integer

__all__ = [
    "NO_COMPONENT",
    "Component",
    "Granular",
    "Listed",
    "Lookup",
    "Periodic",
    "Segmented",
    "Segments",
    "positions",
    "reaches",
]


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

    def fits(self, builder: Builder) -> Val:
        """True at run time where no sum wraps that the values are made from."""
        return TRUE

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

    def linear_within(self, builder: Builder, count: Val, size: int) -> Val | None:
        """Whether the first `count` of `size` values are linear; None if only all may be known."""
        return None


class Periodic(Segments):
    """Values that rise evenly but for what the place within a period adds."""

    # Neighbours, each with its own place.
    period: int

    @abstractmethod
    def beyond_start(self, builder: Builder, positions: Val) -> Val:
        """What is added to the start at integers that are no less than 0."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Segmented:
    """Values along one dimension that rise evenly in segments, on some paths in a single one.

    Args:
        values: all of them, one-dimensional.
        segments: how they are found at run time.
        linear: true at run time where all are `start + step * position`.
        start: the first one.
        step: from one to the next, where they are linear.
        bound: what no value exceeds, with or without its sign.
        granule: so many from a multiple of that number on are linear in any case; 1 if unknown.
        fits: true at run time where no sum wraps that they are made from.
        is_table: whether `values` are an array, written only where they are not linear.
    """

    values: Tensor
    segments: Segments
    linear: Val
    start: Val
    step: int
    bound: Val
    granule: int
    fits: Val = TRUE
    is_table: bool = False

    @staticmethod
    def of(builder: Builder, values: Tensor, segments: Segments) -> Segmented:
        """Values, with code here that finds out whether all of them are linear."""
        linear, start = segments.first_of(builder, integer(0), values.shape[0])
        return Segmented(
            values=values,
            segments=segments,
            linear=linear,
            start=start,
            step=segments.step(builder),
            bound=segments.bound(builder),
            granule=segments.granule(builder),
            fits=segments.fits(builder),
        )

    def linear_within(self, builder: Builder, count: Val | None) -> Val:
        """Whether the first `count` values are linear, as far as is known; None stands for all."""
        if count is None:
            return self.linear
        found = self.segments.linear_within(builder, count, self.values.shape[0])
        return self.linear if found is None else found

    def at(self, builder: Builder, position: Val, width: int) -> Val:
        """The values at `position` and after it, whether they are linear or not."""
        point = VectorIndex((), position, width)
        found = self.values.at(builder, point)
        if not self.is_table:
            return found
        places = positions(builder, point, found.element)
        line = builder.mul(places, builder.splat(integer(self.step, found.element), width))
        line = builder.add(builder.splat(self.start, width), line)
        return builder.select(self.linear, line, found)

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
class Granular:
    """Values of which so many neighbours rise evenly from every multiple of that number on.

    Args:
        values: all of them, one-dimensional.
        segments: of whole granules.
        linear: true at run time where that holds, as for quotients of what is not negative.
        step: from one to the next in a granule.
        bound: what no value exceeds, with or without its sign.
        granule: so many, a power of two.
    """

    values: Tensor
    segments: Segments
    linear: Val
    step: int
    bound: Val
    granule: int

    def start_of(self, builder: Builder, point: VectorIndex) -> Val:
        """The value at the first lane of a run for which it holds."""
        return self.segments.first_of(builder, point.start, 1)[1]

    def at(self, builder: Builder, position: Val, width: int) -> Val:
        """The values at `position` and after it."""
        return self.values.at(builder, VectorIndex((), position, width))

    def holds(self, builder: Builder, point: VectorIndex) -> bool:
        """Whether a run lies in a granule."""
        is_aligned = builder.multiple(point.start) >= point.width
        return point.version.linear and point.width <= self.granule and is_aligned


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
Lookup = Segmented | Granular | Listed


@dataclass(frozen=True)
class Component:
    """What one dimension adds to an element.

    That is `stride * position` and the sum of `scale * values[position]` of what is looked up.
    Tables are linear on some paths, digits among them periodic.
    """

    stride: Val | None = None
    tables: tuple[tuple[Segmented, Val], ...] = ()
    listed: tuple[tuple[Listed, Val], ...] = ()
    granular: tuple[tuple[Granular, Val], ...] = ()

    @property
    def is_zero(self) -> bool:
        """Whether the dimension adds nothing."""
        return self.stride is None and self.has_rule

    @property
    def has_rule(self) -> bool:
        """Whether no values are looked up."""
        return not self.looked_up

    @property
    def constant_stride(self) -> int | None:
        """The stride where the dimension rises evenly by a constant."""
        return self.stride.constant if self.has_rule and self.stride is not None else None

    @property
    def looked_up(self) -> tuple[tuple[Lookup, Val], ...]:
        """All values that are looked up, each with its scale."""
        return (*self.tables, *self.without_line)

    @property
    def without_line(self) -> tuple[tuple[Lookup, Val], ...]:
        """Of these, what is on no path one line."""
        return (*self.listed, *self.granular)

    @property
    def digits(self) -> list[tuple[Periodic, Val]]:
        """The periods of tables, each with its scale."""
        found = [(table.segments, scale) for table, scale in self.tables]
        return [(each, scale) for each, scale in found if isinstance(each, Periodic)]

    @property
    def may_be_linear(self) -> bool:
        """Whether the dimension has one stride where every table is linear."""
        return not self.without_line and not self.digits

    def map(self, change: Callable[[Val], Val]) -> Component:
        """With its stride and scales changed."""
        return Component(
            None if self.stride is None else change(self.stride),
            tuple((table, change(scale)) for table, scale in self.tables),
            tuple((listed, change(scale)) for listed, scale in self.listed),
            tuple((values, change(scale)) for values, scale in self.granular),
        )

    def as_line(self, builder: Builder) -> Component:
        """With tables in place of granules, which are linear at run time or not."""
        found = [(Segmented.of(builder, v.values, v.segments), scale) for v, scale in self.granular]
        return replace(self, tables=(*self.tables, *found), granular=())

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
