"""Whether two blocks of addresses, or two elements of one, have anything in common."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import FALSE, TRUE, Val, integer

__all__ = ["UNKNOWN", "are_apart", "is_range", "keeps_apart", "lanes_are_apart"]

# Stands for a truth value that no code can tell.
UNKNOWN = FALSE


def are_apart(builder: Builder, *blocks: tuple[Affine, Mask | None]) -> Val:
    """Whether, at run time, all addresses of one block are before all of the other, or `UNKNOWN`.

    Elements count that a mask leaves out, but for the first and last columns. So blocks at the end
    of an array may seem to overlap and do not. So may blocks with offsets that wrap, which lie
    elsewhere.

    Args:
        blocks: two of them, with the masks of what is loaded or stored there.
    """
    if not all(is_range(addresses) for addresses, _ in blocks):
        return UNKNOWN
    (start, end), (other_start, other_end) = (_range(builder, *block) for block in blocks)
    is_before = builder.compare("ule", end, other_start)
    is_behind = builder.compare("ule", other_end, start)
    parts = [part for block in blocks for part in block if part is not None]
    fits = [guard for part in parts for guard in part.own_fit_guards()]
    return functools.reduce(builder.conjunction, fits, builder.binary("or", is_before, is_behind))


def is_range(addresses: Affine) -> bool:
    """Whether it is known from where to where a block reaches."""
    return addresses.extra is None and all(part.has_rule for part in addresses.components)


def _range(builder: Builder, addresses: Affine, mask: Mask | None) -> tuple[Val, Val]:
    """The first byte of a block and the one after the last, as i64."""
    below, above = integer(0), integer(1)
    *rows, columns = ((integer(0), integer(size - 1)) for size in addresses.shape)
    if mask is not None:
        columns = mask.columns(builder).ends(builder, addresses.shape[-1])
    for part, places in zip(addresses.components, (*rows, columns), strict=True):
        if part.stride is not None:
            far = [builder.mul(part.stride, place) for place in places]
            below = builder.add(below, builder.smin(*far))
            above = builder.add(above, builder.smax(*far))
    base = builder.cast("ptrtoint", addresses.base, "i64")
    size_bytes = integer(addresses.pointee.size_bytes)
    start, end = (builder.add(base, builder.mul(far, size_bytes)) for far in (below, above))
    return start, end


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
