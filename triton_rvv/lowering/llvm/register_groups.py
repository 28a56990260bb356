"""Instructions of RVV on groups of registers, as operations on vectors of a fixed length."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, type_suffix

__all__ = ["ANY_TAIL", "DYNAMIC_ROUNDING", "KEPT_TAIL", "fits_group", "group_call"]

# An element of LLVM's types for groups stands for 64 bits of a register; a group has 8 at most.
_UNIT_BITS, _LARGEST_GROUP = 64, 8
_NAMES = {"i32": ("i32", 32), "float": ("f32", 32), "double": ("f64", 64)}
DYNAMIC_ROUNDING = integer(7)
# What is behind the last lane of a result that overwrites an operand.
KEPT_TAIL, ANY_TAIL = integer(0), integer(3)


def fits_group(builder: Builder, value: Val) -> bool:
    """Whether there are instructions of RVV for a vector of this type."""
    bits, (_, element_bits) = builder.abilities.rvv_bits, _NAMES.get(value.element, ("", 0))
    return 0 < value.width * element_bits <= _LARGEST_GROUP * bits and value.width > 1


def group_call(
    builder: Builder, name: str, operands: Sequence[Val | None], tail: Sequence[Val] = ()
) -> Val:
    """The result of an instruction, a vector of the type that its vectors have.

    Args:
        builder: writes the code.
        name: of LLVM's intrinsic, with "{}" where the group's type goes.
        operands: vectors that fit a group, scalars, and None for what may be anything. The number
            of lanes follows them.
        tail: what follows that.
    """
    first = next(each for each in operands if each is not None and each.width > 1)
    count = max(1, first.width * _UNIT_BITS // builder.abilities.rvv_bits)
    suffix, group = f"nxv{count}{_NAMES[first.element][0]}", f"<vscale x {count} x {first.element}>"
    anything, fixed, start = Val(group, "poison"), type_suffix(first), integer(0)

    def grouped(operand: Val | None) -> Val:
        if operand is None or operand.width == 1:
            return operand or anything
        parts = [anything, operand, start]
        return builder.call(group, f"llvm.vector.insert.{suffix}.{fixed}", parts)

    arguments = [*map(grouped, operands), integer(first.width), *tail]
    result = builder.call(group, f"llvm.riscv.{name.format(suffix)}.i64", arguments)
    return builder.call(first.type, f"llvm.vector.extract.{fixed}.{suffix}", [result, start])
