"""Loops whose products take the place of loops around them: one that fills, and one that stores.

total = zeros(M, N)                 the first product starts from the number
for ...:
    total = dot(a, b, total)
store(c, f(total), mask)            the last one stores

Each turn of a loop finds out whether it is the last one, which costs more than it saves where there
are many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.frontend.attributes import Attribute
from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, element_type
from triton_rvv.lowering.ttir.interleaved_stores import STORE_GROUP
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.operation_kinds import WITHOUT_MEMORY
from triton_rvv.lowering.ttir.rewriter import blocks_inside
from triton_rvv.targets.target import Target

__all__ = ["STARTS_IN_PRODUCT", "STORED_IN_LAST_TURN", "start_in_product", "store_in_last_turn"]

# The attribute of a loop: pairs of the number of a carried block whose store the last turn may do,
# and of how many operations stand between loop and store, which are then done before the loop.
STORED_IN_LAST_TURN = "triton_rvv.stored_in_last_turn"

_ELEMENTWISE = ("arith.", "tt.fp_to_fp")
_IN_LOOP = (*WITHOUT_MEMORY, "tt.load", "tt.dot", "tt.reshape", "tt.trans", "scf.yield")


def store_in_last_turn(kernel: Kernel) -> int:
    """Finds stores of a loop's product that its last turn may do."""
    fired = 0
    for block in blocks_inside(kernel.module):
        for place, loop in enumerate(block.operations):
            behind = block.operations[place + 1 : -1]
            found: list[Attribute] = []
            numbers = loop.integers(STARTS_IN_PRODUCT)
            for number in numbers if numbers and _has_few_turns(kernel, loop) else ():
                count = _operations_before_store(kernel, loop, number, behind)
                if count is not None:
                    found.append([number, count])
            if found:
                loop.attributes[STORED_IN_LAST_TURN] = found
                fired += len(found)
    return fired


def _has_few_turns(kernel: Kernel, loop: Operation) -> bool:
    turns = kernel.known_integers.turns(loop)
    return turns is None or turns <= kernel.target.machine.max_epilogue_turns


def _operations_before_store(
    kernel: Kernel, loop: Operation, number: int, behind: Sequence[Operation]
) -> int | None:
    """How many operations stand between a loop and the store of its result; None if it stays."""
    result, body = loop.results[number], loop.regions[0].block
    yielded = body.operations[-1].operands[number]
    is_product = any(yielded in op.results and op.name == "tt.dot" for op in body.operations)
    if not isinstance(result.type, TensorType) or len(result.type.shape) != 2:
        return None
    if yielded.uses != 1 or not is_product:
        return None
    if not all(op is loop or op.name.startswith(_IN_LOOP) for op in loop.walk()):
        return None
    value = result
    for count, operation in enumerate(behind):
        if value.uses != 1:
            return None
        if operation.name == "tt.store":
            is_it = operation.operands[1] is value and _is_stored_as_it_is(value)
            return count if is_it and _is_apart(kernel, loop, operation) else None
        others = [each for each in operation.operands if each is not value]
        may_be_early = operation.name.startswith(WITHOUT_MEMORY) or _loads_few(operation)
        if not may_be_early or any(each in loop.results for each in others):
            return None
        if value in operation.operands:
            if not operation.name.startswith(_ELEMENTWISE):
                return None
            value = operation.result
    return None


def _loads_few(operation: Operation) -> bool:
    """Whether an operation loads a vector, such as a bias: one number for each row or column."""
    type_ = operation.results[0].type if operation.name == "tt.load" else None
    return isinstance(type_, TensorType) and len(type_.shape) == 1


def _is_stored_as_it_is(value: Value) -> bool:
    element = element_type(value.type)
    return isinstance(element, ScalarType) and element.bits > 1


def _is_apart(kernel: Kernel, loop: Operation, store: Operation) -> bool:
    """Whether nothing that the loop loads is stored to; one of two stores done as one is left."""
    aliases, target = kernel.aliases, store.operands[0]
    if not aliases.arguments_are_disjoint or STORE_GROUP in store.attributes:
        return False
    return not any(
        aliases.may_overlap(operation.operands[0], target)
        for operation in loop.walk()
        if operation.name == "tt.load"
    )


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
