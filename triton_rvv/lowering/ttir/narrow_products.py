"""Adds up products of bytes in 16 bits where these hold the sums.

    total = dot(a, b & 15, before)      total = before + dot(a, b & 15).to(int32)

Multiply-adds of vectors take bytes to 16 bits, and a register holds twice as many sums of these as
of 32 bits. Sums of 16 steps with weights of 4 bits lie below 16 * 128 * 15, for example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from triton_rvv.frontend.attributes import DenseAttribute
from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, element_type
from triton_rvv.lowering.ttir.block_ranges import Range, ranges_of_blocks
from triton_rvv.lowering.ttir.constants import one_integer
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["narrow_products"]

_BYTE, _SUM, _WIDE = ScalarType("i8"), ScalarType("i16"), ScalarType("i32")
_ANY_BYTE = (-128, 127)
# With fewer steps, to widen a sum costs what its multiply-adds save.
_MIN_STEPS = 8


def narrow_products(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many products became narrower.

    Where a matrix unit multiplies bytes, it adds up in 32 bits at no cost.
    """
    if not (kernel.has_product and kernel.target.sums_bytes_in_16_bits):
        return 0
    fired = 0
    for function in kernel.functions.values():
        rewriter, ranges = Rewriter(kernel.module), ranges_of_blocks(function)
        for block in blocks_inside(function):
            for operation in [each for each in block.operations if _fits(each, ranges)]:
                at = block.operations.index(operation)
                block.operations[at : at + 1] = [*_narrowed(operation, rewriter)]
                fired += 1
    return fired


def _fits(operation: Operation, ranges: Mapping[Value, Range]) -> bool:
    if operation.name != "tt.dot" or element_type(operation.result.type) != _WIDE:
        return False
    left, right = operation.operands[:2]
    if element_type(left.type) != _BYTE or element_type(right.type) != _BYTE:
        return False
    assert isinstance(left.type, TensorType)
    steps = left.type.shape[-1]
    corners = [
        one * other for one in ranges.get(left, _ANY_BYTE) for other in ranges.get(right, _ANY_BYTE)
    ]
    limit = 1 << _SUM.bits - 1
    return steps >= _MIN_STEPS and -limit <= steps * min(corners) and steps * max(corners) < limit


def _narrowed(operation: Operation, rewriter: Rewriter) -> Iterator[Operation]:
    """What takes the operation's place; the last part gives its result."""
    left, right, before = operation.operands
    result, line = operation.result, operation.line
    assert isinstance(result.type, TensorType)
    type_ = TensorType(result.type.shape, _SUM)
    zero, narrow = rewriter.value(before, type_), rewriter.value(result, type_)
    zeros = {"value": DenseAttribute(type_, (0,))}
    yield rewriter.operation("arith.constant", [], [zero], dict(zeros), line)
    attributes = dict(operation.attributes)
    yield rewriter.operation("tt.dot", [left, right, zero], [narrow], attributes, line)
    start = rewriter.makers.get(before)
    starts_with_zero = start is not None and one_integer(start) == 0
    wide = result if starts_with_zero else rewriter.value(result)
    rewriter.set_operands(operation, [])
    yield rewriter.operation("arith.extsi", [narrow], [wide], {}, line)
    if not starts_with_zero:
        yield rewriter.operation("arith.addi", [before, wide], [result], {}, line)
