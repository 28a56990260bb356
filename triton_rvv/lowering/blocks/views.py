"""Recipes that look at another block in a different shape."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.recipes import guards_of_all
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import Extents, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = [
    "Broadcast",
    "ExpandDims",
    "Plane",
    "Reshaped",
    "coordinates_of",
    "line_along",
    "places_of_lanes",
]


class ExpandDims(Tensor):
    """The operand with a dimension of size 1 put in at `axis`."""

    own_spans_rows = True

    def __init__(self, type_: TensorType, operand: Tensor, axis: int) -> None:
        super().__init__(type_, [operand])
        self.axis = axis

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        return guards_of_all(builder, self.operands, self.extents_below(extents))

    def extents_below(self, extents: Extents) -> Extents:
        return [count for axis, count in enumerate(extents) if axis != self.axis]

    @property
    def own_keeps_columns(self) -> bool:
        return not self.own_is_of_rows

    @property
    def own_is_of_rows(self) -> bool:
        return self.axis == len(self.shape) - 1

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        where = list(point.coordinates)
        del where[self.axis]
        # A run over a new last dimension is one over the dimension before it.
        moved = replace(point, index=tuple(where[:-1]), start=where[-1])
        if self.own_is_of_rows:
            moved = replace(moved, version=point.version.of_rows)
        return self.operands[0].at(builder, moved)


class Broadcast(Tensor):
    """The operand with its dimensions of size 1 repeated."""

    own_spans_rows = True

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        return guards_of_all(builder, self.operands, self.extents_below(extents))

    def extents_below(self, extents: Extents) -> Extents:
        sizes = self.operands[0].shape
        return [None if size == 1 else count for size, count in zip(sizes, extents, strict=True)]

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        if point.rows_together == 1 or not self._repeats(-2):
            return self._repeated(builder, point)
        place = (id(self), point.index[:-1], point.start, point.width, point.lanes)
        return builder.shared(place, functools.partial(self._repeated, builder, point))

    def _repeats(self, axis: int) -> bool:
        return len(self.shape) > 1 and self.operands[0].shape[axis] == 1 < self.shape[axis]

    @property
    def own_keeps_columns(self) -> bool:
        return not self.own_is_of_rows

    @property
    def own_is_of_rows(self) -> bool:
        return self.operands[0].shape[-1] < self.shape[-1]

    def own_repeated(self, axis: int) -> tuple[Tensor, ...]:
        is_asked_for = self.materialised is None and self.operands[0].type.elements > 1
        return self.operands if is_asked_for and self._repeats(axis) else ()

    def _repeated(self, builder: Builder, point: VectorIndex) -> Val:
        zero, source = integer(0), self.operands[0]
        where = [
            zero if size == 1 else position
            for size, position in zip(source.shape, point.coordinates, strict=True)
        ]
        lanes = self._lanes(point.width)
        width = max(lanes) + 1
        moved = replace(point, index=tuple(where[:-1]), start=where[-1], width=width, number=None)
        if self.own_is_of_rows:
            moved = replace(moved, version=point.version.of_rows)
        value = source.at(builder, moved)
        if width in (1, point.width):
            return builder.splat(value, point.width)
        return builder.shuffle(value, lanes)

    def _lanes(self, width: int) -> list[int]:
        """For each lane of a run, the lane of the operand's run that it repeats."""
        repeated, inner = [0] * width, 1
        places = places_of_lanes(self.shape, width)
        for size, offsets in zip(reversed(self.operands[0].shape), reversed(places), strict=True):
            if size > 1:
                repeated = [
                    lane + inner * offset for lane, offset in zip(repeated, offsets, strict=True)
                ]
            inner *= size
        return repeated


def line_along(tensor: Tensor, axis: int) -> Tensor | None:
    """The one-dimensional block that is repeated in every dimension but `axis`, if there is one."""
    if isinstance(tensor, Broadcast):
        return line_along(tensor.operands[0], axis)
    if isinstance(tensor, ExpandDims) and tensor.axis != axis:
        return line_along(tensor.operands[0], axis - (tensor.axis < axis))
    is_line = axis == 0 and len(tensor.shape) == 1 and tensor.shape[0] > 1
    return tensor if is_line else None


class Plane(Tensor):
    """The part of the operand at one position of a dimension, which is not its last one."""

    def __init__(self, operand: Tensor, position: Val, axis: int = 0) -> None:
        shape = (*operand.shape[:axis], *operand.shape[axis + 1 :])
        super().__init__(TensorType(shape, operand.element), [operand])
        self._position, self._axis = position, axis

    @property
    def own_spans_rows(self) -> bool:
        return self.operands[0].shape[self._axis] == 1

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        index = (*point.index[: self._axis], self._position, *point.index[self._axis :])
        number = point.number if self.own_spans_rows else None
        return self.operands[0].at(builder, replace(point, index=index, number=number))


class Reshaped(Tensor):
    """The operand's elements, in row-major order, in another shape.

    Runs have to be such that each lies in one row of the operand, or that it spans rows.
    """

    own_spans_rows = True

    def __init__(self, type_: TensorType, operand: Tensor) -> None:
        super().__init__(type_, [operand])

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        source = self.operands[0]
        # Other blocks of this shape ask for the same place: what they share is written once.
        place = (self.shape, source.shape, point.coordinates)
        if (*place, 0) not in point.memo:
            number = self._number(builder, point)
            values = (number, *coordinates_of(builder, source.shape, number))
            point.memo.update({(*place, key): value for key, value in enumerate(values)})
        number, *where = (point.memo[*place, key] for key in range(len(source.shape) + 1))
        moved = replace(point, index=tuple(where[:-1]), start=where[-1], number=number)
        return source.at(builder, moved)

    def _number(self, builder: Builder, point: VectorIndex) -> Val:
        """The number of a run's first element in row-major order."""
        if point.number is not None:
            return point.number
        number = integer(0)
        for size, position in zip(self.shape, point.coordinates, strict=True):
            number = builder.add(builder.mul(number, integer(size)), position)
        return number


def coordinates_of(builder: Builder, shape: Sequence[int], number: Val) -> tuple[Val, ...]:
    """The position in each dimension of the element with a number in row-major order."""
    where: list[Val] = []
    for size in reversed(shape[1:]):
        rest, position = builder.split(number, size)
        where.append(position)
        number = builder.shift_right(rest, size.bit_length() - 1)
    return (number, *reversed(where))


@functools.lru_cache(maxsize=1024)
def places_of_lanes(shape: tuple[int, ...], width: int) -> tuple[tuple[int, ...], ...]:
    """For each dimension, how far each lane of a run of `width` is from its first element."""
    places, inner = [], 1
    for size in reversed(shape):
        places.append(tuple(lane // inner % size for lane in range(width)))
        inner *= size
    return tuple(reversed(places))
