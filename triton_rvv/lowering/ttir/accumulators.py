"""Sums of loops that are reduced in the end, or in each turn.

`narrow-accumulators` makes blocks smaller that a loop adds to, so that they stay in registers:

    total = zeros(M, N)                     total = zeros(M, W)
    for ...:                                for ...:
        total += x                              total += the sum of x over each W-th column
    sum(total, axis=1)                      sum(total, axis=1)

Where truth values are counted along rows, a number of each row is carried, and each turn's are
counted a bit each (`lowering/reductions/counts.py`).

`add-late` adds up blocks in a loop, and their elements only behind it, since to add the lanes of
registers takes longer than to add registers:

    total = zeros(M)                        parts = zeros(M, N)
    for ...:                                for ...:
        total += sum(x, axis=1) * scale         parts += x * scale[:, None]
                                            total = sum(parts, axis=1)

Both add the same elements, in another order, which the order of a sum is free to be
(`commutative.py`). Largest and smallest elements are found likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.combining import COMBINING, operation_of_each, widened_truths
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.rewriter import (
    Carried,
    Rewriter,
    Written,
    blocks_inside,
    carried_by,
    placed,
)
from triton_rvv.targets.target import Target

__all__ = [
    "LateSum",
    "add_late",
    "bits_for_sums",
    "late_sums_of",
    "narrow_accumulators",
    "size_of_sums",
]


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
    reduction.results = [rewriter.value(total)]  # a name that is not one inside the reduction
    block.operations.remove(reduction)
    carried.loop.results[carried.number] = total
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


_PRODUCTS = {"arith.addf": "arith.mulf", "arith.addi": "arith.muli"}


@dataclass(frozen=True)
class LateSum:
    """A carried number, or line of them, to which a loop adds the sums of a block's rows.

    Args:
        scales: the products between the sums and that, and which operand is the factor.
        neutral: a number that may be added to any of them.
    """

    carried: Carried
    update: Operation
    scales: tuple[tuple[Operation, Value], ...]
    reduction: Operation
    neutral: int | float

    def type_carried(self, target: Target) -> TensorType:
        """What the loop carries then, once it is as small as sums are made."""
        type_, axis = self.reduction.operands[0].block, self.reduction.integer("axis")
        size = size_of_sums(self.reduction, target, 1) or type_.shape[axis]
        return TensorType((*type_.shape[:axis], size, *type_.shape[axis + 1 :]), type_.element)


def add_late(kernel: Kernel) -> int:
    """Adds up blocks in a loop, and their elements only behind it."""
    rewriter, fired = Rewriter(kernel.module), 0
    for block, loop in placed(kernel.module, "scf.for"):
        sums = [*late_sums_of(loop, rewriter.makers)]
        if sums and _fit_registers(loop, sums, kernel.target):
            for each in sums:
                _add_late(block, loop, each, rewriter)
            fired += len(sums)
    return fired


def _fit_registers(loop: Operation, sums: Sequence[LateSum], target: Target) -> bool:
    """Whether what a loop carries then leaves enough of the registers."""
    numbers = {each.carried.number for each in sums}
    kept = [result.type for n, result in enumerate(loop.results) if n not in numbers]
    types = [*kept, *(each.type_carried(target) for each in sums)]
    blocks = [type_ for type_ in types if isinstance(type_, TensorType)]
    bits = sum(block.elements * block.element.bits for block in blocks)
    return bits <= bits_for_sums(loop, target, are_late=True)


def bits_for_sums(loop: Operation, target: Target, are_late: bool) -> int:
    """How many bits of blocks a loop may carry in registers.

    Half of all there are; and a quarter where elements are widened, of which a run takes more, or
    where elements are added up that masks may have put into memory first.
    """
    loads = [each.result.type for each in loop.walk() if each.name == "tt.load"]
    loaded = [type_.element.bits for type_ in loads if isinstance(type_, TensorType)]
    carried = [value.type for value in loop.results]
    added = [type_.element.bits for type_ in carried if isinstance(type_, TensorType)]
    is_widened = bool(loaded and added) and min(loaded) < max(added)
    share = 4 if are_late or is_widened else 2
    return target.vector_registers // share * target.vector_bits


def late_sums_of(loop: Operation, makers: Mapping[Value, Operation]) -> Iterator[LateSum]:
    """The sums of rows that a loop adds to what it carries, and needs for nothing else."""
    body = loop.regions[0].block
    for carried in carried_by(loop):
        update = carried.update(makers)
        if update is None:
            continue
        neutral = _neutral(update.name, makers.get(carried.start))
        if neutral is None:
            continue
        scales = _sums_under(carried.added(update), update.name, makers, body)
        if scales is not None:
            *products, (reduction, _) = scales
            yield LateSum(carried, update, tuple(reversed(products)), reduction, neutral)


def _sums_under(
    value: Value, name: str, makers: Mapping[Value, Operation], body: Block
) -> list[tuple[Operation, Value]] | None:
    """The products of sums that a value is, each with the factor, and the sums at last."""
    maker = makers.get(value)
    if maker is None or value.uses != 1 or maker not in body.operations:
        return None
    if maker.name == "tt.reduce":
        return [(maker, value)] if operation_of_each(maker) == (name,) else None
    if maker.name == _PRODUCTS.get(name):
        for sums, factor in (maker.operands, reversed(maker.operands)):
            below = _sums_under(sums, name, makers, body)
            if below is not None and sums is not factor:
                return [(maker, factor), *below]
    return None


def _neutral(name: str, start: Operation | None) -> int | float | None:
    """A number that may be combined with any element again; None where none is known."""
    known = COMBINING.get(name)
    number = one_number(start) if known is not None and known.is_idempotent else None
    return known.neutral if known is not None and number is None else number


def _add_late(block: Block, loop: Operation, late: LateSum, rewriter: Rewriter) -> None:
    body, carried = loop.regions[0].block, late.carried
    reduction, update, start, total = late.reduction, late.update, carried.start, carried.result
    added = _scaled(body, late, rewriter)
    rewriter.set_operands(update, [carried.argument, added])
    for product, _ in reversed(late.scales):
        rewriter.erase(body, product)
    carried.set_type(added.block, update)
    loop.results[carried.number] = rewriter.value(total, added.block)
    rewriter.set_operands(reduction, [carried.result])
    begin = Written(rewriter, start, update.line)
    is_float = added.block.element.is_float
    number = float(late.neutral) if is_float else late.neutral
    carried.start_with(begin.number(added.block, number), rewriter)
    block.put_before(loop, begin.operations)
    body.operations.remove(reduction)  # now that new values have names
    both, attributes = [start, reduction.result], dict(update.attributes)
    ends = rewriter.operation(update.name, both, [total], attributes, update.line)
    block.put_behind(loop, [reduction, ends])


def _scaled(body: Block, late: LateSum, rewriter: Rewriter) -> Value:
    """The block whose rows were added up, times all that their sums were."""
    (value,), axis = late.reduction.operands, late.reduction.integer("axis")
    for product, factor in late.scales:
        made = Written(rewriter, value, product.line)
        factors = made.repeated(factor, value.block, axis)
        value = made.write(product.name, value.type, value, factors, **product.attributes)
        body.put_before(product, made.operations)
    return value
