"""Between which numbers the result of an operation on integers lies, by those of its operands.

What is known of scalars while code is written (`value_ranges`), of scalars that are the same in
every run (`ttir/known_integers`) and of blocks (`ttir/block_ranges`) follows from these rules.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["RULES", "UNSIGNED", "Interval", "compared", "exactly", "larger"]

# One number for all programs, or one for each.
Numbers = int | npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Interval:
    """The smallest and the largest value of an integer with its sign, in each program."""

    low: Numbers
    high: Numbers

    @property
    def is_exact(self) -> bool:
        """Whether there is one value in each program."""
        low, high = self.low, self.high
        return low is high or (isinstance(low, int) and isinstance(high, int) and low == high)

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


def compared(predicate: str, a: Interval, b: Interval) -> bool | None:
    """Whether a comparison holds, by LLVM's name of it, if it always does or never."""
    if predicate in ("eq", "ne"):
        is_equal = _equal(a, b)
        return is_equal if is_equal is None or predicate == "eq" else not is_equal
    if predicate[0] == "u" and min(a.least, b.least) < 0:
        return None
    if predicate[1] == "g":
        a, b = b, a
    return _less_or_equal(a, b) if predicate[2] == "e" else _less(a, b)


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


def _always(holds: bool | npt.NDArray[np.bool_]) -> bool:
    return holds if isinstance(holds, bool) else bool(holds.all())


def _smaller(a: Numbers, b: Numbers) -> Numbers:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else np.minimum(a, b)


def larger(a: Numbers, b: Numbers) -> Numbers:
    """The larger one of two numbers, in each program."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else np.maximum(a, b)


_Function = Callable[[Numbers, Numbers], Numbers]
_Rule = Callable[..., Interval | None]


def _at_ends(function: _Function) -> Callable[[Interval, Interval], Interval]:
    """The interval of a function whose least and largest values are at ends of its arguments."""

    def of(a: Interval, b: Interval) -> Interval:
        if a.is_exact and b.is_exact:
            return exactly(function(a.low, b.low))
        ends = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return Interval(functools.reduce(_smaller, ends), functools.reduce(larger, ends))

    return of


def _truncated(a: Numbers, b: Numbers) -> Numbers:
    """A quotient by more than 0, which LLVM and MLIR round toward zero, and Python down."""
    if isinstance(a, int):
        return a // b if a >= 0 else -(-a // b)
    return np.where(a >= 0, a // b, -(-a // b))


def _quotient(a: Interval, b: Interval) -> Interval | None:
    return _at_ends(_truncated)(a, b) if b.least > 0 else None


def _remainder(a: Interval, b: Interval) -> Interval | None:
    if b.least <= 0:
        return None
    if a.is_exact and b.is_exact:
        return exactly(a.low - _truncated(a.low, b.low) * b.low)
    if a.least >= 0 and _less(a, b):
        return a
    most = b.high - 1
    return Interval(larger(-most, _smaller(a.low, 0)), _smaller(most, larger(a.high, 0)))


def _shifted(function: _Function, bits: int) -> _Rule:
    def of(a: Interval, b: Interval) -> Interval | None:
        return _at_ends(function)(a, b) if b.least >= 0 and b.most < bits else None

    return of


def _bits(function: _Function) -> _Rule:
    """Of a function of each bit: as many bits as the longer of two integers has."""

    def of(a: Interval, b: Interval) -> Interval:
        if a.is_exact and b.is_exact:
            return exactly(function(a.low, b.low))
        limit = 1 << max(max(each.most, ~each.least).bit_length() for each in (a, b))
        return Interval(0 if a.least >= 0 and b.least >= 0 else -limit, limit - 1)

    return of


def _common_bits(a: Interval, b: Interval) -> Interval | None:
    if a.is_exact and b.is_exact:
        return exactly(a.low & b.low)
    if b.is_exact and isinstance(b.low, int) and b.low < 0 and -b.low & (-b.low - 1) == 0:
        return Interval(a.low & b.low, a.high & b.low)  # such as ...1000, which rounds down
    tops = [each.high for each in (a, b) if each.least >= 0]
    return Interval(0, functools.reduce(_smaller, tops)) if tops else _bits(operator.and_)(a, b)


def _either(a: Interval, b: Interval) -> Interval:
    return Interval(_smaller(a.low, b.low), larger(a.high, b.high))


def _absolute(a: Interval) -> Interval:
    return Interval(larger(larger(a.low, -a.high), 0), larger(-a.low, a.high))


def _same(a: Interval) -> Interval:
    return a


# By LLVM's name of an operation that reads integers with their sign, or as their bits; of `select`
# without the condition. None where nothing is known. Nothing is said of results that wrap.
RULES: Mapping[str, _Rule] = {
    **dict.fromkeys(("add", "sadd.sat"), _at_ends(operator.add)),
    **dict.fromkeys(("sub", "ssub.sat"), _at_ends(operator.sub)),
    "mul": _at_ends(operator.mul),
    "sdiv": _quotient,
    "srem": _remainder,
    "shl": _shifted(operator.lshift, 32),
    "ashr": _shifted(operator.rshift, 64),
    "and": _common_bits,
    "or": _bits(operator.or_),
    "xor": _bits(operator.xor),
    "smin": _at_ends(_smaller),
    "smax": _at_ends(larger),
    "abs": _absolute,
    "select": _either,
    "sext": _same,
    "trunc": _same,
}
# The same of integers without a sign, where none is below 0 then.
UNSIGNED = {"udiv": "sdiv", "urem": "srem", "lshr": "ashr", "zext": "sext"} | {
    f"u{name}": f"s{name}" for name in ("min", "max")
}
