"""How reductions, scans and sums of loops combine elements: by which operations, and their laws."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType

__all__ = ["COMBINING", "Combining", "operation_of_each", "uniform_results", "widened_truths"]


@dataclass(frozen=True)
class Combining:
    """An operation that gives the same for its operands in either order.

    Args:
        neutral: changes no other number, but for the sign of 0 and NaN, which are free
            (`commutative.py`); None where that depends on the type.
        exact: the same, for every number bit for bit.
        is_idempotent: whether any number combined with itself stays itself.
        of_lanes: LLVM's reduction of a vector, where RVV has an instruction for it.
    """

    neutral: float | None = None
    exact: float | None = None
    is_idempotent: bool = False
    of_lanes: str = ""

    def keeps(self, number: float) -> bool:
        """Whether a number combined with itself stays itself."""
        return self.is_idempotent or number == self.neutral


COMBINING: Mapping[str, Combining] = {
    "arith.addf": Combining(0, -0.0, of_lanes="fadd"),
    "arith.mulf": Combining(1, 1),
    "arith.addi": Combining(0, 0, of_lanes="add"),
    "arith.muli": Combining(1, 1),
    "arith.andi": Combining(-1, -1, True, "and"),
    "arith.ori": Combining(0, 0, True, "or"),
    "arith.xori": Combining(0, 0, False, "xor"),
    "arith.minsi": Combining(None, None, True, "smin"),
    "arith.maxsi": Combining(None, None, True, "smax"),
    "arith.minui": Combining(-1, -1, True, "umin"),
    "arith.maxui": Combining(0, 0, True, "umax"),
    # These take the number where the other one is NaN, whose place infinity would take.
    "arith.minnumf": Combining(math.inf, math.nan, True, "fmin"),
    "arith.maxnumf": Combining(-math.inf, math.nan, True, "fmax"),
    "arith.minimumf": Combining(math.inf, math.inf, True),
    "arith.maximumf": Combining(-math.inf, -math.inf, True),
}


def operation_of_each(reduction: Operation) -> tuple[str, ...]:
    """For each result, the name of the operation that combines two of its elements.

    Returns:
        Empty where a result is more than one operation on its own two elements, or is of a type
        that LLVM does not compute with.
    """
    blocks = reduction.regions[0].blocks
    if len(blocks) != 1:
        return ()
    (block,) = blocks
    *operations, last = block.operations
    count = len(last.operands)
    makers = {result: op for op in operations for result in op.results}
    names = []
    for number, value in enumerate(last.operands):
        maker, element = makers.get(value), value.type
        own = {block.arguments[number], block.arguments[number + count]}
        is_known = isinstance(element, ScalarType) and not element.is_kept_as_bits
        if maker is None or not is_known or set(maker.operands) != own:
            return ()
        names.append(maker.name)
    return tuple(names) if len(operations) == count else ()


def widened_truths(operation: Operation | None) -> Value | None:
    """The truth values that an operation makes integers, 0 and 1."""
    if operation is None or operation.name != "arith.extui":
        return None
    (value,) = operation.operands
    is_block = isinstance(value.type, TensorType) and value.type.element.bits == 1
    return value if is_block else None


# Operations on each lane by itself; of numbers that all lanes share, they are computed once.
_LANE_BY_LANE = ("arith.", "math.")


def uniform_results(operation: Operation, places: Collection[int]) -> frozenset[int]:
    """The largest part of `places` that combining two elements leaves as it is.

    Args:
        operation: a reduction; its region takes the elements of one side, then those of the other.
        places: the numbers of the elements that are one number in all lanes on both sides.
    """
    blocks = operation.regions[0].blocks
    if len(blocks) != 1:
        return frozenset()
    (block,) = blocks
    count = len(block.arguments) // 2
    kept = frozenset(places)
    while True:
        varying = {value for n, value in enumerate(block.arguments) if n % count not in kept}
        for each in block.operations[:-1]:
            is_by_lane = not each.regions and each.name.startswith(_LANE_BY_LANE)
            if not is_by_lane or not varying.isdisjoint(each.operands):
                varying.update(each.results)
        returned: list[Value] = block.operations[-1].operands
        left = frozenset(place for place in kept if returned[place] not in varying)
        if left == kept:
            return kept
        kept = left
