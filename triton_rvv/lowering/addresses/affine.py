"""Integer and pointer blocks whose dimensions add up.

Addresses of a block are nearly always `base + f(row) + g(column)`. Keeping the parts apart is
what finds contiguous rows: an `Affine` holds a scalar base and a `Component` for each dimension,
and knows scalar conditions (guards) under which a whole block is contiguous.

Offsets are widened to 64 bits part by part, which is exact where the kernel's 32-bit sums do not
overflow. Whether they do is known at run time only: see `Wrapped`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.types import PointerType, ScalarType, TensorType
from triton_rvv.lowering.addresses.components import (
    NO_COMPONENT,
    Component,
    Lookup,
    positions,
    reaches,
)
from triton_rvv.lowering.addresses.offsets import sum_of_offsets
from triton_rvv.lowering.blocks.buffer import memory_type
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import Extents, LoopVersion, VectorIndex
from triton_rvv.lowering.blocks.views import places_of_lanes
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = ["Affine", "View", "Wrapped"]


# A block in another arrangement of its dimensions.
View = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Wrapped:
    """What is known of sums that were widened after they may have wrapped.

    Args:
        fits: true at run time where no sum wrapped, so that base and components are right.
        offsets: what the dimensions add to the base in any case, as i64.
    """

    fits: Val
    offsets: Tensor


class Affine(Tensor):
    """`base + sum of the dimensions' components (+ extra)`, as integers or as addresses.

    Args:
        base: a scalar integer, or the pointer at the block's origin.
        components: one a dimension, in elements for pointers and then 64 bits wide.
        extra: for pointers, an offset in elements that no dimension explains.
        advance: for pointers in a loop, how many elements further the next turn's are.
        wrapped: where the components are right at run time only; `on` says what to use instead.
    """

    own_stays_in_place = True

    def __init__(
        self,
        type_: TensorType,
        base: Val,
        components: Sequence[Component],
        extra: Tensor | None = None,
        advance: Val | None = None,
        wrapped: Wrapped | None = None,
    ) -> None:
        # The offsets of `wrapped` are no operand: they must not count in how wide a run is.
        super().__init__(type_, [] if extra is None else [extra])
        self.advance = advance
        self.wrapped = wrapped
        self.base = base
        self.components = tuple(components)
        self.extra = extra

    @property
    def index_type(self) -> str:
        """The integer type in which positions are multiplied by strides."""
        return "i64" if self.is_pointer else self.base.type

    @property
    def is_pointer(self) -> bool:
        """Whether the elements are addresses."""
        return isinstance(self.element, PointerType)

    @property
    def pointee(self) -> ScalarType | PointerType:
        """What the addresses point to."""
        assert isinstance(self.element, PointerType)
        assert not isinstance(self.element.pointee, TensorType)
        return self.element.pointee

    @property
    def is_uniform(self) -> bool:
        """Whether every element is the base."""
        return self.extra is None and all(part.is_zero for part in self.components)

    def reach(self, builder: Builder) -> tuple[Val, Val]:
        """How far the dimensions get below and above the base, as i64."""
        low, high = integer(0), integer(0)
        for part, size in zip(self.components, self.shape, strict=True):
            for below, above in reaches(builder, part, size):
                low, high = builder.add(low, below), builder.add(high, above)
        return low, high

    def ends(self, builder: Builder) -> tuple[Val, Val]:
        """What no integer is below or above where sums do not wrap, as i64."""
        base, (low, high) = builder.resize(self.base, "i64"), self.reach(builder)
        return builder.add(base, low), builder.add(base, high)

    @functools.cached_property
    def _plain(self) -> Affine:
        return Affine(self.type, self.base, self.components, self.extra, self.advance)

    @functools.cached_property
    def _exact(self) -> Affine:
        assert self.wrapped is not None
        parts = [part for part in (self.extra, self.wrapped.offsets) if part is not None]
        return Affine(self.type, self.base, [NO_COMPONENT] * len(self.shape), sum_of_offsets(parts))

    def on(self, version: LoopVersion) -> Affine:
        """The same elements in the form that is right on a path."""
        if self.wrapped is None:
            return self
        return self._plain if version.fits else self._exact

    def in_run(self, builder: Builder, point: VectorIndex) -> Affine:
        """The same in a run, for which what is linear in it is a part of base and stride."""
        *rows, last = self.components
        if not last.granular or not all(each.holds(builder, point) for each, _ in last.granular):
            return self
        type_, stride = self.index_type, last.stride or integer(0, self.index_type)
        offset, start = integer(0, type_), builder.resize(point.start, type_)
        for values, scale in last.granular:
            value = builder.resize(values.start_of(builder, point), type_)
            step = integer(values.step, type_)
            first = builder.binary("sub", value, builder.mul(start, step))
            offset = builder.add(offset, builder.mul(first, scale))
            stride = builder.add(stride, builder.mul(step, scale))
        base = self._further(builder, offset)
        part = Component(stride, last.tables, last.listed)
        return Affine(self.type, base, [*rows, part], self.extra, self.advance, self.wrapped)

    def _further(self, builder: Builder, offset: Val) -> Val:
        """The base so much further on."""
        if self.is_pointer:
            return builder.element_pointer(memory_type(self.pointee), self.base, offset)
        return builder.add(self.base, offset)

    def moving(self, advance: Val) -> Affine:
        """The same addresses, which the next turn of a loop has so many elements further on."""
        return Affine(self.type, self.base, self.components, self.extra, advance, self.wrapped)

    def moved(self, builder: Builder, distance: Val) -> Affine:
        """Addresses so many elements further on, as i64."""
        base = self._further(builder, distance)
        return Affine(self.type, base, self.components, self.extra, None, self.wrapped)

    def rearranged(self, shape: tuple[int, ...], axes: Sequence[int | None], view: View) -> Affine:
        """The same elements in a block whose dimension i is dimension `axes[i]` of this one.

        Args:
            axes: None for a new dimension, in which elements are repeated.
            view: gives the same of what no components explain.
        """
        parts = [NO_COMPONENT if axis is None else self.components[axis] for axis in axes]
        extra, wrapped = self.extra and view(self.extra), self.wrapped
        if wrapped is not None:
            wrapped = replace(wrapped, offsets=view(wrapped.offsets))
        type_ = TensorType(shape, self.element)
        return Affine(type_, self.base, parts, extra, self.advance, wrapped)

    def as_lines(self, builder: Builder) -> Affine:
        """The same, where what is linear in granules is so as a whole under a guard.

        The code that finds this out is written here.
        """
        if not any(part.granular for part in self.components):
            return self
        parts = [part.as_line(builder) for part in self.components]
        return Affine(self.type, self.base, parts, self.extra, self.advance, self.wrapped)

    def own_fit_guards(self) -> list[Val]:
        tables = [table.fits for part in self.components for table, _ in part.tables]
        return tables if self.wrapped is None else [*tables, self.wrapped.fits]

    def own_linear_guards(self) -> list[Val]:
        tables = [table.linear for part in self.components for table, _ in part.tables]
        return [*tables, *self._granular_guards]

    @property
    def _granular_guards(self) -> list[Val]:
        return [values.linear for part in self.components for values, _ in part.granular]

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        if self.extra is not None:
            return None
        tables = [
            table.linear_within(builder, count)
            for part, count in zip(self.components, extents, strict=True)
            for table, _ in part.tables
        ]
        return [*self.own_fit_guards(), *tables, *self._granular_guards]

    def own_buffers(self) -> frozenset[str]:
        tables = (values.values for part in self.components for values, _ in part.looked_up)
        offsets = frozenset() if self.wrapped is None else self.wrapped.offsets.buffers()
        return offsets.union(*(table.buffers() for table in tables))

    def own_bits(self) -> int:
        # Contiguous addresses, which are nearly all, need no vector of addresses.
        return 0 if self.is_pointer else self.element.bits

    def own_memory_bits(self) -> int:
        return self.pointee.bits if self.is_pointer else 0

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        """The integers or addresses of the elements at `point`."""
        if self.wrapped is not None:
            return self.on(point.version).evaluate(builder, point)
        if point.width > self.shape[-1]:
            return self._evaluate_rows(builder, point)
        if (run := self.in_run(builder, point)) is not self:
            return run.evaluate(builder, point)
        row = self.row_base(builder, point)
        last = self.components[-1]
        offset = builder.splat(integer(0, self.index_type), point.width)
        if self._is_strided and last.stride is not None and point.width > 1:
            # With one scalar for all of the run, LLVM finds a load by strides.
            start = builder.mul(builder.resize(point.start, "i64"), last.stride)
            row = builder.element_pointer(memory_type(self.pointee), row, start)
            lanes = builder.iota("i64", point.width)
            offset = builder.mul(lanes, builder.splat(last.stride, point.width))
        elif not last.is_zero:
            places = positions(builder, point, self.index_type)
            stride, looked_up = self._last(builder, point)
            offset = builder.mul(places, builder.splat(stride, point.width))
            for numbers, scale in looked_up:
                values = numbers.at(builder, point.start, point.width)
                values = builder.resize(values, self.index_type)
                scaled = builder.mul(values, builder.splat(scale, point.width))
                offset = builder.add(offset, scaled)
            for digits, scale in last.digits if point.version.linear else ():
                values = digits.beyond_start(builder, self._from_origin(builder, places, point))
                scaled = builder.mul(values, builder.splat(scale, point.width))
                offset = builder.add(offset, scaled)
        if self.extra is not None:
            extra = builder.resize(self.extra.at(builder, point), self.index_type)
            offset = builder.add(offset, extra)
        if self.is_pointer:
            return builder.element_pointer(memory_type(self.pointee), row, offset)
        return builder.add(builder.splat(row, point.width), offset)

    @property
    def _is_strided(self) -> bool:
        """Whether addresses of a row have one distance from each other, whatever the path."""
        return self.is_pointer and self.components[-1].has_rule and self.extra is None

    def _from_origin(self, builder: Builder, places: Val, point: VectorIndex) -> Val:
        """Positions in the part of the block that a path is for."""
        if point.version.origin is None:
            return places
        origin = builder.resize(point.version.origin, self.index_type)
        return builder.binary("sub", places, builder.splat(origin, point.width))

    @property
    def own_spans_rows(self) -> bool:
        return not self.is_pointer and all(part.has_rule for part in self.components)

    def _evaluate_rows(self, builder: Builder, point: VectorIndex) -> Val:
        """The integers of a run that takes several whole rows."""
        total = builder.splat(self.base, point.width)
        if self.extra is not None:
            extra = self.extra.at(builder, point)
            return builder.add(total, builder.resize(extra, self.index_type))
        lanes = places_of_lanes(self.shape, point.width)
        for part, start, places in zip(self.components, point.coordinates, lanes, strict=True):
            if part.stride is not None:
                first = builder.splat(builder.resize(start, self.base.type), point.width)
                place = builder.add(first, builder.vector(places, self.base.type))
                stride = builder.splat(part.stride, point.width)
                total = builder.add(total, builder.mul(place, stride))
        return total

    def row_base(self, builder: Builder, point: VectorIndex) -> Val:
        """The base of the row at `point`: all but the last dimension's component.

        Where the tables of the last dimension are known to be linear, their start is in it.
        """
        offset = integer(0, self.index_type)
        for part, position in zip(self.components[:-1], point.index, strict=True):
            offset = builder.add(
                offset, self._component(builder, part, position, point.version.linear_rows)
            )
        if point.version.linear:
            for table, scale in self.components[-1].tables:
                start = point.version.starts.get(table, table.start)
                start = builder.resize(start, self.index_type)
                offset = builder.add(offset, builder.mul(start, scale))
        return self._further(builder, offset)

    def last_stride(self, builder: Builder, linear: bool) -> Val | None:
        """The distance between neighbours, or None where it is not one number."""
        last = self.components[-1]
        if self.extra is not None or not last.may_be_linear or (last.tables and not linear):
            return None
        return last.linear_stride(builder, self.index_type)

    def _last(
        self, builder: Builder, point: VectorIndex
    ) -> tuple[Val, Sequence[tuple[Lookup, Val]]]:
        last = self.components[-1]
        if point.version.linear:
            return last.linear_stride(builder, self.index_type), last.without_line
        return last.stride or integer(0, self.index_type), last.looked_up

    def _component(self, builder: Builder, part: Component, position: Val, linear: bool) -> Val:
        """What a dimension adds at one position."""
        if part.is_zero:
            return integer(0, self.index_type)
        narrow = builder.resize(position, self.index_type)
        if linear:
            total = builder.mul(narrow, part.linear_stride(builder, self.index_type))
        elif part.stride is not None:
            total = builder.mul(narrow, part.stride)
        else:
            total = integer(0, self.index_type)
        for digits, scale in part.digits if linear else ():
            total = builder.add(total, builder.mul(digits.beyond_start(builder, narrow), scale))
        for table, scale in part.tables:
            value = table.start if linear else table.at(builder, position, 1)
            scaled = builder.mul(builder.resize(value, self.index_type), scale)
            total = builder.add(total, scaled)
        for values, scale in part.without_line:
            value = builder.resize(values.at(builder, position, 1), self.index_type)
            total = builder.add(total, builder.mul(value, scale))
        return total
