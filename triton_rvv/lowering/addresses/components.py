"""What one dimension adds to the integers or addresses of a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

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
    "Table",
    "positions",
    "reaches",
]


class PartlyLinear(Protocol):
    """Values along one dimension that rise evenly on some paths."""

    @property
    def values(self) -> Tensor:
        """All of them, one-dimensional."""
        ...

    @property
    def linear(self) -> Val:
        """True at run time where all are `start + step * position`."""
        ...

    @property
    def start(self) -> Val:
        """The first one."""
        ...

    @property
    def step(self) -> int:
        """From one to the next, where they are linear."""
        ...

    @property
    def period(self) -> int:
        """Neighbours of which each has its own place; 1 but for `Periodic`."""
        ...

    @property
    def bound(self) -> Val:
        """What no value exceeds, with or without its sign."""
        ...

    def linear_within(self, builder: Builder, count: Val | None) -> Val:
        """Whether the first `count` values are linear; None stands for all."""
        ...

    def at(self, builder: Builder, position: Val, width: int) -> Val:
        """The values at `position` and after it, whether they are linear or not."""
        ...


class Periodic(PartlyLinear, Protocol):
    """Values that rise evenly but for what the place within a period adds."""

    def beyond_start(self, builder: Builder, positions: Val) -> Val:
        """What is added to the start at integers that are no less than 0."""
        ...


@dataclass(frozen=True)
class Table:
    """Values of a one-dimensional block that is not linear, such as `(base + iota) % n`.

    Args:
        values: one integer for each position; written only where `linear` is false at run time.
        linear: true at run time where the values are `start + position`.
        start: the value at position 0 where `linear` holds.
        bound: what no value exceeds, with or without its sign.
        rises: true at run time where the values before the remainder are taken do not wrap.
    """

    values: Buffer
    linear: Val
    start: Val
    bound: Val
    rises: Val
    step: ClassVar[int] = 1
    period: ClassVar[int] = 1

    def linear_within(self, builder: Builder, count: Val | None) -> Val:
        """Whether the first `count` values are linear; None stands for all."""
        if count is None:
            return self.linear
        start, bound = (builder.resize(value, "i64") for value in (self.start, self.bound))
        room = builder.intrinsic("llvm.ssub.sat", [bound, count])
        return builder.conjunction(self.rises, builder.compare("sle", start, room))

    def at(self, builder: Builder, position: Val, width: int) -> Val:
        """The values at `position` and after it, whether they are linear or not."""
        point = VectorIndex((), position, width)
        stored = self.values.at(builder, point)
        line = builder.add(
            builder.splat(self.start, width), positions(builder, point, stored.element)
        )
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
    def looked_up(self) -> tuple[tuple[Lookup, Val], ...]:
        """All values that are looked up, each with its scale."""
        return (*self.tables, *self.listed)

    @property
    def digits(self) -> list[tuple[Periodic, Val]]:
        """The tables that are periodic, each with its scale."""
        return [(cast(Periodic, table), scale) for table, scale in self.tables if table.period > 1]

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
