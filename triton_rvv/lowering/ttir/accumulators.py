"""Makes blocks smaller that a loop adds to and that are reduced in the end.

    total = zeros(M, N)                     total = zeros(M, W)
    for ...:                                for ...:
        total += x                              total += the sum of x over each W-th column
    sum(total, axis=1)                      sum(total, axis=1)

Where truth values are counted along rows, a number of each row is carried, and each turn's are
counted a bit each (`lowering/reductions/counts.py`).

The smaller block stays in registers where the larger one would be read and written in every turn.
Both add the same elements, in another order, which the order of a sum is free to be
(`commutative.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.carried import Carried, carried_by
from triton_rvv.lowering.ttir.combined import operation_of_each, widened_truths
from triton_rvv.lowering.ttir.combining import COMBINING
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, blocks_inside
from triton_rvv.targets.target import Target

__all__ = ["narrow_accumulators", "size_of_sums"]


def narrow_accumulators(kernel: Kernel) -> int:
    """Makes blocks smaller that a loop adds to and that are reduced behind it."""
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
        found = [_sum(each, reductions, rewriter.makers) for each in carried_by(loop)]
        sums = [each for each in found if each is not None]
        for each in sums:
            size = size_of_sums(each.reduction, target, _chains_shared_by(loop, len(sums)))
            if size:
                if each.counts_along_rows(rewriter.makers):
                    _count_in_turns(block, each, rewriter)
                else:
                    _narrow(block, each, size, rewriter)
                fired += 1
    return fired


@dataclass(frozen=True)
class _Sum:
    """A carried block that a loop adds to: how it starts, grows, and is reduced."""

    carried: Carried
    start: Operation
    update: Operation
    reduction: Operation

    def counts_along_rows(self, makers: Mapping[Value, Operation]) -> bool:
        """Whether all that is added is truth values, and rows are added up."""
        is_along_rows = self.reduction.integer("axis") == len(self.carried.result.shape) - 1
        added = makers.get(self.carried.added(self.update))
        is_sum = self.update.name == "arith.addi"
        return is_along_rows and is_sum and widened_truths(added) is not None


def _sum(
    carried: Carried, reductions: Mapping[Value, Operation], makers: Mapping[Value, Operation]
) -> _Sum | None:
    """A carried block, if the loop only adds to it and only a reduction asks for it."""
    reduction, start = reductions.get(carried.result), makers.get(carried.start)
    if reduction is None or start is None or carried.result.uses != 1:
        return None
    update = carried.update(makers)
    if update is None or (update.name,) != operation_of_each(reduction):
        return None
    return _Sum(carried, start, update, reduction) if _starts_neutral(start, update.name) else None


def _chains_shared_by(loop: Operation, sums: int) -> int:
    """How many of a loop's sums share the chains that hide an addition's latency.

    All do where several loads need registers. Where one is all that is loaded, two sums keep
    theirs: with half of them the code loads the later of two runs first, which no hardware stream
    follows (docs/notes/compiler_rules.md).
    """
    names = [each.name for each in loop.regions[0].block.operations]
    return sums if names.count("tt.load") > 1 else -(-sums // 2)


def size_of_sums(reduction: Operation, target: Target, sums: int) -> int:
    """The size that is left of the reduced dimension, or 0 where the block stays as it is.

    `sums` blocks that are added to in the same loop share its chains.
    """
    type_, axis = reduction.operands[0].block, reduction.integer("axis")
    lanes = target.run_registers * target.lanes(max(type_.element.bits, 8))
    runs = -(-target.machine.sum_chains // sums)
    left = runs * lanes if axis == len(type_.shape) - 1 else 1
    return left if left < type_.shape[axis] else 0


def _starts_neutral(start: Operation, name: str) -> bool:
    """Whether a carried block starts with one number everywhere that may be added again."""
    number, known = one_number(start), COMBINING.get(name)
    return number is not None and known is not None and known.keeps(number)


def _count_in_turns(block: Block, count: _Sum, rewriter: Rewriter) -> None:
    """Have the loop carry each row's number, and reduce in each turn what it adds."""
    carried, reduction, update = count.carried, count.reduction, count.update
    total, added = reduction.result, carried.added(update)
    block.operations.remove(reduction)
    carried.loop.results[carried.number] = total
    reduction.results = [rewriter.value(total)]
    rewriter.set_operands(reduction, [added])
    carried.loop.regions[0].block.put_before(update, [reduction])
    rewriter.set_operands(update, [carried.argument, reduction.result])
    carried.set_type(total.type, update)
    begin = Written(rewriter, carried.start, carried.loop.line)
    carried.start_with(begin.number(total.type, 0), rewriter)
    block.put_before(carried.loop, begin.operations)


def _narrow(block: Block, narrowed: _Sum, size: int, rewriter: Rewriter) -> None:
    carried, reduction, update = narrowed.carried, narrowed.reduction, narrowed.update
    smaller = _resized(carried.result.block, reduction.integer("axis"), size)
    added, turn = carried.added(update), carried.loop.regions[0].block
    parts = _partly_reduced(added, reduction, size, rewriter, update.line)
    turn.put_before(update, parts.operations)
    outcome = parts.operations[-1].result
    rewriter.set_operands(update, [outcome if each is added else each for each in update.operands])
    carried.set_type(smaller, update)
    carried.result.type = smaller
    number = one_number(narrowed.start)
    assert number is not None
    begin = Written(rewriter, carried.start, narrowed.start.line)
    carried.start_with(begin.number(smaller, number), rewriter)
    block.put_before(carried.loop, begin.operations)


def _partly_reduced(
    added: Value, reduction: Operation, size: int, rewriter: Rewriter, line: str
) -> Written:
    """Operations that leave `size` positions of the reduced dimension; the last gives them."""
    type_, axis = added.block, reduction.integer("axis")
    split = (*type_.shape[:axis], type_.shape[axis] // size, size, *type_.shape[axis + 1 :])
    parts = Written(rewriter, added, line)
    shaped = parts.write("tt.reshape", TensorType(split, type_.element), added)
    parts.write("tt.reduce", _resized(type_, axis, size), shaped, axis=axis)
    parts.operations[-1].regions = [rewriter.copy(reduction.regions[0])]
    return parts


def _resized(type_: TensorType, axis: int, size: int) -> TensorType:
    return TensorType((*type_.shape[:axis], size, *type_.shape[axis + 1 :]), type_.element)
