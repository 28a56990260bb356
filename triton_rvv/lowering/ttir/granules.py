"""How many neighbours of a block are the same number, as those of `columns // 32` are."""

from __future__ import annotations

import math

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.block_ranges import one_number
from triton_rvv.lowering.ttir.known_integers import KnownIntegers

__all__ = ["ALL_ALIKE", "MAX_FOLLOWED_DIVISOR", "Granules", "axis_before"]

# A power of two that no dimension reaches: all neighbours are the same.
ALL_ALIKE = 1 << 30
# The rule `follow-periods` follows quotients of lines by powers of two up to this one.
MAX_FOLLOWED_DIVISOR = 8
# Sums that wrap stay outside of any array in these. Others bring them back, as `&`, `%` and
# `maximum` do in hashes, and `where(at < 0, at + size, at)`.
_KEEP_OUTSIDE = (
    "arith.addi",
    "arith.subi",
    "arith.muli",
    "arith.divsi",
    "arith.shrsi",
    "arith.minsi",
    "arith.extsi",
    "arith.cmpi",
    "tt.addptr",
    "tt.bitcast",
)
_NEVER_NEGATIVE = ("arith.addi", "arith.muli", "arith.divsi", "arith.remsi", "arith.minsi")
_COUNTS = ("tt.get_program_id", "tt.get_num_programs")
# Predicates `slt` and `sle` of `arith.cmpi`.
_BELOW = (2, 3)


class Granules:
    """Asks of values along one of their dimensions.

    Args:
        module: all operations.
        integers: the scalars that are known.
    """

    def __init__(self, module: Operation, integers: KnownIntegers) -> None:
        self._integers = integers
        self._makers: dict[Value, Operation] = {}
        self._counted: dict[Value, Operation] = {}
        self._found: dict[tuple[Value, int], int] = {}
        for each in module.walk():
            self._makers.update(dict.fromkeys(each.results, each))
            if each.name == "scf.for":
                self._counted[each.regions[0].block.arguments[0]] = each

    def of(self, value: Value, axis: int) -> int:
        """A power of two: so many neighbours, from a multiple of it on, are the same.

        It is 1 behind quotients that code follows anyway, by one load for each number that differs.
        Where a sum in a quotient wraps, addresses made of it lie outside of any array. Behind an
        operation that may bring them back, no neighbours are taken to be the same.
        """
        if (value, axis) not in self._found:
            self._found[value, axis] = self._alike(value, axis)
        return self._found[value, axis]

    def _alike(self, value: Value, axis: int) -> int:
        maker = self._makers.get(value)
        if maker is None:
            return 1
        if _size(value, axis) == 1 or maker.name == "tt.splat" or one_number(maker) is not None:
            return ALL_ALIKE
        if maker.name in ("tt.expand_dims", "tt.broadcast"):
            return self.of(maker.operands[0], axis_before(maker, axis))
        if maker.name in ("arith.divsi", "arith.shrsi"):
            own = self._of_quotient(maker)
            if own > 1:
                return own
        if not maker.operands or not maker.name.startswith(("arith.", "tt.addptr", "tt.bitcast")):
            return 1
        alike = min(self.of(operand, axis) for operand in maker.operands)
        return alike if maker.name in _KEEP_OUTSIDE or alike == ALL_ALIKE else 1

    def decided_by_first(self, value: Value, axis: int) -> int:
        """A power of two: of so many neighbours the first is true where any of them is."""
        maker = self._makers.get(value)
        if maker is None:
            return 1
        if maker.name in ("tt.expand_dims", "tt.broadcast") and _size(value, axis) > 1:
            return self.decided_by_first(maker.operands[0], axis_before(maker, axis))
        if maker.name == "arith.andi":
            return min(self.decided_by_first(each, axis) for each in maker.operands)
        if maker.name == "arith.cmpi" and maker.integer("predicate") in _BELOW:
            line, bound = maker.operands
            rises = self._rise(line) if _rank(line) == 1 else None
            if rises is not None and rises[0] == 1 and self.of(bound, axis) == ALL_ALIKE:
                return rises[1] & -rises[1] if rises[1] else ALL_ALIKE
        return self.of(value, axis)

    def _of_quotient(self, quotient: Operation) -> int:
        """Of a line that rises by a power of two, from a multiple of another one.

        With a step of 3, the second 16 neighbours begin at 48: their quotients by 64 differ.
        """
        left, right = quotient.operands
        divisor = one_number(self._makers.get(right))
        rises = self._rise(left) if _rank(left) == 1 else None
        if divisor is None or divisor <= 0 or rises is None or not self._is_natural(left):
            return 1
        if quotient.name == "arith.shrsi":
            divisor = 1 << divisor
        step, multiple = rises
        if step == 1 and divisor <= MAX_FOLLOWED_DIVISOR and divisor.bit_count() == 1:
            return 1
        aligned = math.gcd(multiple, divisor)
        aligned &= -aligned
        return max(aligned // step, 1) if step.bit_count() == 1 else 1

    def _rise(self, line: Value) -> tuple[int, int] | None:
        """From an element of a line to the next, and what the first one is a multiple of."""
        maker = self._makers.get(line)
        if maker is None:
            return None
        if maker.name == "tt.make_range":
            return 1, maker.integer("start")
        if (number := one_number(maker)) is not None:
            return 0, abs(number)
        if maker.name == "tt.splat":
            return 0, self._multiple(maker.operands[0])
        if maker.name not in ("arith.addi", "arith.muli"):
            return None
        one, other = (self._rise(operand) for operand in maker.operands)
        if one is None or other is None:
            return None
        if maker.name == "arith.addi":
            return one[0] + other[0], math.gcd(one[1], other[1])
        factors = [one_number(self._makers.get(operand)) for operand in maker.operands]
        factor, of = (factors[0], other) if factors[0] is not None else (factors[1], one)
        return None if factor is None or factor < 0 else (of[0] * factor, of[1] * factor)

    def _multiple(self, number: Value) -> int:
        """What a scalar is a multiple of; 0 is one of all."""
        if (known := self._integers.of(number)) is not None:
            return abs(known)
        if number in self._counted:
            start, _, step, *_ = self._counted[number].operands
            return math.gcd(self._multiple(start), self._multiple(step))
        maker = self._makers.get(number)
        if maker is None or maker.name not in ("arith.addi", "arith.muli"):
            return 1
        one, other = map(self._multiple, maker.operands)
        return one * other if maker.name == "arith.muli" else math.gcd(one, other)

    def _is_natural(self, value: Value) -> bool:
        """Whether no element is below 0, but for sums that wrap."""
        if (known := self._integers.of(value)) is not None:
            return known >= 0
        if value in self._counted:
            return self._is_natural(self._counted[value].operands[0])
        maker = self._makers.get(value)
        if maker is None:
            return False
        if (number := one_number(maker)) is not None:
            return number >= 0
        if maker.name in _COUNTS or maker.name == "tt.make_range":
            return True
        is_of_such = maker.name in _NEVER_NEGATIVE or maker.name == "tt.splat"
        return is_of_such and all(map(self._is_natural, maker.operands))


def axis_before(operation: Operation, axis: int) -> int:
    """Which dimension of the operand of a view one of its result is; its own where it is new."""
    added = operation.integer("axis") if operation.name == "tt.expand_dims" else axis
    return axis - 1 if axis > added else axis


def _rank(value: Value) -> int:
    return len(value.type.shape) if isinstance(value.type, TensorType) else 0


def _size(value: Value, axis: int) -> int:
    return value.type.shape[axis] if isinstance(value.type, TensorType) else 1
