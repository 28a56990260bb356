"""Compares blocks of integers in the bits that they have, whatever number they are compared with.

A number that only run time knows has 32 or 64 bits, and would keep bytes as wide that are compared
with it or added to it. `narrow-comparisons` brings a limit or a label between the least and the
greatest element, as a scalar; where that changes it, all elements compare in the same way:

    x > limit                               (x > clamp(limit, 0, 255)) | (limit < 0)

`narrow-thresholds` does so with a number that is part of a sum. `limit'` is the number between -256
and 256, beyond which all bytes compare in the same way. Sums that wrap are seen by the block:
behind `last`, which is 255 but for numbers near 2^31.

    pixel > centre + limit                  pixel > where(centre > last, -1, centre + limit')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.llvm.predicates import predicate_of
from triton_rvv.lowering.ttir.block_ranges import Range, bits_of, ranges_of_blocks
from triton_rvv.lowering.ttir.demanded_bits import WIDENED
from triton_rvv.lowering.ttir.index_values import index_values
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import integer_bits
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, block_of, blocks_inside

__all__ = ["narrow_comparisons", "narrow_thresholds"]

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


@dataclass(frozen=True)
class _Threshold:
    """A sum, or a difference, of a block and a number that is the same for all of its elements.

    Args:
        maker: the operation.
        place: which of its operands is the number, as a block.
        number: it.
        found: between what the block's elements lie, which are no less than 0.
        others: between what those elements lie that it is compared with.
    """

    maker: Operation
    place: int
    number: Value
    found: Range
    others: Range

    @property
    def limits(self) -> Range:
        """Beyond which the number does not change what a comparison says."""
        low, high = self.others[0] - 1, self.others[1] + 1
        first, last = self.found
        if self.maker.name == "arith.addi":
            return low - last, high - first
        return (first - high, last - low) if self.place == 1 else (low + first, high + last)

    @property
    def fits(self) -> bool:
        """Whether fewer bits hold it then."""
        low, high = self.limits
        largest = max(abs(low), abs(high)) + self.found[1]
        has = integer_bits(self.maker.result) or 0
        return any(bits_of((-largest, largest)) <= bits < has for bits in (8, 16, 32))


def narrow_thresholds(kernel: Kernel) -> int:
    """Brings sums of blocks and numbers near the blocks that they are compared with."""
    fired = 0
    for function in kernel.functions.values():
        operations, rewriter = [*function.walk()], Rewriter(kernel.module)
        comparisons = [each for each in operations if each.name == "arith.cmpi"]
        candidates = [each for each in comparisons if _sums_number(each, rewriter.makers)]
        ranges = ranges_of_blocks(function) if candidates else {}
        # Masks of positions are followed as they are written.
        indices = index_values(operations, rewriter.makers) if candidates else set[Value]()
        made: dict[_Threshold, Value] = {}
        for each in candidates:
            if not indices.isdisjoint([*each.operands, each.result]):
                continue
            for place in (0, 1):
                threshold = _threshold(each, place, ranges, rewriter.makers)
                if threshold is not None and threshold.fits:
                    if threshold not in made:
                        made[threshold] = _limited_sum(threshold, function, rewriter)
                    rewriter.set_operand(each, place, made[threshold])
                    fired += 1
                    break
    return fired


def _sums_number(comparison: Operation, makers: Mapping[Value, Operation]) -> bool:
    parts = [makers[each] for each in comparison.operands if each in makers]
    sums = [each for each in parts if each.name in ("arith.addi", "arith.subi")]
    return any(_is_repeated(value, makers) for each in sums for value in each.operands)


def _is_repeated(value: Value, makers: Mapping[Value, Operation]) -> bool:
    return value in makers and makers[value].name == "tt.splat"


def _threshold(
    comparison: Operation,
    place: int,
    ranges: Mapping[Value, Range],
    makers: Mapping[Value, Operation],
) -> _Threshold | None:
    """What an operand of a comparison is, if its bits are more than those of the other one."""
    value, other = comparison.operands[place], comparison.operands[1 - place]
    maker = makers.get(value)
    is_signed = not predicate_of(comparison).startswith("u")
    if maker is None or maker.name not in ("arith.addi", "arith.subi") or not is_signed:
        return None
    for number in (0, 1):
        found = ranges.get(maker.operands[1 - number], (-1, 0))
        is_number = _is_repeated(maker.operands[number], makers)
        if is_number and found[0] >= 0 and value not in ranges and other in ranges:
            (scalar,) = makers[maker.operands[number]].operands
            return _Threshold(maker, number, scalar, found, ranges[other])
    return None


def _limited_sum(threshold: _Threshold, function: Operation, rewriter: Rewriter) -> Value:
    """A sum that compares as a threshold does, put behind it."""
    maker, place = threshold.maker, threshold.place
    type_, scalar = maker.result.block, threshold.number.type
    made = Written(rewriter, maker.result, maker.line)
    low, high = (made.number(scalar, each) for each in threshold.limits)
    number = made.write("arith.maxsi", scalar, threshold.number, low)
    number = made.write("arith.minsi", scalar, number, high)
    operands = [*maker.operands]
    operands[place] = made.write("tt.splat", type_, number)
    total = made.write(maker.name, type_, *operands)
    last = made.write("tt.splat", type_, _last_before_wrap(threshold, made))
    wraps = made.compare("sgt", maker.operands[1 - place], last)
    is_taken_from = maker.name == "arith.subi" and place == 0
    beyond = threshold.others[1] + 1 if is_taken_from else threshold.others[0] - 1
    limited = made.write("arith.select", type_, wraps, made.number(type_, beyond), total)
    block_of(maker, function).put_behind(maker, made.operations)
    return limited


def _last_before_wrap(threshold: _Threshold, made: Written) -> Value:
    """The largest element whose sum does not wrap, as far as there are elements."""
    number, type_ = threshold.number, threshold.number.type
    half = 1 << (integer_bits(number) or 0) - 1
    write = made.write
    if threshold.maker.name == "arith.addi":
        above = write("arith.maxsi", type_, number, made.number(type_, 0))
        last = write("arith.subi", type_, made.number(type_, half - 1), above)
    elif threshold.place == 1:
        below = write("arith.minsi", type_, number, made.number(type_, 0))
        last = write("arith.addi", type_, made.number(type_, half - 1), below)
    else:
        below = write("arith.minsi", type_, number, made.number(type_, -1))
        last = write("arith.subi", type_, below, made.number(type_, -half))
    return write("arith.minsi", type_, last, made.number(type_, threshold.found[1]))
