"""Instructions of RVV that make shorter integers, and saturate."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.register_groups import DYNAMIC_ROUNDING
from triton_rvv.lowering.llvm.values import Val, integer, type_suffix, vector_type

__all__ = ["clipped", "nearest"]

# An element of LLVM's types for groups stands for 64 bits of a register.
_UNIT_BITS = 64
_NAMES = {"float": "f32"}
# How LLVM numbers the rounding modes of fixed-point instructions.
_DOWN = integer(2)


def nearest(builder: Builder, value: Val, element: str) -> Val:
    """The i16 or i32 nearest to each float32 of a vector that fits a group, ties to even.

    What is too large becomes the integer that comes closest, and NaN the largest.
    """
    name = "vfcvt.x.f.v" if element == "i32" else "vfncvt.x.f.w"
    return _call(builder, name, value, element, [DYNAMIC_ROUNDING], "i64")


def clipped(builder: Builder, value: Val, shift: int, signed: bool = True) -> Val:
    """Integers of half the bits: shifted right, rounded down, and the closest that they can be."""
    element, name = f"i{int(value.element[1:]) // 2}", "vnclip" if signed else "vnclipu"
    return _call(builder, name, value, element, [integer(shift), _DOWN], "i64.i64")


def _call(
    builder: Builder, name: str, value: Val, element: str, how: Sequence[Val], sizes: str
) -> Val:
    """The result of an instruction with one vector, of other elements."""
    count = max(1, value.width * _UNIT_BITS // builder.abilities.rvv_bits)

    def group(kind: str) -> tuple[str, str]:
        return f"<vscale x {count} x {kind}>", f"nxv{count}{_NAMES.get(kind, kind)}"

    (source, from_), (target, to) = group(value.element), group(element)
    insert = f"llvm.vector.insert.{from_}.{type_suffix(value)}"
    grouped = builder.call(source, insert, [Val(source, "poison"), value, integer(0)])
    operands = [Val(target, "poison"), grouped, *how, integer(value.width)]
    result = builder.call(target, f"llvm.riscv.{name}.{to}.{from_}.{sizes}", operands)
    type_ = vector_type(element, value.width)
    extract = f"llvm.vector.extract.{type_suffix(Val(type_, 'poison'))}.{to}"
    return builder.call(type_, extract, [result, integer(0)])
