"""32-bit sums that become 64-bit ones: where they wrapped before that, and what is done about it.

The kernel's 32-bit integers wrap, and are extended with the sign they have then. An `Affine` of 32
bits is right in any case, as all of its parts wrap alike. To extend it part by part is only right
where no element leaves the range of 32 bits. One scalar condition for a whole block says whether
that is so: its extremes, computed with 64 bits, fit in 32. Where they do not, elements are computed
one after another (`loop_versioning.guarded`).
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.addresses.affine import Affine, Wrapped
from triton_rvv.lowering.addresses.offsets import sum_of_offsets
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.blocks.tensors import MAX_DEPTH, Tensor
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import FALSE, Val, integer
from triton_rvv.lowering.loops import loop_versioning, materialise

__all__ = ["fits_32_bits", "guard_widening", "scaled_wrapped", "sum_of_wrapped", "widened"]

_SMALLEST, _LARGEST = -(1 << 31), (1 << 31) - 1


def widened(context: Context, operand: Affine) -> Affine | None:
    """Signed integers as 64-bit ones; None where some of them are bound to wrap before."""
    builder = context.builder
    type_ = TensorType(operand.shape, ScalarType("i64"))
    if operand.base.type == "i64":
        return operand
    base = builder.resize(operand.base, "i64")
    components = [
        part.map(lambda number: builder.resize(number, "i64")) for part in operand.components
    ]
    fits = fits_32_bits(context, operand)
    if fits.truth is False:
        return None
    if fits.truth is True:
        return Affine(type_, base, components)

    def offset(builder: Builder, values: Sequence[Val]) -> Val:
        value = builder.resize(values[0], "i64")
        return builder.binary("sub", value, builder.splat(base, value.width))

    offsets = Elementwise(type_, offset, [operand], cost=0)
    return Affine(type_, base, components, wrapped=Wrapped(fits, offsets))


def guard_widening(context: Context, lowered: Val | Tensor) -> None:
    """Write here what tells whether a value can be widened part by part, for all that follows."""
    block = lowered if isinstance(lowered, Affine) else None
    if block is not None and block.index_type == "i32":
        fits_32_bits(context, block)


def fits_32_bits(context: Context, block: Affine) -> Val:
    """Whether the sums of all elements fit in 32 bits with their sign, found out here."""
    return context.once(block, lambda: _sums_fit(context.builder, block))


def _sums_fit(builder: Builder, block: Affine) -> Val:
    """The same each time it is asked."""
    low, high = block.reach(builder)
    bounds = [(low, "sge", _SMALLEST), (high, "sle", _LARGEST)]
    conditions = [_is_within(builder, block.base, *bound) for bound in bounds]
    if any(condition.truth is False for condition in conditions):
        return FALSE
    return builder.conjunction(*conditions)


def _is_within(builder: Builder, base: Val, reach: Val, predicate: str, limit: int) -> Val:
    """Whether an extreme of a block is on the right side of a limit."""
    if (distance := reach.constant) is None:
        extreme = builder.add(builder.resize(base, "i64"), reach)
        return builder.compare(predicate, extreme, integer(limit))
    rest = limit - distance
    if (number := base.constant) is not None:
        return _truth(number >= rest if predicate == "sge" else number <= rest)
    # The largest multiple of a power of two is so much below the limit.
    if 0 <= distance < builder.multiple(base) or distance == 0:
        return _truth(True)
    if not _SMALLEST <= rest <= _LARGEST:
        return _truth(False)
    return builder.compare(predicate, base, integer(rest, base.type))


def _truth(value: bool) -> Val:
    return Val("i1", "true" if value else "false")


def sum_of_wrapped(context: Context, left: Affine, right: Affine) -> Wrapped | None:
    """What is known of the sum of two blocks of 64 bits."""
    parts = [part for part in (left, right) if part.wrapped is not None or not part.is_uniform]
    known = [part.wrapped for part in parts if part.wrapped is not None]
    if not known:
        return None
    if len(parts) == 1:
        return known[0]
    fits = loop_versioning.all_of(context, (each.fits for each in known))
    offsets = sum_of_offsets([_offsets(part) for part in parts])
    if offsets.depth > MAX_DEPTH:
        materialise.materialise(context, offsets)
    return Wrapped(fits, offsets)


def _offsets(block: Affine) -> Tensor:
    """What the dimensions add to the base."""
    if block.wrapped is not None:
        return block.wrapped.offsets
    return Affine(TensorType(block.shape, ScalarType("i64")), integer(0), block.components)


def scaled_wrapped(block: Affine, factor: Val) -> Wrapped | None:
    """What is known of a block of 64 bits times a scalar."""
    if block.wrapped is None:
        return None

    def scale(builder: Builder, values: Sequence[Val]) -> Val:
        return builder.mul(values[0], builder.splat(factor, values[0].width))

    offsets = block.wrapped.offsets
    return Wrapped(block.wrapped.fits, Elementwise(offsets.type, scale, [offsets], cost=0))
