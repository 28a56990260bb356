"""Multiplies and adds integers that a kernel shifts to the left and joins bit by bit.

    red << 16 | green << 8 | blue          red * 65536 + green * 256 + blue

Products and sums are followed in addresses, where shifts and joined bits are not: elements at
`columns << 1` would be gathered. A multiplication and a sum are one instruction, and on cores that
are slow at bitwise operations, a sum is the faster one besides. Of a product alone, LLVM makes a
shift again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.ttir.block_ranges import ranges_of_blocks
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import integer_bits, one_integer
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, placed

__all__ = ["add_bits"]

# Narrower integers are no part of an address.
_OFFSETS = (ScalarType("i32"), ScalarType("i64"))
# Operations whose result has the bits of one of their operands, the last ones.
_CHOICES = {"arith.select": 2, "arith.ori": 2, "arith.xori": 2, "arith.extui": 1}
_CHOICES |= {"arith.trunci": 1, "tt.splat": 1, "tt.broadcast": 1, "tt.expand_dims": 1}


def add_bits(kernel: Kernel) -> int:
    """Multiplies in place of shifts to the left, and adds integers without a bit in common."""
    names = {each.name for each in kernel.module.walk()}
    fired = _multiply_shifted(kernel) if "arith.shli" in names else 0
    return fired + (_add_joined(kernel) if "arith.ori" in names else 0)


def _multiply_shifted(kernel: Kernel) -> int:
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


def _add_joined(kernel: Kernel) -> int:
    ranges, possible, fired = ranges_of_blocks(kernel.function), dict[Value, int](), 0
    for operation in kernel.function.walk():
        if len(operation.results) != 1 or (bits := integer_bits(operation.result)) is None:
            continue
        whole = (1 << bits) - 1
        sides = [possible.get(each, _all_bits(each)) for each in operation.operands]
        is_apart = len(sides) == 2 and not sides[0] & sides[1]
        found = _possible(operation, sides, possible, is_apart)
        least, most = ranges.get(operation.result, (-1, 0))
        limit = whole if least < 0 else (1 << most.bit_length()) - 1
        possible[operation.result] = whole & limit if found is None else whole & limit & found
        if operation.name == "arith.ori" and is_apart and bits > 1 and operation.result.shape:
            operation.name, operation.attributes = "arith.addi", {}
            fired += 1
    return fired


def _all_bits(value: Value) -> int:
    return (1 << (integer_bits(value) or 0)) - 1


def _possible(
    operation: Operation, sides: Sequence[int], possible: Mapping[Value, int], is_apart: bool
) -> int | None:
    """The bits that a result may have; None where all of its type are possible."""
    number = one_integer(operation)
    if number is not None:
        return number
    if (count := _CHOICES.get(operation.name)) is not None:
        joined = 0
        for side in sides[-count:]:
            joined |= side
        return joined
    if operation.name == "arith.andi":
        return sides[0] & sides[1]
    if operation.name == "arith.addi" and is_apart:
        return sides[0] | sides[1]
    if operation.name == "arith.muli":
        factor = possible.get(operation.operands[1], 0)
        is_power = factor > 0 and not factor & factor - 1
        return sides[0] * factor if is_power else None
    return None
