"""Adds up products of bytes in 16 bits where these hold the sums.

    total = dot(a, b & 15, before)      total = before + dot(a, b & 15).to(int32)

Multiply-adds of vectors take bytes to 16 bits, and a register holds twice as many sums of these as
of 32 bits. Sums of 16 steps with weights of 4 bits lie below 16 * 128 * 15, for example.
"""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, element_type
from triton_rvv.lowering.ttir.block_ranges import Range, ranges_of_blocks
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_integer
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, placed

__all__ = ["narrow_products"]

_BYTE, _SUM, _WIDE = ScalarType("i8"), ScalarType("i16"), ScalarType("i32")
_ANY_BYTE = (-128, 127)
# With fewer steps, to widen a sum costs what its multiply-adds save.
_MIN_STEPS = 8


def narrow_products(kernel: Kernel) -> int:
    """Adds up products of bytes in 16 bits where these hold the sums.

    Where a matrix unit multiplies bytes, it adds up in 32 bits at no cost.
    """
    if not (kernel.has_product and kernel.target.sums_bytes_in_16_bits):
        return 0
    fired = 0
    for function in kernel.functions.values():
        rewriter, ranges = Rewriter(kernel.module), ranges_of_blocks(function)
        for block, product in placed(function, "tt.dot"):
            if _fits(product, ranges):
                _narrow(block, product, rewriter)
                fired += 1
    return fired


def _fits(operation: Operation, ranges: Mapping[Value, Range]) -> bool:
    if element_type(operation.result.type) != _WIDE:
        return False
    left, right = operation.operands[:2]
    if element_type(left.type) != _BYTE or element_type(right.type) != _BYTE:
        return False
    steps = left.shape[-1]
    corners = [
        one * other for one in ranges.get(left, _ANY_BYTE) for other in ranges.get(right, _ANY_BYTE)
    ]
    limit = 1 << _SUM.bits - 1
    return steps >= _MIN_STEPS and -limit <= steps * min(corners) and steps * max(corners) < limit


def _narrow(block: Block, operation: Operation, rewriter: Rewriter) -> None:
    """Have a block's operation give sums of 16 bits, and widen these."""
    left, right, before = operation.operands
    result = operation.result
    type_, made = TensorType(result.shape, _SUM), Written(rewriter, result, operation.line)
    operands = left, right, made.number(type_, 0)
    narrow = made.write("tt.dot", type_, *operands, **operation.attributes)
    rewriter.set_operands(operation, [narrow])
    operation.name, operation.attributes = "arith.extsi", {}
    start = rewriter.makers.get(before)
    if start is None or one_integer(start) != 0:
        wide = made.write("arith.extsi", result.block, narrow)
        rewriter.set_operands(operation, [before, wide])
        operation.name = "arith.addi"
    block.put_before(operation, made.operations)
