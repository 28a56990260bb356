"""How much a scalar grows from one turn of a loop to the next, where that is one known number.

Code that addresses a block by a loop's counter, as in `a_ptr + (k + arange)`, carries no pointer
that the loop would move. What its address is made of says how far it moves. From a program to the
next one, addresses grow likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.lowering.llvm.builder import ADDRESS, Builder
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = ["ARGUMENT", "InductionVariable", "loop_stride"]

# What `Builder.define` calls what is the same in all programs.
ARGUMENT = "argument"

# Addresses take fewer instructions one after another; what takes more is not looked into.
_MAX_INSTRUCTIONS = 12
_FOLLOWED = frozenset(["add", "sub", "mul", "sext", "zext", "trunc", ADDRESS])


@dataclass(frozen=True)
class InductionVariable:
    """A loop's counter or a program's number, and how much it grows until the next one."""

    value: Val
    step: Val


def loop_stride(
    builder: Builder, value: Val, counter: InductionVariable, most: int = _MAX_INSTRUCTIONS
) -> Val | None:
    """The difference as an integer of 64 bits, of an address in elements; None if not known.

    What wraps in 32 bits is not looked at: this is for hints. `most` instructions one after another
    are followed.
    """
    if value.constant is not None or builder.is_older(value, counter.value):
        return integer(0)
    if value.ref == counter.value.ref:
        return counter.step
    name, operands = builder.definition(value)
    if name == ARGUMENT:
        return integer(0)
    if name not in _FOLLOWED or most == 0:
        return None
    parts = [loop_stride(builder, operand, counter, most - 1) for operand in operands]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if name in ("add", "sub", ADDRESS):
        left, right = known
        return builder.binary("sub" if name == "sub" else "add", left, right)
    if name == "mul":
        return _of_product(builder, operands, known)
    return known[0]


def _of_product(builder: Builder, factors: Sequence[Val], growths: Sequence[Val]) -> Val | None:
    """Of two factors, of which one stays as it is."""
    for factor, other in ((0, 1), (1, 0)):
        if growths[factor].constant == 0:
            return builder.mul(builder.resize(factors[factor], "i64"), growths[other])
    return None
