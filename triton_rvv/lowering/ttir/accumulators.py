"""Makes blocks smaller that a loop adds to and that are reduced in the end.

    total = zeros(M, N)                     total = zeros(M, W)
    for ...:                                for ...:
        total += x                              total += the sum of x over each W-th column
    sum(total, axis=1)                      sum(total, axis=1)

The smaller block stays in registers where the larger one would be read and written in every turn.
Both add the same elements, in another order, which the order of a sum is free to be
(`lowering/commutative.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.attributes import Attribute, DenseAttribute
from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.combined import operation_of_each
from triton_rvv.lowering.ttir.constants import one_number
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside
from triton_rvv.targets.target import Target

__all__ = ["NEUTRAL", "TAKEN_TWICE", "narrow_accumulators", "size_of_sums"]

# What changes nothing, by operation. To take the largest or smallest twice changes nothing either,
# so any number may be in there from the start.
NEUTRAL = {"arith.addf": 0, "arith.addi": 0, "arith.ori": 0, "arith.xori": 0}
TAKEN_TWICE = frozenset(
    f"arith.{name}"
    for name in (
        *("minsi", "minui", "maxsi", "maxui"),
        *("minnumf", "maxnumf", "minimumf", "maximumf"),
    )
)
# Shorter floats lose too much in the longer sums.
_MIN_FLOAT_BITS = 32


def narrow_accumulators(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many blocks became smaller."""
    rewriter = Rewriter(kernel.module)
    return sum(
        _narrow_block(block, rewriter, kernel.target) for block in blocks_inside(kernel.module)
    )


def _narrow_block(block: Block, rewriter: Rewriter, target: Target) -> int:
    reductions = {
        operation.operands[0]: operation
        for operation in block.operations
        if operation.name == "tt.reduce" and len(operation.operands) == 1
    }
    fired = 0
    for loop in [operation for operation in block.operations if operation.name == "scf.for"]:
        sums = [
            found
            for number in range(len(loop.results))
            if (found := _sum(loop, number, reductions, rewriter.makers)) is not None
        ]
        for each in sums:
            shared = _chains_shared_by(loop, len(sums))
            size = size_of_sums(each.reduction, target, shared)
            if size and _is_worth_it(loop, each, size, shared):
                _narrow(block, loop, each, size, rewriter)
                fired += 1
    return fired


@dataclass(frozen=True)
class _Sum:
    """A carried block that a loop adds to: which it is, how it starts, grows, and is reduced."""

    number: int
    start: Operation
    update: Operation
    reduction: Operation


def _sum(
    loop: Operation,
    number: int,
    reductions: Mapping[Value, Operation],
    makers: Mapping[Value, Operation],
) -> _Sum | None:
    """What a loop carries by this number, if only a reduction asks for it."""
    result = loop.results[number]
    reduction, start = reductions.get(result), makers.get(loop.operands[3 + number])
    if reduction is None or start is None or result.uses != 1:
        return None
    update = _update(loop, number, reduction)
    if update is None or not _starts_neutral(start, update.name):
        return None
    return _Sum(number, start, update, reduction)


def _update(loop: Operation, number: int, reduction: Operation) -> Operation | None:
    """What adds to a carried block once a turn, if only that asks for it."""
    body = loop.regions[0].block
    argument, yielded = body.arguments[1 + number], body.operations[-1].operands[number]
    element = yielded.type.element if isinstance(yielded.type, TensorType) else None
    if not isinstance(element, ScalarType) or argument.uses != 1 or yielded.uses != 1:
        return None
    if element.is_float and element.bits < _MIN_FLOAT_BITS:
        return None
    for operation in body.operations:
        if yielded in operation.results:
            combines = (operation.name,) == operation_of_each(reduction)
            return operation if combines and argument in operation.operands else None
    return None


