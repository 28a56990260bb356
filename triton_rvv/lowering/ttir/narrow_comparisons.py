"""Compares blocks of integers in the bits that they have, whatever number they are compared with.

    x > limit                               (x > clamp(limit, 0, 255)) | (limit < 0)

A limit or a label that only run time knows has 32 or 64 bits, and would keep bytes as wide that are
compared with it. Here it is brought between the least and the greatest element, as a scalar; where
that changes it, all elements compare in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.llvm.predicates import predicate_of
from triton_rvv.lowering.ttir.block_ranges import Range, bits_of, ranges_of_blocks
from triton_rvv.lowering.ttir.demanded_bits import WIDENED
from triton_rvv.lowering.ttir.index_values import index_values
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import integer_bits
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, blocks_inside

__all__ = ["narrow_comparisons"]

_EQUALITIES = frozenset(["eq", "ne"])
# What holds where a number is beside all elements: for these, it must be among them.
_ALL_HOLD = frozenset(["eq", "sle", "sge", "ule", "uge"])


def narrow_comparisons(kernel: Kernel) -> int:
    """Compares columns with a wider number in the columns' own type."""
    fired = 0
    for function in kernel.functions.values():
        operations = [*function.walk()]
        if not any(each.name == "arith.cmpi" for each in operations):
            continue
        rewriter = Rewriter(kernel.module)
        indices = index_values(operations, rewriter.makers)
        found = [each for each in operations if _may_be_wide(each, rewriter.makers, indices)]
        ranges = ranges_of_blocks(function) if found else {}
        for block in blocks_inside(function) if found else ():
            for each in [*block.operations]:
                if each in found and (place := _place(each, ranges, rewriter.makers)):
                    block.put_before(each, _limited(each, *place, rewriter))
                    fired += 1
    return fired


def _may_be_wide(
    operation: Operation, makers: Mapping[Value, Operation], indices: set[Value]
) -> bool:
    """Whether blocks that are no mask's positions are compared with a number."""
    if operation.name != "arith.cmpi":
        return False
    splats = [makers[each].name == "tt.splat" for each in operation.operands if each in makers]
    return any(splats) and (operation.result not in indices or _finds_label(operation, makers))


def _place(
    comparison: Operation, ranges: Mapping[Value, Range], makers: Mapping[Value, Operation]
) -> tuple[int, Value, Range] | None:
    """Where a comparison has a number that keeps it wide; it, and between what elements lie."""
    for place in (0, 1):
        splat, other = comparison.operands[place], comparison.operands[1 - place]
        maker, bits = makers.get(splat), integer_bits(splat)
        if maker is None or maker.name != "tt.splat" or other not in ranges or bits is None:
            continue
        found = ranges[other]
        widths = [each for each in (8, 16, 32) if bits_of(found) <= each < bits]
        is_exact = found[0] >= 0 or not predicate_of(comparison).startswith("u")
        if widths and is_exact and bits_of(ranges.get(splat, (0, 1 << bits))) > widths[0]:
            return place, maker.operands[0], found
    return None


def _finds_label(comparison: Operation, makers: Mapping[Value, Operation]) -> bool:
    """Whether positions are compared with one that is looked for, as no mask does."""
    are_widened = [makers[each].name in WIDENED for each in comparison.operands if each in makers]
    return any(are_widened) and predicate_of(comparison) in _EQUALITIES


def _limited(
    comparison: Operation, place: int, number: Value, found: Range, rewriter: Rewriter
) -> Sequence[Operation]:
    """What comes before a comparison, whose place is taken by the last that is made."""
    predicate, type_ = predicate_of(comparison), number.type
    kind = "ui" if predicate.startswith("u") else "si"
    made = Written(rewriter, comparison.result, comparison.line)
    make = made.write
    low, high = (made.number(type_, each) for each in found)
    limited = make(f"arith.min{kind}", type_, make(f"arith.max{kind}", type_, number, low), high)
    spread = make("tt.splat", comparison.operands[place].type, limited)
    operands = [*comparison.operands]
    operands[place] = spread
    sides = (limited, number) if place == 1 else (number, limited)
    lanes, same = made.compare(predicate, *operands), made.compare(predicate, *sides)
    everywhere = make("tt.splat", comparison.result.type, same)
    rewriter.set_operands(comparison, [lanes, everywhere])
    comparison.name = "arith.andi" if predicate in _ALL_HOLD else "arith.ori"
    comparison.attributes = {}
    return made.operations
