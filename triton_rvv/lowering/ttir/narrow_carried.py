"""Has loops carry blocks of integers in as few bits as all turns need.

    total = zeros(int32)                    total = zeros(uint16)
    for i in range(16):                     for i in range(16):
        total += abs(a[i] - b[i])               total += abs(a[i] - b[i])

What a turn adds lies between numbers that the types of loaded blocks tell, so the sum of a known
number of turns does; where a turn only chooses, as a largest element, any number of turns may
follow. Of what fits in no fewer bits, lower ones may be all that is read, as of a CRC. The
operations in the loop are narrowed behind this, as those outside of loops are.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.block_ranges import Range, bits_of, ranges_of_blocks
from triton_rvv.lowering.ttir.demanded_bits import WIDENED, bits_read, demanded_bits
from triton_rvv.lowering.ttir.index_values import block_bits, index_values
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import KnownIntegers
from triton_rvv.lowering.ttir.rewriter import Carried, Rewriter, Written, block_of, carried_by

__all__ = ["narrow_carried"]

# Each element is one of an operand's.
_CHOICES = frozenset(f"arith.{name}" for name in ("select", "minsi", "maxsi", "minui", "maxui"))
_NOTHING = (0, 0)
_WIDTHS = (8, 16, 32)


@dataclass(frozen=True)
class _Change:
    """What a block is after some operations on what a loop carries: moved, or something else.

    Args:
        moved: between which integers that lies which has been added; None if all are others.
        others: between which integers the others lie, if there are any.
    """

    moved: Range | None
    others: Range | None

    def of(self, block: Range) -> Range:
        """Between what the elements lie, if those that are moved lie between others."""
        found = [_sum(block, self.moved)] if self.moved is not None else []
        return functools.reduce(_hull, [*found, self.others] if self.others else found)

    def plus(self, added: Range) -> _Change:
        moved, others = (each and _sum(each, added) for each in (self.moved, self.others))
        return _Change(moved, others)

    def or_else(self, other: _Change) -> _Change:
        moved, others = (self.moved, other.moved), (self.others, other.others)
        both = ([each for each in pair if each is not None] for pair in (moved, others))
        return _Change(*(functools.reduce(_hull, pair) if pair else None for pair in both))

    def in_turns(self, turns: int | None) -> _Change | None:
        """After up to so many turns; any number of them if None."""
        low, high = self.moved or _NOTHING
        if turns is None and (low, high) != _NOTHING:
            return None
        further = min(low, 0) * (turns or 0), max(high, 0) * (turns or 0)
        return _Change(further, self.others and _sum(self.others, further))


def narrow_carried(kernel: Kernel) -> int:
    """Has loops carry blocks of integers in as few bits as all turns need."""
    loops = [each for each in kernel.module.walk() if each.name == "scf.for"]
    if not any(block_bits(each) for loop in loops for each in loop.results):
        return 0
    rewriter, integers, fired = Rewriter(kernel.module), kernel.integers_so_far(), 0
    indices = index_values([*kernel.module.walk()], rewriter.makers)
    for function in kernel.functions.values():
        ranges, demanded = ranges_of_blocks(function), dict[Value, int]()
        for loop in [each for each in function.walk() if each.name == "scf.for"]:
            for carried in filter(_is_wide, carried_by(loop)):
                turns = _Turns(ranges, integers)
                bits, narrower = turns.bits_of(carried), turns.carried
                if not bits:
                    demanded = demanded or demanded_bits(function, ranges)
                    bits, narrower = bits_read(carried, demanded), [carried]
                is_less = bits < (block_bits(carried.argument) or 0)
                if is_less and not any(_leads_to(each, indices) for each in narrower):
                    for each in narrower:
                        _narrow(each, bits, turns.is_signed, function, rewriter)
                    ranges, demanded, fired = ranges_of_blocks(function), {}, fired + 1
    return fired


def _is_wide(carried: Carried) -> bool:
    return (block_bits(carried.argument) or 0) > min(_WIDTHS)


def _leads_to(carried: Carried, indices: set[Value]) -> bool:
    ends = carried.start, carried.argument, carried.yielded, carried.result
    return not indices.isdisjoint(ends)


@dataclass
class _Turns:
    """Follows what a loop carries through its turns.

    Attributes:
        carried: it, and what loops in there make of it.
        is_signed: whether any element may be below 0.
    """

    ranges: Mapping[Value, Range]
    integers: KnownIntegers
    carried: list[Carried] = field(default_factory=list)
    is_signed: bool = False
    _inside: list[_Change] = field(default_factory=list)

    def bits_of(self, carried: Carried) -> int | None:
        """In how many bits a block fits in all turns, if it has more than these."""
        own, start = block_bits(carried.argument) or 0, self.ranges.get(carried.start)
        change = self._after(carried)
        if start is None or change is None:
            return None
        found = change.of(start)
        for each in reversed(self._inside):  # what loops in there carry; outer ones first
            found = _hull(found, each.of(found))
        self.is_signed = found[0] < 0
        return next((each for each in _WIDTHS if bits_of(found) <= each < own), None)

    def _after(self, carried: Carried) -> _Change | None:
        """What becomes of a block in all turns of its loop."""
        changes, known = {carried.argument: _Change(_NOTHING, None)}, len(self.carried)
        for each in carried.loop.regions[0].block.operations:
            if not changes.keys().isdisjoint(each.operands):
                changes.update(self._changes(each, changes))
        change = self._of(carried.yielded, changes)
        turns = change and change.in_turns(self.integers.turns(carried.loop))
        if turns is None:  # nor is anything known of what loops in there begin with
            del self.carried[known:], self._inside[known:]
        else:
            self.carried.append(carried)
        return turns

    def _of(self, value: Value, changes: Mapping[Value, _Change]) -> _Change | None:
        known = self.ranges.get(value)
        return changes.get(value, known and _Change(None, known))

    def _changes(
        self, operation: Operation, changes: Mapping[Value, _Change]
    ) -> Iterator[tuple[Value, _Change]]:
        """The results of an operation that are followed further."""
        if operation.name == "scf.for":
            for carried in carried_by(operation):
                before = changes.get(carried.start)
                turns = before and self._after(carried)
                if before is not None and turns is not None:
                    change = before.plus(turns.moved or _NOTHING)
                    change = change.or_else(_Change(None, turns.others))
                    self._inside.append(change)
                    yield carried.result, change
        elif operation.name in _CHOICES:
            one, other = (self._of(each, changes) for each in operation.operands[-2:])
            if one is not None and other is not None:
                yield operation.result, one.or_else(other)
        elif operation.name in ("arith.addi", "arith.subi"):
            is_sum = operation.name == "arith.addi"
            changed, added = operation.operands
            if is_sum and changed not in changes:
                changed, added = added, changed
            found = self.ranges.get(added)
            if changed in changes and found is not None:
                step = found if is_sum else (-found[1], -found[0])
                yield operation.result, changes[changed].plus(step)


def _narrow(
    carried: Carried, bits: int, is_signed: bool, function: Operation, rewriter: Rewriter
) -> None:
    """Have a loop carry fewer bits; what it begins with is cut, and what it gives is widened."""
    loop, widened = carried.loop, WIDENED[not is_signed]
    narrow = TensorType(carried.argument.shape, ScalarType(f"i{bits}"))
    body, block = loop.regions[0].block, block_of(loop, function)
    for value, place in ((carried.argument, body), (carried.result, block)):
        copy = rewriter.value(value)
        rewriter.replace({value: copy})
        value.type = narrow
        widening = rewriter.operation(widened, [value], [copy], {}, loop.line)
        if place is body:
            body.operations.insert(0, widening)
        else:
            block.put_behind(loop, [widening])
    for operation, at, place in (
        (loop, 3 + carried.number, block),
        (body.operations[-1], carried.number, body),
    ):
        whole = operation.operands[at]
        made = Written(rewriter, whole, loop.line)
        rewriter.set_operand(operation, at, made.write("arith.trunci", narrow, whole))
        place.put_before(operation, made.operations)


def _sum(one: Range, other: Range) -> Range:
    return one[0] + other[0], one[1] + other[1]


def _hull(one: Range, other: Range) -> Range:
    return min(one[0], other[0]), max(one[1], other[1])
