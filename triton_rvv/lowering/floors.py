"""What floats are known to be no less than, from the instructions that compute them."""

from __future__ import annotations

import math
import struct

from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.values import Val

__all__ = ["floor_of"]

# Instructions looked through: expressions are shallow where it matters.
_DEPTH = 8


def floor_of(builder: Builder, value: Val, depth: int = _DEPTH) -> float:
    """A number that no lane is below, other than NaN; minus infinity where nothing is known."""
    value = builder.repeated(value) or value
    if value.ref.startswith("0x"):
        (number,) = struct.unpack("<d", int(value.ref, 16).to_bytes(8, "little"))
        return -math.inf if math.isnan(number) else number
    name, operands = builder.definition(value)
    if name in _NEVER_NEGATIVE or (name == "fmul" and operands[0] == operands[1]):
        return 0.0
    if depth == 0 or name not in ("fadd", "fmul", "fdiv", "llvm.maxnum"):
        return -math.inf
    floors = [floor_of(builder, operand, depth - 1) for operand in operands]
    if name == "llvm.maxnum":
        return max(floors)
    if min(floors) < 0.0:
        return -math.inf
    # Sums are rounded, but never below a summand.
    return max(floors) if name == "fadd" else 0.0


_NEVER_NEGATIVE = ("llvm.fabs", "llvm.sqrt", "exp")
