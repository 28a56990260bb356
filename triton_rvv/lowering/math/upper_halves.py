"""float32 to bf16 and back by instructions of RVV that shift by the way.

`vnclipu` shifts, rounds to the nearest even and narrows. Of a float's bits as an unsigned integer,
rounding away the lower half rounds the float: a carry goes from the significand into the exponent,
and the sign stands apart. Only NaN could overflow: it is made the one whose lower half is 0 before.

Back, a widening product with 2^15 and a sum take half the time of a widening and a shift.
"""

from __future__ import annotations

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type

__all__ = ["fits_registers", "floats_of_halves", "rounded_halves"]

# Elements of 32 bits in a register group, for each 64 bits of a register: at LMUL 8.
_MAX_IN_A_UNIT = 16
_UNIT_BITS = 64
# How LLVM numbers the rounding modes of fixed-point instructions.
_TO_NEAREST_EVEN = integer(1)
_TWO_TO_15 = integer(-(1 << 15), "i16")


def fits_registers(builder: Builder, width: int) -> bool:
    """Whether the instructions are there for a vector of so many elements."""
    return 1 < width <= builder.abilities.rvv_bits // _UNIT_BITS * _MAX_IN_A_UNIT


def rounded_halves(builder: Builder, value: Val) -> Val:
    """The upper half of each float32 of a vector, as i16, after rounding to the nearest even."""
    floats, words, halves = (_scalable(builder, value, kind) for kind in ("float", "i32", "i16"))
    length, count = integer(value.width), _count(builder, value)
    name = f"llvm.vector.insert.nxv{count}f32.v{value.width}f32"
    long = builder.call(floats, name, [Val(floats, "poison"), value, integer(0)])
    name = f"llvm.riscv.vfmin.nxv{count}f32.nxv{count}f32.i64"
    quiet = builder.call(floats, name, [Val(floats, "poison"), long, long, length])
    bits = builder.reinterpret(quiet, words)
    name = f"llvm.riscv.vnclipu.nxv{count}i16.nxv{count}i32.i64.i64"
    operands = [Val(halves, "poison"), bits, integer(16), _TO_NEAREST_EVEN, length]
    narrow = builder.call(halves, name, operands)
    name = f"llvm.vector.extract.v{value.width}i16.nxv{count}i16"
    return builder.call(vector_type("i16", value.width), name, [narrow, integer(0)])


def floats_of_halves(builder: Builder, value: Val) -> Val:
    """The float32 of which each i16 of a vector is the upper half, and the lower half is 0."""
    words, halves = (_scalable(builder, value, kind) for kind in ("i32", "i16"))
    count, type_ = _count(builder, value), vector_type("i32", value.width)
    name = f"llvm.vector.insert.nxv{count}i16.v{value.width}i16"
    short = builder.call(halves, name, [Val(halves, "poison"), value, integer(0)])
    name = f"llvm.riscv.vwmulu.nxv{count}i32.nxv{count}i16.i16.i64"
    operands = [Val(words, "poison"), short, _TWO_TO_15, integer(value.width)]
    product = builder.call(words, name, operands)
    name = f"llvm.vector.extract.v{value.width}i32.nxv{count}i32"
    half = builder.call(type_, name, [product, integer(0)])
    return builder.cast("bitcast", builder.add(half, half), "float")


def _count(builder: Builder, value: Val) -> int:
    """Elements for each unit of a register: LLVM has the instructions for such vectors only."""
    return max(1, value.width // (builder.abilities.rvv_bits // _UNIT_BITS))


def _scalable(builder: Builder, value: Val, kind: str) -> str:
    return f"<vscale x {_count(builder, value)} x {kind}>"
