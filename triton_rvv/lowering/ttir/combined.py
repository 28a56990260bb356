"""What reductions combine, and by which operation for each of their results."""

from __future__ import annotations

from collections.abc import Collection

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType

__all__ = ["operation_of_each", "uniform_results", "widened_truths"]


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
