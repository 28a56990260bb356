"""Computes numbers once from which a condition chooses, in place of every element.

    penalty = where(seen, p, 1.0)           penalty = where(seen, p, 1.0)
    x *= where(x > 0, 1 / penalty, penalty) x *= where(x > 0, where(seen, 1 / p, 1.0), penalty)

All that `1 / penalty` can be are two numbers: a division for each element becomes one of scalars.
`x / penalty` becomes `where(seen, x / p, x / 1.0)`: a vector by one number is a product.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import TensorType, element_type
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, blocks_inside

__all__ = ["choose_results"]

# What takes many instructions for each register, and is the same for numbers as for elements.
_FUNCTIONS = frozenset(["arith.divf", "tt.precise_divf", "tt.precise_sqrt"])
_MATHEMATICS = "math."
# What takes one: the choice takes its place where it is for nothing else.
_ARITHMETIC = frozenset(["arith.addf", "arith.mulf", "arith.negf", "arith.subf"])
# Two numbers by themselves take about as long as so many elements in registers.
_MIN_ELEMENTS = 64


def choose_results(kernel: Kernel) -> int:
    """Computes once what a block's elements can be that a condition chooses from two numbers."""
    if not any(each.name == "arith.select" for each in kernel.module.walk()):
        return 0
    rewriter, fired = Rewriter(kernel.module), 0
    for block in blocks_inside(kernel.module):
        for operation in [*block.operations]:
            if not _is_large(operation):
                continue
            if (choice := _choice(operation, rewriter)) is not None:
                _choose(block, operation, choice, rewriter)
                fired += 1
            elif (choice := _chosen_divisor(operation, rewriter)) is not None:
                _choose_quotient(block, operation, choice, rewriter)
                fired += 1
    return fired


def _is_large(operation: Operation) -> bool:
    """Whether it computes floats for more elements than two numbers are worth."""
    if operation.name not in _FUNCTIONS | _ARITHMETIC and not operation.name.startswith(
        _MATHEMATICS
    ):
        return False
    type_ = operation.result.type
    return isinstance(type_, TensorType) and type_.elements >= _MIN_ELEMENTS


def _choice(operation: Operation, rewriter: Rewriter) -> Operation | None:
    """The one selection among the operands, of two numbers; the others are numbers, too."""
    varying = {each for each in operation.operands if not _is_number(each, rewriter)}
    choice = rewriter.makers.get(varying.pop()) if len(varying) == 1 else None
    if choice is None or choice.name != "arith.select":
        return None
    if operation.name in _ARITHMETIC and choice.result.uses > 1:
        return None
    return choice if _is_of_numbers(choice, rewriter) else None


def _is_of_numbers(choice: Operation, rewriter: Rewriter) -> bool:
    return all(_is_number(each, rewriter) for each in choice.operands[1:])


def _chosen_divisor(operation: Operation, rewriter: Rewriter) -> Operation | None:
    """The selection of two numbers by which a block of fp32 is divided."""
    if operation.name != "arith.divf" or str(operation.result.block.element) != "f32":
        return None
    choice = rewriter.makers.get(operation.operands[1])
    if choice is None or choice.name != "arith.select" or not _is_of_numbers(choice, rewriter):
        return None
    return choice


def _choose_quotient(
    block: Block, operation: Operation, choice: Operation, rewriter: Rewriter
) -> None:
    """Have a division choose from the quotients by both numbers."""
    made, type_ = Written(rewriter, operation.result, operation.line), operation.result.block
    dividend, (condition, *divisors) = operation.operands[0], choice.operands
    quotients = (made.write(operation.name, type_, dividend, each) for each in divisors)
    rewriter.set_operands(operation, [condition, *quotients])
    operation.name, operation.attributes = "arith.select", {}
    block.put_before(operation, made.operations)


def _is_number(value: Value, rewriter: Rewriter) -> bool:
    """Whether all elements of a block are one number."""
    maker = rewriter.makers.get(value)
    return maker is not None and (maker.name == "tt.splat" or one_number(maker) is not None)


def _choose(block: Block, operation: Operation, choice: Operation, rewriter: Rewriter) -> None:
    """Have the operation itself choose from its results for both numbers."""
    made, results = Written(rewriter, operation.result, operation.line), list[Value]()
    for chosen in choice.operands[1:]:
        operands = [chosen if each is choice.result else each for each in operation.operands]
        results.append(_of_numbers(operation, operands, made))
    rewriter.set_operands(operation, [choice.operands[0], *results])
    operation.name, operation.attributes = "arith.select", {}
    block.put_before(operation, made.operations)


def _of_numbers(operation: Operation, operands: Sequence[Value], made: Written) -> Value:
    """A block filled with what an operation computes for one number each."""
    scalars = list[Value]()
    for operand in operands:
        maker = made.rewriter.makers[operand]
        if maker.name == "tt.splat":
            scalars.append(maker.operands[0])
        else:
            number = one_number(maker)
            assert number is not None
            scalars.append(made.number(element_type(operand.type), number))
    type_ = operation.result.block
    result = made.write(operation.name, type_.element, *scalars, **operation.attributes)
    return made.write("tt.splat", type_, result)
