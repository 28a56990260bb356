"""Accumulators that need no loop to fill them: the first product of a loop starts from the number.

total = zeros(M, N)
for ...:
    total = dot(a, b, total)
"""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.constants import one_number
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.targets.target import Target

__all__ = ["STARTS_IN_PRODUCT", "start_in_product"]

# The attribute of a loop: the numbers of the carried blocks that a product of its first turn fills.
STARTS_IN_PRODUCT = "triton_rvv.starts_in_product"
_PRODUCTS = ("tt.dot", "tt.dot_scaled")
_START_OPERAND = 2


def start_in_product(kernel: Kernel) -> int:
    """Has a loop's first product fill the accumulator in place of a loop before it.

    It may ask by way of operations on each element. Blocks of one tile stay in registers anyway.
    """
    if not kernel.has_product:
        return 0
    fired = 0
    for loop in kernel.operations:
        if loop.name == "scf.for":
            block = loop.regions[0].block
            numbers = [
                number
                for number, start in enumerate(loop.operands[3:])
                if _is_one_number(start, kernel.makers)
                and _takes_tiles(start, kernel.target)
                and _ends_in_product(block, block.arguments[1 + number])
            ]
            if numbers:
                loop.attributes[STARTS_IN_PRODUCT] = [*numbers]
            fired += len(numbers)
    return fired


def _is_one_number(start: Value, makers: Mapping[Value, Operation]) -> bool:
    maker = makers.get(start)
    if maker is None or not isinstance(start.type, TensorType):
        return False
    if maker.name == "tt.splat":
        return True
    return one_number(maker) is not None


def _takes_tiles(value: Value, target: Target) -> bool:
    run = target.run_registers * target.lanes(value.block.element.bits)
    return value.block.elements > target.tile_rows * run


def _ends_in_product(block: Block, value: Value) -> bool:
    for operation in block.operations:
        if value in operation.operands:
            if operation.name in _PRODUCTS:
                return value.uses == 1 and operation.operands[_START_OPERAND] is value
            if value.uses != 1 or not operation.name.startswith("arith."):
                return False
            value = operation.result
    return False
