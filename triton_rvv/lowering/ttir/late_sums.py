"""Adds up blocks in a loop, and their elements only behind it.

    total = zeros(M)                        parts = zeros(M, N)
    for ...:                                for ...:
        total += sum(x, axis=1) * scale         parts += x * scale[:, None]
                                            total = sum(parts, axis=1)

To add the lanes of registers takes longer than to add registers. Both add the same elements, in
another order, which the order of a sum is free to be (`lowering/commutative.py`). Largest and
smallest elements are found likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.attributes import DenseAttribute
from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, element_type
from triton_rvv.lowering.ttir.accumulators import NEUTRAL, TAKEN_TWICE, size_of_sums
from triton_rvv.lowering.ttir.combined import operation_of_each
from triton_rvv.lowering.ttir.constants import one_number
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.repeated import repeated
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside
from triton_rvv.targets.target import Target

__all__ = ["LateSum", "add_late", "bits_for_sums", "late_sums_of"]

_PRODUCTS = {"arith.addf": "arith.mulf", "arith.addi": "arith.muli"}
# Shorter floats lose too much in the longer sums.
_MIN_FLOAT_BITS = 32


@dataclass(frozen=True)
class LateSum:
    """A carried number, or line of them, to which a loop adds the sums of a block's rows.

    Args:
        number: which of the carried values.
        update: what adds to it.
        scales: the products between the sums and that, and which operand is the factor.
        reduction: the sums.
        neutral: a number that may be added to any of them.
    """

    number: int
    update: Operation
    scales: tuple[tuple[Operation, Value], ...]
    reduction: Operation
    neutral: int | float

    def carried(self, target: Target) -> TensorType:
        """What the loop carries then, once it is as small as sums are made."""
        type_, axis = self.reduction.operands[0].type, self.reduction.integer("axis")
        assert isinstance(type_, TensorType)
        size = size_of_sums(self.reduction, target, 1) or type_.shape[axis]
        return TensorType((*type_.shape[:axis], size, *type_.shape[axis + 1 :]), type_.element)


def add_late(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many sums came to stand behind their loops."""
    rewriter, fired = Rewriter(kernel.module), 0
    for block in blocks_inside(kernel.module):
        for loop in [each for each in block.operations if each.name == "scf.for"]:
            sums = [*late_sums_of(loop, rewriter.makers)]
            if sums and _fit_registers(loop, sums, kernel.target):
                for each in sums:
                    _add_late(block, loop, each, rewriter)
                fired += len(sums)
    return fired


def _fit_registers(loop: Operation, sums: Sequence[LateSum], target: Target) -> bool:
    """Whether what a loop carries then leaves enough of the registers."""
    numbers = {each.number for each in sums}
    kept = [result.type for n, result in enumerate(loop.results) if n not in numbers]
    types = [*kept, *(each.carried(target) for each in sums)]
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
    """The sums of rows that a loop adds to what it carries, and needs for nothing else.

    Args:
        loop: an `scf.for`.
        makers: the operation that gives each result.
    """
    body = loop.regions[0].block
    carried = zip(body.arguments[1:], body.operations[-1].operands, loop.operands[3:], strict=True)
    for number, (argument, yielded, start) in enumerate(carried):
        update = makers.get(yielded)
        if update is None or update not in body.operations or not _is_wide(argument):
            continue
        is_only_use = argument in update.operands and argument.uses == 1 and yielded.uses == 1
        neutral = _neutral(update.name, makers.get(start))
        if is_only_use and neutral is not None:
            (value,) = (each for each in update.operands if each is not argument)
            scales = _sums_under(value, update.name, makers, body)
            if scales is not None:
                *products, (reduction, _) = scales
                yield LateSum(number, update, tuple(reversed(products)), reduction, neutral)


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
    if name in NEUTRAL:
        return NEUTRAL[name]
    return one_number(start) if name in TAKEN_TWICE else None


def _is_wide(value: Value) -> bool:
    element = element_type(value.type)
    return isinstance(element, ScalarType) and not (
        element.is_float and element.bits < _MIN_FLOAT_BITS
    )


def _add_late(block: Block, loop: Operation, late: LateSum, rewriter: Rewriter) -> None:
    body, number = loop.regions[0].block, late.number
    reduction, update = late.reduction, late.update
    added = _scaled(body, late, rewriter)
    start, total = loop.operands[3 + number], loop.results[number]
    argument = body.arguments[1 + number]
    rewriter.set_operands(update, [argument, added])
    for product, _ in reversed(late.scales):
        rewriter.erase(body, product)
    body.operations.remove(reduction)
    begin, carried = rewriter.value(start, added.type), rewriter.value(total, added.type)
    argument.type = update.result.type = added.type
    loop.results[number] = carried
    rewriter.set_operands(reduction, [carried])
    operands = [*loop.operands]
    operands[3 + number] = begin
    rewriter.set_operands(loop, operands)
    assert isinstance(added.type, TensorType)
    is_float = isinstance(added.type.element, ScalarType) and added.type.element.is_float
    filled = DenseAttribute(added.type, (float(late.neutral) if is_float else late.neutral,))
    made = rewriter.operation("arith.constant", [], [begin], {"value": filled}, update.line)
    both, attributes = [start, reduction.result], dict(update.attributes)
    ends = rewriter.operation(update.name, both, [total], attributes, update.line)
    place = block.operations.index(loop)
    block.operations[place : place + 1] = [made, loop, reduction, ends]


def _scaled(body: Block, late: LateSum, rewriter: Rewriter) -> Value:
    """The block whose rows were added up, times all that their sums were."""
    (value,) = late.reduction.operands
    for product, factor in late.scales:
        assert isinstance(value.type, TensorType)
        factors = [*repeated(factor, value.type, late.reduction, rewriter)]
        result = rewriter.value(value)
        operands, attributes = [value, factors[-1].result], dict(product.attributes)
        made = rewriter.operation(product.name, operands, [result], attributes, product.line)
        where = body.operations.index(product)
        body.operations[where:where] = [*factors, made]
        value = result
    return value