def _chains_shared_by(loop: Operation, sums: int) -> int:
    """How many of a loop's sums share the chains that hide an addition's latency.

    All do where several loads need registers. Where one is all that is loaded, two sums keep
    theirs: with half of them the code loads the later of two runs first, which no hardware stream
    follows (docs/notes/compiler_rules.md).
    """
    names = [each.name for each in loop.regions[0].block.operations]
    return sums if names.count("tt.load") > 1 else -(-sums // 2)


def _is_worth_it(loop: Operation, narrowed: _Sum, size: int, sums: int) -> bool:
    """Whether blocks of this size take less than larger ones.

    Where sums of several blocks are only halved, that leaves registers to what several loads bring.
    Where a loop stores, too, both halves are held for that.
    """
    type_, axis = narrowed.reduction.operands[0].type, narrowed.reduction.integer("axis")
    assert isinstance(type_, TensorType)
    if sums == 1 or type_.shape[axis] > 2 * size:
        return True
    return "tt.store" not in [each.name for each in loop.regions[0].block.operations]


def size_of_sums(reduction: Operation, target: Target, sums: int) -> int:
    """The size that is left of the reduced dimension, or 0 where the block stays as it is.

    `sums` blocks that are added to in the same loop share its chains.
    """
    type_, axis = reduction.operands[0].type, reduction.integer("axis")
    assert isinstance(type_, TensorType)
    lanes = target.run_registers * target.lanes(max(type_.element.bits, 8))
    runs = -(-target.machine.sum_chains // sums)
    left = runs * lanes if axis == len(type_.shape) - 1 else 1
    return left if left < type_.shape[axis] else 0


def _starts_neutral(start: Operation, name: str) -> bool:
    """Whether a carried block starts with one number everywhere that may be added again."""
    number = one_number(start)
    return number is not None and (name in TAKEN_TWICE or NEUTRAL.get(name) == number)


def _narrow(block: Block, loop: Operation, narrowed: _Sum, size: int, rewriter: Rewriter) -> None:
    number, reduction, update = narrowed.number, narrowed.reduction, narrowed.update
    start, body, axis = narrowed.start, loop.regions[0].block, reduction.integer("axis")
    argument, result = body.arguments[1 + number], loop.results[number]
    (added,) = (value for value in update.operands if value is not argument)
    smaller = _resized(result.type, axis, size)
    for value in (argument, update.result, result):
        value.type = smaller
    parts = _partly_reduced(added, reduction, size, update.line, rewriter)
    where = body.operations.index(update)
    body.operations[where:where] = parts
    outcome = parts[-1].result
    rewriter.set_operands(update, [outcome if each is added else each for each in update.operands])
    constant = start.attributes["value"]
    assert isinstance(constant, DenseAttribute)
    begin = rewriter.value(loop.operands[3 + number], smaller)
    attributes: dict[str, Attribute] = {"value": DenseAttribute(smaller, constant.elements)}
    operands = [*loop.operands]
    operands[3 + number] = begin
    rewriter.set_operands(loop, operands)
    first = block.operations.index(loop)
    made = rewriter.operation(start.name, [], [begin], attributes, start.line)
    block.operations.insert(first, made)


def _partly_reduced(
    added: Value, reduction: Operation, size: int, line: str, rewriter: Rewriter
) -> Sequence[Operation]:
    """Operations that leave `size` positions of the reduced dimension; the last gives them."""
    type_, axis = added.type, reduction.integer("axis")
    assert isinstance(type_, TensorType)
    split = (*type_.shape[:axis], type_.shape[axis] // size, size, *type_.shape[axis + 1 :])
    shaped = rewriter.value(added, TensorType(split, type_.element))
    outcome = rewriter.value(added, _resized(type_, axis, size))
    region = rewriter.copy(reduction.regions[0])
    return (
        rewriter.operation("tt.reshape", [added], [shaped], {}, line),
        rewriter.operation("tt.reduce", [shaped], [outcome], {"axis": axis}, line, [region]),
    )


def _resized(type_: object, axis: int, size: int) -> TensorType:
    assert isinstance(type_, TensorType)
    return TensorType((*type_.shape[:axis], size, *type_.shape[axis + 1 :]), type_.element)
