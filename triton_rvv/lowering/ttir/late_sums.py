"""Adds up blocks in a loop, and their elements only behind it.

    total = zeros(M)                        parts = zeros(M, N)
    for ...:                                for ...:
        total += sum(x, axis=1) * scale         parts += x * scale[:, None]
                                            total = sum(parts, axis=1)

To add the lanes of registers takes longer than to add registers. Both add the same elements, in
another order, which the order of a sum is free to be (`commutative.py`). Largest and
smallest elements are found likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.accumulators import size_of_sums
from triton_rvv.lowering.ttir.carried import Carried, carried_by
from triton_rvv.lowering.ttir.combined import operation_of_each
from triton_rvv.lowering.ttir.combining import COMBINING
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, placed
from triton_rvv.targets.target import Target

__all__ = ["LateSum", "add_late", "bits_for_sums", "late_sums_of"]

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
    body.operations.remove(reduction)
    carried.set_type(added.block, update)
    loop.results[carried.number] = rewriter.value(total, added.block)
    rewriter.set_operands(reduction, [carried.result])
    begin = Written(rewriter, start, update.line)
    is_float = added.block.element.is_float
    number = float(late.neutral) if is_float else late.neutral
    carried.start_with(begin.number(added.block, number), rewriter)
    block.put_before(loop, begin.operations)
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
