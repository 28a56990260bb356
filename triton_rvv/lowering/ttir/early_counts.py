"""Counts in a loop where something is true, in place of adding up ones behind it.

    total = zeros(N, int32)                 total = 0
    for ...:                                for ...:
        total += (x > y).to(int32)              total += sum((x > y).to(int32))
    sum(total)

Truth values are counted a bit each (`lowering/reductions/counts.py`), which takes less than to add
to as many numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.combined import operation_of_each
from triton_rvv.lowering.ttir.constants import one_number
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["count_early", "widened_truths"]


def count_early(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many counts came to stand in their loops."""
    rewriter, fired = Rewriter(kernel.module), 0
    for block in blocks_inside(kernel.module):
        for loop in [each for each in block.operations if each.name == "scf.for"]:
            for number in range(len(loop.results)):
                if (count := _count(block, loop, number, rewriter.makers)) is not None:
                    _count_early(block, loop, count, rewriter)
                    fired += 1
    return fired


def widened_truths(operation: Operation | None) -> Value | None:
    """The truth values of which an operation makes integers, 0 and 1."""
    if operation is None or operation.name != "arith.extui":
        return None
    (value,) = operation.operands
    is_block = isinstance(value.type, TensorType) and value.type.element.bits == 1
    return value if is_block else None


@dataclass(frozen=True)
class _Count:
    """A carried block of numbers: which it is, what adds to it once a turn, and its sum."""

    number: int
    update: Operation
    added: Value
    total: Operation


def _count(
    block: Block, loop: Operation, number: int, makers: Mapping[Value, Operation]
) -> _Count | None:
    """What a loop carries by this number, if it only counts, and only the sum is asked for."""
    body, result = loop.regions[0].block, loop.results[number]
    argument, yielded = body.arguments[1 + number], body.operations[-1].operands[number]
    if not isinstance(result.type, TensorType) or len(result.type.shape) != 1:
        return None
    totals = [each for each in block.operations if each.operands == [result]]
    if [each.name for each in totals] != ["tt.reduce"] or result.uses != 1:
        return None
    update, starts_at = makers.get(yielded), one_number(makers.get(loop.operands[3 + number]))
    if update is None or update not in body.operations or starts_at != 0:
        return None
    others = [each for each in update.operands if each is not argument]
    is_sum = update.name == "arith.addi" and operation_of_each(totals[0]) == ("arith.addi",)
    is_only_use = len(others) == 1 and argument.uses == 1 and yielded.uses == 1
    if not is_sum or not is_only_use or widened_truths(makers.get(others[0])) is None:
        return None
    return _Count(number, update, others[0], totals[0])


def _count_early(block: Block, loop: Operation, count: _Count, rewriter: Rewriter) -> None:
    body, number, update, total = loop.regions[0].block, count.number, count.update, count.total
    argument, carried = body.arguments[1 + number], loop.results[number]
    scalar = total.result.type
    assert isinstance(scalar, ScalarType)
    loop.results[number] = total.result
    block.operations.remove(total)
    rewriter.set_operands(total, [count.added])
    total.results = [rewriter.value(carried, scalar)]
    body.operations.insert(body.operations.index(update), total)
    argument.type = update.result.type = scalar
    rewriter.set_operands(update, [argument, total.result])
    begin = rewriter.value(loop.operands[3 + number], scalar)
    made = rewriter.operation("arith.constant", [], [begin], {"value": 0}, loop.line)
    operands = [*loop.operands]
    operands[3 + number] = begin
    rewriter.set_operands(loop, operands)
    block.operations.insert(block.operations.index(loop), made)
