"""Finds shifts that round, and integers that are limited and cut behind a shift.

y = (x * gain + (1 << 14)) >> 15              rounded and shifted by one instruction
store(p, clamp(y, -32768, 32767).to(int16))   and limited and cut by the same
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.ttir.block_ranges import Range, ranges_of_blocks
from triton_rvv.lowering.ttir.index_values import block_bits, index_values
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_integer

__all__ = ["CLIPS", "ROUNDS", "mark_clipped", "mark_rounded", "rounds_within"]

# The attribute of a shift to the right of a sum with half of what it divides by, which never wraps.
ROUNDS = "triton_rvv.rounds"
# The attribute of a cut of what is shifted, and then limited: whether what is shifted may be below
# 0, and the limits, which fit in the bits that are left.
CLIPS = "triton_rvv.clips"

# Half of the sum of two blocks and 1 is an average, which LLVM knows an instruction for.
_LEAST_COUNT = 2
_SHIFTS = ("arith.shrsi", "arith.shrui")
_LIMITS = {f"arith.{name}{sign}i": name for name in ("min", "max") for sign in "su"}


def mark_rounded(kernel: Kernel) -> int:
    """Finds shifts of sums that round, which one instruction does."""
    fired = 0
    for function in kernel.functions.values():
        operations = [*function.walk()]
        makers = {result: each for each in operations for result in each.results}
        found = [each for each in operations if _half_place(each, makers) is not None]
        if not found:
            continue
        indices = index_values(operations, makers)
        ranges = ranges_of_blocks(function, kernel.integers_so_far())
        for each in found:
            if each.result not in indices and rounds_within(each, makers, ranges):
                each.attributes[ROUNDS] = True
                fired += 1
    return fired


def rounds_within(
    shift: Operation,
    makers: Mapping[Value, Operation],
    ranges: Mapping[Value, Range],
) -> bool:
    """Whether a shift that rounds reads a sum that does not wrap, of what does not wrap."""
    total = shift.operands[0]
    place = _half_place(shift, makers)
    if place is None or total not in ranges:
        return False
    half = one_integer(makers[makers[total].operands[place]])
    assert half is not None
    low, high = ranges[total][0] - half, ranges[total][1]
    if (own := ranges.get(makers[total].operands[1 - place])) is not None:
        low = max(low, own[0])
    if shift.name == "arith.shrui" and low < 0:
        return False
    bits = block_bits(shift.result) or 0
    return -1 << bits - 1 <= low and high < 1 << bits - (shift.name == "arith.shrsi")


def _half_place(shift: Operation, makers: Mapping[Value, Operation]) -> int | None:
    """Which operand of the sum that a block is shifted of is half of what that divides by."""
    if shift.name not in _SHIFTS or block_bits(shift.result) is None:
        return None
    total, count = makers.get(shift.operands[0]), one_integer(makers.get(shift.operands[1]))
    if total is None or total.name != "arith.addi" or count is None or count < _LEAST_COUNT:
        return None
    if total.result.uses > 1:  # it is computed anyway
        return None
    numbers = [one_integer(makers.get(each)) for each in total.operands]
    return numbers.index(1 << count - 1) if 1 << count - 1 in numbers else None


def mark_clipped(kernel: Kernel) -> int:
    """Finds integers that are shifted, limited and cut, which one instruction does."""
    fired = 0
    for function in kernel.functions.values():
        operations = [*function.walk()]
        cuts = [each for each in operations if each.name == "arith.trunci"]
        makers = {result: each for each in operations for result in each.results}
        shifted = {cut: found for cut in cuts if (found := _Limited.of(cut, makers)) is not None}
        ranges = ranges_of_blocks(function, kernel.integers_so_far()) if shifted else {}
        for cut, limited in shifted.items():
            is_signed, bits = limited.is_signed(makers, ranges), block_bits(cut.result) or 0
            limits = _limits_within(limited, bits, is_signed, ranges)
            if limits is not None:
                cut.attributes[CLIPS] = [int(is_signed), *limits]
                fired += 1
    return fired


def _limits_within(
    limited: _Limited, bits: int, is_signed: bool, ranges: Mapping[Value, Range]
) -> Range | None:
    """The limits beside those that saturation in some bits has; None where it changes elements."""
    limits, before = limited.limits(ranges), ranges.get(limited.shift.result)
    if limits is None or before is None:
        return None
    low, high = limits
    has_sign = is_signed and high < 1 << bits - 1
    lowest, highest = (-1 << bits - 1, (1 << bits - 1) - 1) if has_sign else (0, (1 << bits) - 1)
    if not lowest <= low <= high <= highest:
        return None
    return lowest if before[0] >= low else low, highest if before[1] <= high else high


@dataclass(frozen=True)
class _Limited:
    """What is shifted, and then limited by minima and maxima.

    Args:
        shift: the operation.
        steps: the operations, the last one first, each with its number.
    """

    shift: Operation
    steps: tuple[tuple[Operation, int], ...]

    @staticmethod
    def of(cut: Operation, makers: Mapping[Value, Operation]) -> _Limited | None:
        """What is cut, where that takes fewer instructions at once."""
        if block_bits(cut.result) is None:
            return None
        maker, steps = makers.get(cut.operands[0]), list[tuple[Operation, int]]()
        while maker is not None and maker.name in _LIMITS:
            numbers = [one_integer(makers.get(each)) for each in maker.operands]
            number = numbers[1] if numbers[0] is None else numbers[0]
            if number is None or (number < 0 and maker.name.endswith("ui")):
                return None
            steps.append((maker, number))
            maker = makers.get(maker.operands[numbers.index(None) if None in numbers else 0])
        if maker is None or maker.name not in _SHIFTS:
            return None
        count = one_integer(makers.get(maker.operands[1]))
        is_known = count is not None and 0 < count < (block_bits(maker.result) or 0)
        saves = is_known and (steps or ROUNDS in maker.attributes)
        return _Limited(maker, tuple(steps)) if saves else None

    def is_signed(self, makers: Mapping[Value, Operation], ranges: Mapping[Value, Range]) -> bool:
        """Whether what is shifted may be below 0."""
        value = self.shift.operands[0]
        if ROUNDS in self.shift.attributes:
            place = _half_place(self.shift, makers)
            assert place is not None  # `narrow_integers` takes the attribute off otherwise
            value = makers[value].operands[1 - place]
        return self.shift.name == "arith.shrsi" and ranges.get(value, (-1, 0))[0] < 0

    def limits(self, ranges: Mapping[Value, Range]) -> Range | None:
        """Between which integers they lie in the end."""
        if self.shift.result not in ranges:
            return None
        low, high = ranges[self.shift.result]
        for operation, number in reversed(self.steps):
            if operation.name.endswith("ui") and low < 0:
                return None
            limit = min if _LIMITS[operation.name] == "min" else max
            low, high = limit(low, number), limit(high, number)
        return low, high
