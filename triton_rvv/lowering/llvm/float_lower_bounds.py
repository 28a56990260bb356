"""What floats are known to be no less than, from the instructions that compute them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val

__all__ = ["floor_of", "number_of"]

# Instructions looked through: expressions are shallow where it matters.
_DEPTH = 8
_NEVER_NEGATIVE = ("llvm.fabs", "llvm.sqrt", "exp")
# What rounding may take off a result that is no subnormal number.
_ROUNDED = 1 - 2.0**-22
_SMALLEST_NORMAL = 2.0**-126


def number_of(value: Val) -> float | None:
    """A constant as a number; None for any other value."""
    if not value.ref.startswith("0x"):
        return None
    is_half = value.ref.startswith("0xH")
    digits, format_, size = (value.ref[3:], "<e", 2) if is_half else (value.ref[2:], "<d", 8)
    (number,) = struct.unpack(format_, int(digits, 16).to_bytes(size, "little"))
    assert isinstance(number, float)
    return number


def floor_of(builder: Builder, value: Val, depth: int = _DEPTH) -> float:
    """A number that no lane is below, other than NaN; minus infinity where nothing is known."""
    value = builder.repeated(value) or value
    if (number := number_of(value)) is not None:
        return -math.inf if math.isnan(number) else number
    name, operands = builder.definition(value)
    if name == "fmul" and operands[0] == operands[1]:
        return 0.0
    known = 0.0 if name in _NEVER_NEGATIVE else -math.inf
    if depth == 0 or name not in ("fadd", "fmul", "fdiv", "llvm.maxnum", "llvm.sqrt"):
        return known
    floors = [floor_of(builder, operand, depth - 1) for operand in operands]
    if name == "llvm.maxnum":
        return max(floors)
    if min(floors) < 0.0 or (name == "fdiv" and floors[1] <= 0.0):  # by -0.0, -inf
        return known
    if name == "fadd":  # rounded, but never below a summand
        return max(floors)
    least = _least(name, floors, number_of(operands[-1]))
    return least * _ROUNDED if least > 2 * _SMALLEST_NORMAL else 0.0


def _least(name: str, floors: Sequence[float], last: float | None) -> float:
    """The exact result of an operation on the least operands, where `last` is a constant."""
    if name == "llvm.sqrt":
        return math.sqrt(floors[0])
    if name == "fmul":
        return floors[0] * floors[1]
    return floors[0] / last if last else 0.0
