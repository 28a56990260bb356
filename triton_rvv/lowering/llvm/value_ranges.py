"""What sizes and grid say of integers before the kernel runs, and which comparisons they decide.

An `Interval` holds an integer's smallest and largest value in each program of the grid: what
follows from a program's place alone is known exactly, and of a loop's counter, where it begins and
ends. A value that may wrap has no interval.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from triton_rvv.lowering.llvm.values import Val

__all__ = ["Interval", "Intervals", "exactly", "program_places"]

# One number for all programs, or one for each.
Numbers = int | npt.NDArray[np.int64]

# The range of each type, from minus that on. Of i64, larger numbers are not followed, so that the
# product of two fits in 64 bits.
_LIMITS = {"i32": 1 << 31, "i64": 1 << 31}
_LARGEST = max(_LIMITS.values())

# A power of two that divides 0, as every one does.
_NOUGHT = 1 << 31

# In grids of more programs, each place is only known to lie in the grid.
_MAX_PROGRAMS = 1 << 14


@dataclass(frozen=True, slots=True)
class Interval:
    """The smallest and the largest value of an integer with its sign, in each program."""

    low: Numbers
    high: Numbers

    @property
    def is_exact(self) -> bool:
        """Whether there is one value in each program."""
        return self.low is self.high

    @property
    def least(self) -> int:
        """The smallest value in any program."""
        return self.low if isinstance(self.low, int) else int(self.low.min())

    @property
    def most(self) -> int:
        """The largest value in any program."""
        return self.high if isinstance(self.high, int) else int(self.high.max())


def exactly(numbers: Numbers) -> Interval:
    """The interval of a value that is known."""
    return Interval(numbers, numbers)


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
        bits = low if isinstance(low, int) else int(np.bitwise_or.reduce(low))
        return bits & -bits or _NOUGHT

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

    def note_result(self, name: str, result: Val, operands: Sequence[Val]) -> None:
        """Say what is known of the result of an instruction, from LLVM's name of it."""
        if result.type in _LIMITS and name in _RESULTS:
            known = []
            for operand in operands:
                interval = self.of(operand)
                if interval is None:
                    return
                known.append(interval)
            self.note(result, _RESULTS[name](*known))

    def note_counter(self, counter: Val, start: Val, end: Val, signed: bool) -> None:
        """Say what is known of a loop's counter inside the loop, where it is below the end.

        Of numbers without a sign, the largest look negative here.
        """
        first, behind = self.of(start), self.of(end)
        if first is None or behind is None:
            return
        if signed or min(first.least, behind.least) >= 0:
            # In a program in which the loop does not run, any interval is right.
            last = _larger(first.high, behind.high - 1)
            self.note(counter, Interval(first.low, last))

    def decided(self, predicate: str, left: Val, right: Val) -> bool | None:
        """Whether an integer comparison holds, if it always does or never, in any program."""
        a, b = (self.of(value) if value.type in _LIMITS else None for value in (left, right))
        return None if a is None or b is None else _decided(predicate, a, b)

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
        return _decided(predicate, left, b)


def _decided(predicate: str, a: Interval, b: Interval) -> bool | None:
    """Whether a comparison holds, by LLVM's name of it, if it always does or never."""
    if predicate in ("eq", "ne"):
        is_equal = _equal(a, b)
        return is_equal if is_equal is None or predicate == "eq" else not is_equal
    if predicate[0] == "u" and min(a.least, b.least) < 0:
        return None
    if predicate[1] == "g":
        a, b = b, a
    return _less_or_equal(a, b) if predicate[2] == "e" else _less(a, b)


def _always(holds: bool | npt.NDArray[np.bool_]) -> bool:
    return holds if isinstance(holds, bool) else bool(holds.all())


def _less(a: Interval, b: Interval) -> bool | None:
    if _always(a.high < b.low):
        return True
    return False if _always(a.low >= b.high) else None


def _less_or_equal(a: Interval, b: Interval) -> bool | None:
    is_greater = _less(b, a)
    return None if is_greater is None else not is_greater


def _equal(a: Interval, b: Interval) -> bool | None:
    if a.is_exact and b.is_exact and _always(a.low == b.low):
        return True
    return False if _less(a, b) or _less(b, a) else None


def _smaller(a: Numbers, b: Numbers) -> Numbers:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else np.minimum(a, b)


def _larger(a: Numbers, b: Numbers) -> Numbers:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else np.maximum(a, b)


_Function = Callable[[Numbers, Numbers], Numbers]


def _at_ends(
    function: _Function, is_known: Callable[[Interval, Interval], bool] = lambda a, b: True
) -> Callable[[Interval, Interval], Interval | None]:
    """The interval of a function whose least and largest values are at ends of its arguments."""

    def of(a: Interval, b: Interval) -> Interval | None:
        if not is_known(a, b):
            return None
        if a.is_exact and b.is_exact:
            return exactly(function(a.low, b.low))
        ends = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return Interval(functools.reduce(_smaller, ends), functools.reduce(_larger, ends))

    return of


def _are_positive(a: Interval, b: Interval) -> bool:
    """Whether a quotient is of no negative integers: LLVM rounds toward zero, and Python down."""
    return a.least >= 0 and b.least > 0


def _is_shift(a: Interval, b: Interval) -> bool:
    """Whether all are shifted by one number of places."""
    return isinstance(b.low, int) and b.is_exact and 0 <= b.low < 31


def _remainder(a: Interval, b: Interval) -> Interval | None:
    if not _are_positive(a, b):
        return None
    if a.is_exact and b.is_exact:
        return exactly(a.low % b.low)
    if _less(a, b):
        return a
    return Interval(0, _smaller(a.high, b.high - 1))


def _common_bits(a: Interval, b: Interval) -> Interval | None:
    if a.is_exact and b.is_exact:
        return exactly(a.low & b.low)
    if not isinstance(b.low, int) or not b.is_exact:
        return None
    if b.low < 0:  # such as ...1000, which rounds down
        return Interval(a.low & b.low, a.high & b.low) if -b.low & (-b.low - 1) == 0 else None
    return Interval(0, b.low)


def _unsigned(a: Interval) -> Interval | None:
    return None if a.least < 0 else a


def _either(a: Interval, b: Interval) -> Interval:
    return Interval(_smaller(a.low, b.low), _larger(a.high, b.high))


_Result = Callable[..., Interval | None]
_RESULTS: Mapping[str, _Result] = {
    **dict.fromkeys(("add", "llvm.sadd.sat"), _at_ends(operator.add)),
    **dict.fromkeys(("sub", "llvm.ssub.sat"), _at_ends(operator.sub)),
    "mul": _at_ends(operator.mul),
    **dict.fromkeys(("sdiv", "udiv"), _at_ends(operator.floordiv, _are_positive)),
    **dict.fromkeys(("srem", "urem"), _remainder),
    "and": _common_bits,
    "shl": _at_ends(operator.lshift, _is_shift),
    "ashr": _at_ends(operator.rshift, _is_shift),
    "lshr": _at_ends(operator.rshift, lambda a, b: a.least >= 0 and _is_shift(a, b)),
    "select": _either,
    **dict.fromkeys(("sext", "trunc"), lambda a: a),
    "zext": _unsigned,
    "llvm.smin": _at_ends(_smaller),
    "llvm.smax": _at_ends(_larger),
}
