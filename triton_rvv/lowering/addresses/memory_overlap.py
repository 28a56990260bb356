"""Whether two blocks of addresses, or two elements of one, have anything in common."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import FALSE, TRUE, Val, integer

__all__ = ["UNKNOWN", "are_apart", "keeps_apart", "lanes_are_apart"]

# Stands for a truth value that no code can tell.
UNKNOWN = FALSE


def are_apart(builder: Builder, left: Affine, right: Affine) -> Val:
    """Whether, at run time, all addresses of one block are before all of the other, or `UNKNOWN`.

    Masked elements count, so blocks at the end of an array may seem to overlap and do not. So may
    blocks with offsets that wrap, which lie elsewhere.
    """
    ranges = [_range(builder, block) for block in (left, right)]
    known = [range_ for range_ in ranges if range_ is not None]
    if len(known) < 2:
        return UNKNOWN
    (start, end), (other_start, other_end) = known
    is_before = builder.compare("ule", end, other_start)
    is_behind = builder.compare("ule", other_end, start)
    fits = [guard for block in (left, right) for guard in block.own_fit_guards()]
    return functools.reduce(builder.conjunction, fits, builder.binary("or", is_before, is_behind))


def _range(builder: Builder, addresses: Affine) -> tuple[Val, Val] | None:
    """The first byte of a block and the one after the last, as i64; None where any may be in it."""
    if addresses.extra is not None or not all(part.has_rule for part in addresses.components):
        return None
    below, above = integer(0), integer(1)
    for part, size in zip(addresses.components, addresses.shape, strict=True):
        if part.stride is not None and size > 1:
            reach = builder.mul(part.stride, integer(size - 1))
            below = builder.add(below, _limited(builder, "smin", reach))
            above = builder.add(above, _limited(builder, "smax", reach))
    base = builder.cast("ptrtoint", addresses.base, "i64")
    size_bytes = integer(addresses.pointee.size_bytes)
    start, end = (builder.add(base, builder.mul(far, size_bytes)) for far in (below, above))
    return start, end


def _limited(builder: Builder, name: str, number: Val) -> Val:
    """The smaller or the larger one of a number and 0."""
    if (constant := number.constant) is None:
        return builder.intrinsic(f"llvm.{name}", (number, integer(0)))
    return integer(min(constant, 0) if name == "smin" else max(constant, 0))


def keeps_apart(addresses: Affine) -> bool:
    """Whether no two elements share an address, as far as strides are constant."""
    if any(
        part.stride is None or not part.has_rule
        for part, size in zip(addresses.components, addresses.shape, strict=True)
        if size > 1
    ):
        return False
    reach = 0
    constant = [(stride.constant, size) for stride, size in _strides(addresses)]
    for stride, size in sorted(
        (abs(number), size) for number, size in constant if number is not None
    ):
        if stride <= reach:
            return False
        reach += stride * (size - 1)
    return True


def lanes_are_apart(builder: Builder, addresses: Affine) -> Val:
    """Whether, at run time, no two elements of a block that `keeps_apart` share an address.

    They do not if, in some order of the dimensions, each stride is longer than all dimensions
    before it reach together. Constant strides are taken in their own order, the shortest first.
    """
    strides = _strides(addresses)
    known = sorted((s for s in strides if s[0].constant is not None), key=_magnitude)
    unknown = [each for each in strides if each[0].constant is None]
    if not unknown:
        return TRUE
    orders = [
        order
        for order in itertools.permutations(known + unknown)
        if [each for each in order if each in known] == known
    ]
    ordered = [_each_clears_the_last(builder, order) for order in orders]
    return functools.reduce(lambda left, right: builder.binary("or", left, right), ordered)


def _strides(addresses: Affine) -> list[tuple[Val, int]]:
    """The strides in elements, and the sizes, of the dimensions with more than one element."""
    return [
        (part.stride, size)
        for part, size in zip(addresses.components, addresses.shape, strict=True)
        if size > 1 and part.stride is not None
    ]


def _magnitude(stride: tuple[Val, int]) -> int:
    assert stride[0].constant is not None
    return abs(stride[0].constant)


def _each_clears_the_last(builder: Builder, strides: Sequence[tuple[Val, int]]) -> Val:
    """Whether each stride is longer than the dimensions before it reach."""
    reach, clear = integer(0), TRUE
    for stride, size in strides:
        length = _length(builder, builder.resize(stride, "i64"))
        clear = builder.conjunction(clear, builder.compare("sgt", length, reach))
        reach = builder.add(reach, builder.mul(length, integer(size - 1)))
    return clear


def _length(builder: Builder, stride: Val) -> Val:
    if stride.constant is not None:
        return integer(abs(stride.constant))
    return builder.smax(stride, builder.binary("sub", integer(0), stride))
