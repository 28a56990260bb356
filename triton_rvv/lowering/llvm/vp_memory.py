"""Loads and stores of the first lanes of a vector, or under a mask."""

from __future__ import annotations

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import TRUE, ZEROS, Val, integer, type_suffix, vector_type
from triton_rvv.lowering.llvm.vectors import concatenated

__all__ = [
    "first_lanes",
    "load_first",
    "load_first_by_stride",
    "masked_gather",
    "masked_load",
    "masked_store",
    "merge_first",
    "store_first",
    "store_first_by_stride",
]


def first_lanes(builder: Builder, count: Val, width: int) -> Val:
    """A mask that is true in the first `count` lanes, a number of 64 bits."""
    lanes = builder.splat(builder.resize(count, "i32"), width)
    return builder.compare("ult", builder.iota("i32", width), lanes)


def load_first(
    builder: Builder, address: Val, count: Val, fill: Val, align: int, is_seen: bool
) -> Val:
    """The first `count` lanes of neighbours in memory, and those of `fill` behind them.

    Unless anything `is_seen` of what is behind them: then it is whatever the register held.
    """
    type_, width = fill.type, fill.width
    if not builder.abilities.has_vector_lengths:
        return masked_load(builder, address, first_lanes(builder, count, width), fill, align)
    aligned = Val(f"ptr align {align}", address.ref)
    suffix = type_suffix(fill)
    all_lanes, length = builder.splat(TRUE, width), _length(builder, count, width)
    loaded = builder.call(type_, f"llvm.vp.load.{suffix}.p0", [aligned, all_lanes, length])
    if not is_seen:
        return builder.emit(type_, f"freeze {loaded}")
    return builder.call(type_, f"llvm.vp.merge.{suffix}", [all_lanes, loaded, fill, length])


def load_first_by_stride(
    builder: Builder, type_: str, address: Val, distance_bytes: Val, count: Val, align: int
) -> Val:
    """The first `count` lanes, which are so far apart in memory; others hold anything."""
    aligned, anything = Val(f"ptr align {align}", address.ref), Val(type_, "poison")
    all_lanes = builder.splat(TRUE, anything.width)
    name = f"llvm.experimental.vp.strided.load.{type_suffix(anything)}.p0.i64"
    length = _length(builder, count, anything.width)
    loaded = builder.call(type_, name, [aligned, distance_bytes, all_lanes, length])
    return builder.emit(type_, f"freeze {loaded}")


def merge_first(builder: Builder, value: Val, count: Val, others: Val) -> Val:
    """The first `count` lanes of a value, and those of another one behind them."""
    all_lanes, length = builder.splat(TRUE, value.width), _length(builder, count, value.width)
    name = f"llvm.vp.merge.{type_suffix(value)}"
    return builder.call(value.type, name, [all_lanes, value, others, length])


def store_first_by_stride(
    builder: Builder, value: Val, address: Val, distance_bytes: Val, count: Val, align: int
) -> None:
    """Write the first `count` lanes to places that are so far apart."""
    aligned, all_lanes = Val(f"ptr align {align}", address.ref), TRUE
    name = f"llvm.experimental.vp.strided.store.{type_suffix(value)}.p0.i64"
    length = _length(builder, count, value.width)
    lanes = builder.splat(all_lanes, value.width)
    builder.call_void(name, [value, aligned, distance_bytes, lanes, length])


def store_first(builder: Builder, value: Val, address: Val, count: Val, align: int) -> None:
    """Write the first `count` lanes to neighbours in memory."""
    if not builder.abilities.has_vector_lengths:
        mask = first_lanes(builder, count, value.width)
        masked_store(builder, value, address, mask, align)
        return
    all_lanes = builder.splat(TRUE, value.width)
    aligned = Val(f"ptr align {align}", address.ref)
    length = _length(builder, count, value.width)
    name = f"llvm.vp.store.{type_suffix(value)}.p0"
    builder.call_void(name, [value, aligned, all_lanes, length])


def masked_store(builder: Builder, value: Val, address: Val, mask: Val, align: int) -> None:
    """Write lanes where a mask is true: to neighbours in memory, or each to its own address."""
    name = "llvm.masked.store" if address.width == 1 else "llvm.masked.scatter"
    suffix = f"{type_suffix(value)}.{type_suffix(address)}"
    aligned = Val(f"{address.type} align {align}", address.ref)
    builder.call_void(f"{name}.{suffix}", [value, aligned, mask])


def _length(builder: Builder, count: Val, width: int) -> Val:
    """A number of lanes as RVV takes it; with more than there are, anything may happen."""
    return builder.resize(builder.intrinsic("llvm.umin", [count, integer(width)]), "i32")


# An instruction that loads 256 bits under a mask, and the bits of an element.
_REGISTER_BITS = 256
_REGISTER_LOADS = {
    "float": ("llvm.x86.avx.maskload.ps.256", 32),
    "double": ("llvm.x86.avx.maskload.pd.256", 64),
    "i32": ("llvm.x86.avx2.maskload.d.256", 32),
    "i64": ("llvm.x86.avx2.maskload.q.256", 64),
}


def masked_load(builder: Builder, address: Val, mask: Val, fill: Val, align: int) -> Val:
    """Neighbours in memory where a mask is true, and lanes of `fill` where it is false.

    Args:
        address: of the first lane.
        align: of the address, in bytes.
    """
    if builder.abilities.loads_masked_registers and fill.element in _REGISTER_LOADS:
        name, element_bits = _REGISTER_LOADS[fill.element]
        lanes = _REGISTER_BITS // element_bits
        if fill.width > lanes:
            return _by_registers(builder, name, address, mask, fill, lanes)
    aligned = Val(f"ptr align {align}", address.ref)
    return builder.call(
        fill.type, f"llvm.masked.load.{type_suffix(fill)}.p0", [aligned, mask, fill]
    )


def masked_gather(builder: Builder, addresses: Val, mask: Val, fill: Val, align: int) -> Val:
    """Elements from anywhere where a mask is true, and lanes of `fill` where it is false."""
    suffix = f"{type_suffix(fill)}.{type_suffix(addresses)}"
    aligned = Val(f"{addresses.type} align {align}", addresses.ref)
    return builder.call(fill.type, f"llvm.masked.gather.{suffix}", [aligned, mask, fill])


def _by_registers(
    builder: Builder, name: str, address: Val, mask: Val, fill: Val, lanes: int
) -> Val:
    """The same as one load for each register.

    Where LLVM 22.1 splits a longer vector and its code generator finds that all lanes of a register
    are off, it loads them as if they were on.
    """
    number = builder.repeated(fill)
    registers = []
    for first in range(0, fill.width, lanes):
        some = builder.lanes(mask, first, lanes)
        place = builder.element_pointer(fill.element, address, integer(first))
        signs = builder.cast("sext", some, f"i{_REGISTER_BITS // lanes}")
        loaded = builder.call(vector_type(fill.element, lanes), name, [place, signs])
        if number is None or number.ref not in ZEROS:  # the instruction gives zeros
            loaded = builder.select(some, loaded, builder.lanes(fill, first, lanes))
        registers.append(loaded)
    return concatenated(builder, registers)
