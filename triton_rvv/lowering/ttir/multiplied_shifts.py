"""Multiplies by powers of two in place of shifts to the left, which no analysis of addresses knows.

    offsets = columns << 1                          offsets = columns * 2
    even = load(p + offsets)                        even = load(p + offsets)

Neighbours would be gathered, since nothing tells how far they are from each other. Where no address
depends on the product, LLVM makes a shift of it again.
"""

from __future__ import annotations

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_integer
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, placed

__all__ = ["multiply_shifts"]

# Narrower integers are no part of an address.
_OFFSETS = (ScalarType("i32"), ScalarType("i64"))


def multiply_shifts(kernel: Kernel) -> int:
    """Multiplies by powers of two in place of shifts, as passes and code follow products."""
    if not any(each.name == "arith.shli" for each in kernel.module.walk()):
        return 0
    rewriter, fired = Rewriter(kernel.module), 0
    for block, shift in placed(kernel.module, "arith.shli"):
        if (factor := _factor(shift, rewriter)) is not None:
            made = Written(rewriter, shift.operands[1], shift.line)
            number = made.number(shift.result.type, factor)
            block.put_before(shift, made.operations)
            rewriter.set_operands(shift, [shift.operands[0], number])
            shift.name, shift.attributes = "arith.muli", {}
            fired += 1
    return fired


def _factor(shift: Operation, rewriter: Rewriter) -> int | None:
    """The power of two that a shift multiplies by, where it is positive in the shift's type."""
    element = element_type(shift.result.type)
    places = one_integer(rewriter.makers.get(shift.operands[1]))
    if not isinstance(element, ScalarType) or element not in _OFFSETS or places is None:
        return None
    return 1 << places if 0 <= places < element.bits - 1 else None
