"""What one dimension adds to the integers or addresses of a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.tensors import Point
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer

if TYPE_CHECKING:
    from triton_rvv.lowering.addresses.div_mod import Steps
    from triton_rvv.lowering.addresses.div_mod_pow2 import Digits

__all__ = ["NO_COMPONENT", "Component", "Listed", "Table", "positions"]


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
        point = Point((), position, width)
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
        return self.values.at(builder, Point((), position, width))


@dataclass(frozen=True)
class Component:
    """What one dimension adds to an element.

    That is `stride * position + sum(scale * table[position]) + sum(scale * listed[position])`.
    Tables are linear on some paths, digits among them periodic.
    """

    stride: Val | None = None
    tables: tuple[tuple[Table | Steps | Digits, Val], ...] = ()
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
    def looked_up(self) -> tuple[tuple[Table | Steps | Digits | Listed, Val], ...]:
        """All values that are looked up, each with its scale."""
        return (*self.tables, *self.listed)

    @property
    def digits(self) -> list[tuple[Digits, Val]]:
        """The tables that are periodic, each with its scale."""
        return [(table, scale) for table, scale in self.tables if table.period > 1]  # type: ignore[misc]

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


def positions(builder: Builder, point: Point, type_: str) -> Val:
    """start, start + 1, ... in the lanes."""
    start = builder.resize(point.start, type_)
    return builder.add(builder.splat(start, point.width), builder.iota(type_, point.width))
