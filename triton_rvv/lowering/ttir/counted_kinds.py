"""Counts kinds of numbers one number after another, in place of comparisons with all kinds.

    is_of = kind[:, None] == arange(0, 16)[None, :]      count[kind] += 1, for each number, and
    count = sum(is_of, axis=0)                           what it is then is the number's rank
    rank = sum(where(is_of, cumsum(is_of, axis=0), 0), axis=1)

Triton has no other way to say which of its kind a number is. `pick-elements` has made the last line
a place of the running total for each number.
"""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, element_type
from triton_rvv.lowering.llvm.predicates import predicate_of
from triton_rvv.lowering.ttir.combining import operation_of_each
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import integer_bits
from triton_rvv.lowering.ttir.operation_kinds import WITHOUT_MEMORY
from triton_rvv.lowering.ttir.picked_values import (
    PICK,
    PICKED,
    Dims,
    IsNotPicked,
    Pick,
    dims_below,
)
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, blocks_inside

__all__ = ["COUNT", "count_kinds"]

# Of numbers, and whether each counts if not all do: how many of each kind there are, and for each
# number how many of its kind there are up to it. Kinds are counted from `start` on.
COUNT = "triton_rvv.count"
_SUMS = (("arith.addi",), ("arith.addf",))
# Fewer kinds, in registers of a core, are counted by comparisons in the time of one number.
_FEWEST_REGISTERS = 2


def count_kinds(kernel: Kernel) -> int:
    """Counts kinds of numbers one number after another, in place of comparisons with all kinds."""
    if not any(each.name == "tt.make_range" for each in kernel.module.walk()):
        return 0
    rewriter, fired = Rewriter(kernel.module), 0
    for block in blocks_inside(kernel.module):
        counter = _Counter(rewriter, block, _FEWEST_REGISTERS * kernel.target.lanes(32))
        fired += sum(counter.rank(each) for each in [*block.operations])
        fired += sum(counter.total(each) for each in [*block.operations])
    if fired:
        rewriter.erase_unused(kernel.module, _may_go)
    return fired


@dataclass(frozen=True)
class _Kinds:
    """What a block of truth values says of numbers: which kind each is.

    Args:
        numbers, counts: a line each; whether a number counts is not said where all do.
        first: the number of the first kind.
        kinds: how many there are.
    """

    numbers: Value
    counts: Value | None
    first: int
    kinds: int


