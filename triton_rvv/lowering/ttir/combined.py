"""Reads the region of a reduction: which operation combines each of its results."""

from __future__ import annotations

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType

__all__ = ["operation_of_each"]


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
