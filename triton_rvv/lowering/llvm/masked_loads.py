"""Loads under a mask."""

from __future__ import annotations

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import ZEROS, Val, integer, type_suffix, vector_type
from triton_rvv.lowering.llvm.vectors import concatenated

__all__ = ["masked_gather", "masked_load"]

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
        mask: as many lanes as `fill` has.
        fill: of the type that is loaded.
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