class _Counter:
    """Counts in one block of operations.

    Args:
        fewest: kinds for which it pays where no ranks are asked for.
    """

    def __init__(self, rewriter: Rewriter, block: Block, fewest: int) -> None:
        self._rewriter, self._block, self._fewest = rewriter, block, fewest
        self._counted: dict[tuple[Value, int], Operation] = {}

    def total(self, reduction: Operation) -> bool:
        """Have a sum of ones be counted, if it can be."""
        if reduction.name != "tt.reduce" or operation_of_each(reduction) not in _SUMS:
            return False
        (ones,), axis = reduction.operands, reduction.integer("axis")
        found = self._counted.get((ones, axis))
        if found is None and len(ones.shape) == 2 and ones.shape[1 - axis] >= self._fewest:
            found = self._count(ones, axis)
        if found is None:
            return False
        self._put(reduction, found.results[0])
        return True

    def rank(self, pick: Operation) -> bool:
        """Have a place of a running total be a rank, if it is one."""
        if pick.name != PICK or pick.integers("along") not in ([0, PICKED], [PICKED, 0]):
            return False
        axis, (totals, place) = pick.integers("along").index(0), pick.operands
        scan = self._rewriter.makers.get(totals)
        if scan is None or not _is_running_total(scan, axis):
            return False
        (ones,) = scan.operands
        found = self._counted.get((ones, axis)) or self._count(ones, axis, place)
        if found is None or found.operands[0] is not place:
            return False
        self._put(pick, found.results[1])
        return True

    def _count(self, ones: Value, axis: int, place: Value | None = None) -> Operation | None:
        """What counts ones along an axis, if these say of which kind numbers are.

        Args:
            place: what the numbers have to be, and then kinds begin at 0; None for any.
        """
        maker, element = self._rewriter.makers.get(ones), element_type(ones.type)
        if maker is None or not isinstance(element, ScalarType) or not _is_of_truths(maker):
            return None
        made = Written(self._rewriter, ones, maker.line)
        is_inside = maker in self._block.operations
        reader = maker if is_inside else self._block.operations[0]
        try:
            kinds = self._kinds(maker.operands[0], axis, reader, made)
        except IsNotPicked:
            return None
        if place is not None and (kinds.numbers is not place or kinds.first):
            return None
        type_ = ScalarType("i32") if element.is_float else element
        sizes = (kinds.kinds, ones.shape[axis])
        results = [self._rewriter.value(ones, TensorType((size,), type_)) for size in sizes]
        operands = [each for each in (kinds.numbers, kinds.counts) if each is not None]
        count = self._rewriter.operation(
            COUNT, operands, results, {"start": kinds.first}, maker.line
        )
        self._block.put_before(reader, [*made.operations, count])
        self._counted[ones, axis] = count
        return count

    def _put(self, operation: Operation, result: Value) -> None:
        """Have all read a count in place of an operation's result."""
        made = Written(self._rewriter, operation.result, operation.line)
        if result.type != operation.result.type:
            result = made.write("arith.sitofp", operation.result.type, result)
        self._block.put_before(operation, made.operations)
        self._rewriter.replace({operation.result: result})
        self._rewriter.set_operands(operation, [])
        self._block.operations.remove(operation)

    def _kinds(self, truth: Value, axis: int, reader: Operation, made: Written) -> _Kinds:
        """What truth values say of the numbers along an axis.

        Raises:
            IsNotPicked: where they say something else.
        """
        dims: Dims = tuple(0 if each == axis else PICKED for each in range(2))
        pick = Pick(made, (truth.shape[axis],), reader, self._block)
        found: tuple[Value, Operation] | None = None
        counts: Value | None = None
        waiting = [(truth, dims)]
        while waiting:
            value, own = waiting.pop()
            maker = self._rewriter.makers.get(value)
            if maker is not None and maker.name == "arith.andi":
                waiting += [(each, own) for each in maker.operands]
                continue
            if maker is not None and maker.name == "tt.broadcast":
                inner = dims_below(maker, own)
                if PICKED in inner:
                    waiting.append((maker.operands[0], inner))
                    continue
            elif maker is not None and found is None and PICKED in own:
                found = self._compared(maker, own, pick)
                continue
            more = pick.of(value, own)
            counts = more if counts is None else made.write("arith.andi", more.type, counts, more)
        if found is None:
            raise IsNotPicked
        numbers, places = found
        start, end = places.integer("start"), places.integer("end")
        return _Kinds(numbers, counts, start, end - start)

    def _compared(self, comparison: Operation, dims: Dims, pick: Pick) -> tuple[Value, Operation]:
        """The numbers, and the range of kinds with which they are compared."""
        if comparison.name != "arith.cmpi" or predicate_of(comparison) != "eq":
            raise IsNotPicked
        for places, numbers in (comparison.operands, reversed(comparison.operands)):
            kinds = _range(places, dims, self._rewriter)
            if kinds is not None:
                return pick.of(numbers, dims), kinds
        raise IsNotPicked


def _range(value: Value, dims: Dims, rewriter: Rewriter) -> Operation | None:
    """The range that a block repeats, along the dimension of kinds."""
    maker = rewriter.makers.get(value)
    if maker is not None and maker.name in ("tt.broadcast", "tt.expand_dims"):
        return _range(maker.operands[0], dims_below(maker, dims), rewriter)
    is_range = maker is not None and maker.name == "tt.make_range" and dims == (PICKED,)
    return maker if is_range else None


def _is_of_truths(operation: Operation) -> bool:
    """Whether it makes ones of a block's truth values, of which sums are exact."""
    if operation.name not in ("arith.extui", "arith.uitofp"):
        return False
    element, is_table = element_type(operation.result.type), len(operation.result.shape) == 2
    is_exact = isinstance(element, ScalarType) and (not element.is_float or element.bits > 16)
    return is_table and is_exact and integer_bits(operation.operands[0]) == 1


def _is_running_total(operation: Operation, axis: int) -> bool:
    is_forward = operation.name == "tt.scan" and not operation.attributes.get("reverse")
    is_along = is_forward and operation.integer("axis") == axis
    return is_along and operation_of_each(operation) == ("arith.addi",)


def _may_go(operation: Operation) -> bool:
    return operation.name.startswith(WITHOUT_MEMORY) or operation.name == "tt.scan"
