"""Quotients and remainders of positions, also as shifts and masks of bits."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import Component, Granular, Segmented
from triton_rvv.lowering.addresses.div_mod import DivMod, division_of, periods_of
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.elementwise import arith
from triton_rvv.lowering.elementwise.index import or_elementwise, uniform_only
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.ttir.column_limits import IS_COLUMN, IS_RESHAPED
from triton_rvv.lowering.ttir.every_other import EVERY_OTHER

__all__ = ["HANDLERS", "low_bits"]


# In shorter granules there are no whole runs.
_MIN_GRANULE = 8


@dataclass(frozen=True)
class _ByScalar:
    """An operation on integers that vary along one dimension, and a scalar.

    Args:
        line: they, along that dimension.
    """

    operation: Operation
    block: Affine
    line: Affine
    operand: Val

    @staticmethod
    def of(operation: Operation, block: Affine, operand: Val) -> _ByScalar | None:
        """None for blocks that vary along several dimensions, or none."""
        varying = [part for part in block.components if not part.is_zero]
        if len(varying) != 1 or block.wrapped is not None:
            return None
        type_ = TensorType((block.shape[block.components.index(varying[0])],), block.element)
        return _ByScalar(operation, block, Affine(type_, block.base, varying), operand)

    @property
    def values(self) -> Tensor:
        """The results along the dimension."""
        (emit, cost), type_ = arith.EMITTERS[self.operation.name], self.line.type
        return Elementwise(type_, emit, [self.line, Splat(type_, self.operand)], cost)

    def result(self, tables: Sequence[Segmented] = (), granular: Sequence[Granular] = ()) -> Affine:
        """The block of all results, of which those along the dimension are some values."""
        one = integer(1, self.operand.type)
        part = Component(
            tables=tuple((each, one) for each in tables),
            granular=tuple((each, one) for each in granular),
        )
        parts = [each if each.is_zero else part for each in self.block.components]
        return Affine(self.block.type, integer(0, one.type), parts)

    def periodic(self, builder: Builder, period: int) -> Affine | None:
        """The result as periods, for a small power of two."""
        is_quotient = self.operation.name in ("arith.divsi", "arith.shrsi")
        found = periods_of(builder, self.line, period, is_quotient)
        return None if found is None else self.result([Segmented.of(builder, self.values, found)])


def _divide(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    """`(base + iota) // n` or `% n`: linear unless the block crosses a multiple of n."""
    known = context.builder.intervals.number(right.base)
    # By a constant, LLVM multiplies and shifts.
    divisor = right.base if known is None else integer(known, right.base.type)
    found = _ByScalar.of(operation, left, divisor) if right.is_uniform else None
    followed = None if found is None else _followed(context, found, known)
    return followed or uniform_only(context, operation, left, right)


def _followed(context: Context, found: _ByScalar, known: int | None) -> Affine | None:
    """A quotient or remainder as segments, granules or a table."""
    builder, attributes = context.builder, found.operation.attributes
    if EVERY_OTHER in attributes:
        return None
    if known is not None and (periodic := found.periodic(builder, known)) is not None:
        return periodic
    emit, _ = arith.EMITTERS[found.operation.name]
    is_quotient = found.operation.name == "arith.divsi"
    division = division_of(builder, found.line, found.operand, emit, is_quotient)
    if division is None:
        return None
    # What is put into blocks, such as the columns of a matrix, is asked for again for every row.
    is_in_block = len(found.block.shape) > 1 or IS_RESHAPED in attributes
    granule = division.granule(builder)
    if IS_COLUMN in attributes and not context.has_products and granule != known:
        is_in_block = False  # rows as long as an image's wrap once, and are walked over in parts
    if is_in_block and _MIN_GRANULE <= granule < found.line.shape[0]:
        return found.result(granular=[division.in_granules(builder, found.values)])
    if granule >= _MIN_GRANULE or (division.is_long(builder) and not is_in_block):
        return found.result([Segmented.of(builder, found.values, division)])
    if is_quotient or division.dividend.steps:
        return None
    return found.result([_table(context, found.values, division)])


def _table(context: Context, values: Tensor, division: DivMod) -> Segmented:
    """Values that are written here where they are not linear at run time."""
    found, table = Segmented.of(context.builder, values, division), context.buffer(values.type)
    copy = functools.partial(materialise.copy, context, values, table)
    context.builder.branches(found.linear, lambda: None, copy)
    return replace(found, values=table, is_table=True)


def _shift(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    """`at >> 1`, which is a quotient rounded down."""
    count = context.builder.intervals.number(right.base) if right.is_uniform else None
    period = 1 << count if count is not None and 0 < count < left.element.bits else 0
    return _by_bits(context, operation, left, right, period)


def low_bits(context: Context, operation: Operation, left: Affine, right: Affine) -> Tensor | None:
    """`at & 1`, which is a remainder without a sign."""
    mask = context.builder.intervals.number(right.base) if right.is_uniform else None
    return _by_bits(context, operation, left, right, 0 if mask is None else mask + 1)


def _by_bits(
    context: Context, operation: Operation, left: Affine, right: Affine, period: int
) -> Tensor | None:
    """A quotient or remainder by a power of two, or any other by an operand; 0 if not known."""
    number = context.builder.intervals.number(right.base) if period > 1 else None
    found = None
    if number is not None and EVERY_OTHER not in operation.attributes:
        found = _ByScalar.of(operation, left, integer(number, right.base.type))
    periodic = None if found is None else found.periodic(context.builder, period)
    return periodic or uniform_only(context, operation, left, right)


HANDLERS: Mapping[str, Handler] = {
    "arith.remsi": or_elementwise(_divide),
    "arith.divsi": or_elementwise(_divide),
    "arith.shrsi": or_elementwise(_shift),
}
