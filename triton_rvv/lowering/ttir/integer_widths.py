"""In how few bits each operation on blocks of integers is computed.

An operation may be as narrow as its results are (`block_ranges`), or as what is read of them
(`demanded_bits`). First each is as narrow as it may be. Then those of one width that read one
another become wider together, where to convert what they read and give takes as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, element_type
from triton_rvv.lowering.llvm.predicates import predicate_of
from triton_rvv.lowering.ttir.block_ranges import Range, bits_of, ranges_of_blocks
from triton_rvv.lowering.ttir.demanded_bits import FROM_LOWER_BITS, MOVES, WIDENED, demanded_bits
from triton_rvv.lowering.ttir.index_values import block_bits, index_values, is_one_number
from triton_rvv.lowering.ttir.known_integers import KnownIntegers, integer_bits

__all__ = ["UNSIGNED", "IntegerWidths"]

# What reads integers as unsigned ones, by what reads them as signed.
UNSIGNED = {
    f"arith.{name}si": f"arith.{name}ui" for name in ("div", "rem", "min", "max", "shr")
} | {"arith.sitofp": "arith.uitofp"}
_RIGHT = frozenset(["arith.shrsi", "arith.shrui"])
_FLOATS = frozenset(["arith.sitofp", "arith.uitofp"])
_READ_WHOLE = {*UNSIGNED, *UNSIGNED.values(), "arith.cmpi", "math.absi"}
# RVV has forms of these that widen an operand to twice its bits.
_WIDENING = frozenset(["arith.addi", "arith.subi", "arith.muli", "tt.reduce"])
# What takes no time of its own, or as much with any width; and what takes longer than a sum.
_FREE = MOVES | _FLOATS | {"arith.trunci"}
_SLOW = frozenset(["arith.divsi", "arith.divui", "arith.remsi", "arith.remui"])
_SLOW_COST = 4.0
_WIDTHS = (8, 16, 32)


@dataclass(frozen=True)
class _Use:
    """A read of a block.

    Args:
        reader: by which operation.
        bits: with how many, if the operation has no width of its own.
        widens: whether it may as well read half of these.
    """

    reader: Operation
    bits: int
    widens: bool


class IntegerWidths:
    """Chooses the widths of a function's operations.

    Attributes:
        ranges: between which integers blocks lie.
        own: of operations that might be narrower, in order, the bits that they were written with.
        chosen: the bits that they get.
    """

    def __init__(
        self,
        function: Operation,
        makers: Mapping[Value, Operation],
        integers: KnownIntegers | None = None,
    ) -> None:
        self._makers = makers
        self._indices = index_values([*function.walk()], makers)
        members = [each for each in function.walk() if self._belongs(each)]
        self.own = {each: _own_bits(each) for each in members}
        self.chosen: dict[Operation, int] = {}
        if not any(map(self._may_begin, members)):
            return
        self.ranges = ranges_of_blocks(function, integers)
        self._demanded = demanded_bits(function, self.ranges)
        self.chosen = {each: self._least(each) for each in members}
        if self.narrower:
            self._uses = self._find_uses(function)
            while self._widen_where_it_pays():
                pass

    @property
    def narrower(self) -> Sequence[Operation]:
        """The operations that get fewer bits than they had."""
        return [each for each, bits in self.chosen.items() if bits < self.own[each]]

    def _belongs(self, operation: Operation) -> bool:
        if operation.name not in FROM_LOWER_BITS | _READ_WHOLE:
            return False
        values = operation.operands if operation.name in _READ_WHOLE else operation.results
        if block_bits(values[0]) is None:
            return False
        is_label = operation.name == "arith.cmpi" and any(
            self.source(value) is not value for value in values
        )
        return is_label or self._indices.isdisjoint(operation.results)

    def _may_begin(self, operation: Operation) -> bool:
        """Whether an operation has fewer bits, or reads fewer, than what is computed with it."""
        is_cut = operation.name in ("arith.trunci", "arith.andi", "arith.shrui")
        return is_cut or any(self.source(value) is not value for value in operation.operands)

    def _least(self, operation: Operation) -> int:
        own = self.own[operation]
        return next((bits for bits in _WIDTHS if bits < own and self._fits(operation, bits)), own)

    def _fits(self, operation: Operation, bits: int) -> bool:
        """Whether an operation of so many bits gives all that is read of its result."""
        name, values = operation.name, [*operation.operands, *operation.results]
        if name == "arith.shli" or name in _RIGHT:
            least, most = self.ranges.get(operation.operands[1], (-1, 0))
            if least < 0 or most >= bits:
                return False
            if name in _RIGHT and self._demanded.get(operation.result, 0) + most <= bits:
                return True
        if name in FROM_LOWER_BITS:
            return self._needed(operation.result) <= bits
        if name in _FLOATS:
            element = element_type(operation.result.type)
            assert isinstance(element, ScalarType)
            if 2 * bits < element.bits:
                return False
        blocks = [value for value in values if block_bits(value)]
        if not all(value in self.ranges for value in blocks):
            return False
        least, most = self.common_range(blocks)
        is_signed = least < 0 or name == "math.absi"
        if least < 0 and _reads_as_unsigned(operation):
            return False
        return bits_of((min(least, -1) if is_signed else least, most)) <= bits

    def common_range(self, blocks: Sequence[Value]) -> Range:
        """Between which integers all of several blocks lie."""
        ranges = [self.ranges[each] for each in blocks]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def _needed(self, value: Value) -> int:
        """The bits that hold all that is read of a block."""
        bits = self._demanded.get(value, 0)
        return min(bits, bits_of(self.ranges[value])) if value in self.ranges else bits

    def source(self, value: Value) -> Value:
        """What a block is widened from, or itself."""
        while (maker := self._makers.get(value)) is not None and maker.name in WIDENED:
            (value,) = maker.operands
        return value

    def _find_uses(self, function: Operation) -> Mapping[Value, Sequence[_Use]]:
        uses: dict[Value, list[_Use]] = {}
        for each in function.walk():
            if each.name in WIDENED and block_bits(each.result):
                continue
            widens = each.name in _WIDENING and not self._takes_from_number(each)
            for value in each.operands:
                if (bits := block_bits(value)) and not is_one_number(self._makers.get(value)):
                    uses.setdefault(self.source(value), []).append(_Use(each, bits, widens))
        return uses

    def _takes_from_number(self, operation: Operation) -> bool:
        """Whether it is `255 - x`, for which RVV has no form that widens."""
        is_difference = operation.name == "arith.subi"
        return is_difference and is_one_number(self._makers.get(operation.operands[0]))

    def _widen_where_it_pays(self) -> bool:
        """Whether any operations became wider."""
        has_changed = False
        for group in self._groups():
            now = self._cost(group)
            kept = {each: self.chosen[each] for each in group}
            costs = {}
            for bits in _WIDTHS:
                if bits > min(kept.values()):
                    self.chosen.update({each: min(bits, self.own[each]) for each in group})
                    costs[bits] = self._cost(group)
            self.chosen.update(kept)
            best = min(costs, key=lambda bits: (costs[bits], -bits), default=None)
            if best is not None and costs[best] <= now:
                wider = {each: min(best, self.own[each]) for each in group}
                has_changed |= wider != kept
                self.chosen.update(wider)
        return has_changed

    def _groups(self) -> Iterator[Sequence[Operation]]:
        """The operations of one width that read one another, where they are narrower."""
        leaders = {each: each for each in self.chosen}

        def leader(operation: Operation) -> Operation:
            while leaders[operation] is not operation:
                leaders[operation] = operation = leaders[leaders[operation]]
            return operation

        for each, bits in self.chosen.items():
            for value in each.operands:
                maker = self._makers.get(self.source(value))
                if maker is not None and self.chosen.get(maker) == bits:
                    leaders[leader(maker)] = leader(each)
        groups: dict[Operation, list[Operation]] = {}
        for each in self.chosen:
            groups.setdefault(leader(each), []).append(each)
        for group in groups.values():
            if any(self.chosen[each] < self.own[each] for each in group):
                yield group

    def _cost(self, group: Sequence[Operation]) -> float:
        """Bits of registers that a group computes, and that are converted before and behind it."""
        computed = sum(
            self.chosen[each]
            * _elements(each.results[0])
            * (_SLOW_COST if each.name in _SLOW else float(each.name not in _FREE))
            for each in group
        )
        read = [self.source(value) for each in group for value in each.operands]
        sources = dict.fromkeys([*read, *(result for each in group for result in each.results)])
        return computed + sum(map(self._cost_of_conversions, sources))

    def _cost_of_conversions(self, source: Value) -> float:
        uses, maker = self._uses.get(source, ()), self._makers.get(source)
        has = integer_bits(source) or 0
        if maker is not None and has > 1:
            has = self.chosen.get(maker, has)
        total = 0.0
        for bits in {self.chosen.get(use.reader, use.bits) for use in uses}:
            readers = [use for use in uses if self.chosen.get(use.reader, use.bits) == bits]
            widens = has > 1 and all(use.widens for use in readers)
            total += _cost_of_conversion(has, bits // 2 if widens and bits > has else bits)
        return total * _elements(source)


def _cost_of_conversion(has: int, bits: int) -> float:
    """Each step to a half takes as many registers as there were."""
    return float(
        bits if has < bits else sum(has >> step for step in range((has // bits).bit_length() - 1))
    )


def _elements(value: Value) -> int:
    return math.prod(value.type.shape) if isinstance(value.type, TensorType) else 1


def _own_bits(operation: Operation) -> int:
    """The bits that an operation has as it was written."""
    value = operation.operands[0] if operation.name in _READ_WHOLE else operation.result
    return block_bits(value) or 0


def _reads_as_unsigned(operation: Operation) -> bool:
    if operation.name == "arith.cmpi":
        return predicate_of(operation).startswith("u")
    return operation.name in UNSIGNED.values()
