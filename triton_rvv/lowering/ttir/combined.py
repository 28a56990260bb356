"""What reductions combine, and by which operation for each of their results."""

from __future__ import annotations

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType

__all__ = ["operation_of_each", "widened_truths"]


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
    """The truth values of which an operation makes integers, 0 and 1."""
    if operation is None or operation.name != "arith.extui":
        return None
    (value,) = operation.operands
    is_block = isinstance(value.type, TensorType) and value.type.element.bits == 1
    return value if is_block else None
