"""What sizes and grid say of integers before the kernel runs, and which comparisons they decide.

What follows from a program's place alone is known exactly in each program of the grid, and of a
loop's counter, where it begins and ends. A value that may wrap has no interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from triton_rvv.lowering.llvm.intervals import (
    RULES,
    UNSIGNED,
    Interval,
    compared,
    exactly,
    larger,
)
from triton_rvv.lowering.llvm.values import Val

__all__ = ["Intervals", "program_places"]

# The range of each type, from minus that on. Of i64, larger numbers are not followed, so that the
# product of two fits in 64 bits.
_LIMITS = {"i32": 1 << 31, "i64": 1 << 31}
_LARGEST = max(_LIMITS.values())

# A power of two that divides 0, as every one does.
_NOUGHT = 1 << 31

# In grids of more programs, each place is only known to lie in the grid.
_MAX_PROGRAMS = 1 << 14


def program_places(grid: Sequence[int]) -> list[Interval]:
    """The program ids along each axis of a grid, over all its programs, x fastest."""
    if not 0 < math.prod(grid) <= _MAX_PROGRAMS:
        return [Interval(0, max(size - 1, 0)) for size in grid]
    numbers = np.arange(math.prod(grid), dtype=np.int64)
    places = []
    for size in grid:
        numbers, place = np.divmod(numbers, size)
        places.append(exactly(place))
    return places


class Intervals:
    """The intervals of scalar integers, by their names in LLVM's IR."""

    def __init__(self) -> None:
        self._known: dict[str, Interval] = {}
        # What `multiple` has found over all programs of a grid.
        self._multiples: dict[str, int] = {}

    def of(self, value: Val) -> Interval | None:
        """What is known of a value; all of a constant."""
        if (number := value.constant) is not None:
            return exactly(number) if abs(number) <= _LARGEST else None
        return self._known.get(value.ref)

    def multiple(self, value: Val) -> int:
        """A power of two that divides a value in each program, as far as is known."""
        known = self._known.get(value.ref)
        if known is None or not known.is_exact:
            return 1
        low = known.low
        if isinstance(low, int):
            return low & -low or _NOUGHT
        if value.ref not in self._multiples:
            bits = int(np.bitwise_or.reduce(low))
            self._multiples[value.ref] = bits & -bits or _NOUGHT
        return self._multiples[value.ref]

    def number(self, value: Val) -> int | None:
        """The value, where it is one known number in all programs."""
        known = self.of(value)
        same = known is not None and known.is_exact and known.least == known.most
        return known.least if known is not None and same else None

    def note(self, value: Val, interval: Interval | None) -> None:
        """Say what is known of a value; nothing if it may leave the range of its type."""
        limit = _LIMITS.get(value.type, 0)
        if interval is not None and -limit <= interval.least and interval.most < limit:
            self._known[value.ref] = interval
            self._multiples.pop(value.ref, None)

    def note_result(self, name: str, result: Val, operands: Sequence[Val]) -> None:
        """Say what is known of the result of an instruction, from LLVM's name of it."""
        if result.type not in _LIMITS:  # as of vectors and floats, which most are
            return
        plain = name.removeprefix("llvm.")
        rule = RULES.get(UNSIGNED.get(plain, plain))
        known: list[Interval] = []
        for operand in operands if rule is not None else ():
            if (each := self.of(operand)) is None:
                return
            known.append(each)
        if rule is None or (plain in UNSIGNED and any(each.least < 0 for each in known)):
            return
        self.note(result, rule(*known))

    def note_counter(self, counter: Val, start: Val, end: Val, signed: bool) -> None:
        """Say what is known of a loop's counter inside the loop, where it is below the end.

        Of numbers without a sign, the largest look negative here.
        """
        first, behind = self.of(start), self.of(end)
        if first is None or behind is None:
            return
        if signed or min(first.least, behind.least) >= 0:
            # In a program in which the loop does not run, any interval is right.
            last = larger(first.high, behind.high - 1)
            self.note(counter, Interval(first.low, last))

    def decided(self, predicate: str, left: Val, right: Val) -> bool | None:
        """Whether an integer comparison holds, if it always does or never, in any program."""
        a, b = (self.of(value) if value.type in _LIMITS else None for value in (left, right))
        return None if a is None or b is None else compared(predicate, a, b)

    def decided_along(
        self, predicate: str, base: Val, places: tuple[Val, int], step: int, right: Val
    ) -> bool | None:
        """Whether a comparison of `base + step * place` holds, if at all places or at none.

        Args:
            predicate: LLVM's name of the comparison.
            base: where the left side is at place 0, in whose type it is computed.
            places: the first one, and how many follow it, itself among them.
            step: from one place to the next.
        """
        start, count = places
        limit = _LIMITS.get(base.type) if abs(step) < _LARGEST else None
        known = self.of(base), self.of(start), self.of(right)
        if limit is None or None in known:
            return None
        a, place, b = (each for each in known if each is not None)
        first, last = step * place.low, step * (place.high + (count - 1))
        low, high = (first, last) if step >= 0 else (last, first)
        left = Interval(a.low + low, a.high + high)
        if left.least < -limit or left.most >= limit:
            return None  # it may wrap
        return compared(predicate, left, b)
