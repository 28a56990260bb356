"""Whether two blocks of addresses, or two elements of one, have anything in common."""

from __future__ import annotations

import functools

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = ["UNKNOWN", "are_apart", "keeps_apart"]

# Stands for a truth value that no code can tell.
UNKNOWN = Val("i1", "false")


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
    parts = [
        (part, size)
        for part, size in zip(addresses.components, addresses.shape, strict=True)
        if size > 1
    ]
    if any(part.stride is None or not part.has_rule for part, _ in parts):
        return False
    constant = [(part.stride.constant, size) for part, size in parts if part.stride is not None]
    reach = 0
    for stride, size in sorted(
        (abs(stride), size) for stride, size in constant if stride is not None
    ):
        if stride <= reach:
            return False
        reach += stride * (size - 1)
    return True
