"""Which results of a combining region stay one number in all lanes, such as a count of elements."""

from __future__ import annotations

from collections.abc import Collection

from triton_rvv.frontend.ttir import Operation, Value

__all__ = ["uniform_results"]

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
