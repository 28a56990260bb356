"""Sums of products by RVV's multiply-add that overwrites the sum.

LLVM takes the one that overwrites a factor where both end there, and copies the sum back to its
register in every turn of a loop. Told to keep what is behind the last lane of the sum, it cannot.
"""

from __future__ import annotations

from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.values import Val, integer, type_suffix

__all__ = ["multiply_add"]

_UNIT_BITS = 64
_LARGEST_GROUP = 8
_ELEMENT_BITS = {"float": 32, "double": 64}
_DYNAMIC_ROUNDING, _KEPT_TAIL = integer(7), integer(0)


def multiply_add(builder: Builder, total: Val, value: Val) -> Val | None:
    """total + value in one instruction, where the value is a product of two vectors."""
    name, factors = builder.definition(value)
    bits, unit_count = builder.abilities.rvv_bits, value.width * _UNIT_BITS
    element_bits = _ELEMENT_BITS.get(value.element, 0)
    if name != "fmul" or not element_bits or not bits or unit_count < bits:
        return None
    if value.width * element_bits > _LARGEST_GROUP * bits or any(map(builder.repeated, factors)):
        return None
    count, fixed = unit_count // bits, type_suffix(value)
    suffix = f"nxv{count}f{element_bits}"
    group, start = f"<vscale x {count} x {value.element}>", integer(0)

    def grouped(vector: Val) -> Val:
        operands = [Val(group, "poison"), vector, start]
        return builder.call(group, f"llvm.vector.insert.{suffix}.{fixed}", operands)

    operands = [*map(grouped, (total, *factors)), _DYNAMIC_ROUNDING]
    operands += [integer(value.width), _KEPT_TAIL]
    result = builder.call(group, f"llvm.riscv.vfmacc.{suffix}.{suffix}.i64", operands)
    return builder.call(value.type, f"llvm.vector.extract.{fixed}.{suffix}", [result, start])
