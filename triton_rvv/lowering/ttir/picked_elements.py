"""Takes the one element that a comparison with places leaves of each row, in place of all.

    sum(where(i[:, None] == arange(0, N)[None, :], x, 0), axis=1)

is x[:, i], and 0 where i is no place of the row. Kernels pick logits of labels like this, and look
numbers up in tables of a line. What is picked from is followed back to its loads, which then read
an element for each row, and to blocks that are kept, as those that a loop carries, from which the
element is taken. A comparison has one place that is equal: integers wrap around in the same way on
both sides. Least and largest elements of such rows are picked, too:

    min(where(k == arange(0, N)[None, :], x, inf), axis=1)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.llvm.predicates import predicate_of
from triton_rvv.lowering.ttir.combining import COMBINING, operation_of_each, widened_truths
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.operation_kinds import WITHOUT_MEMORY
from triton_rvv.lowering.ttir.picked_values import (
    PICKED,
    Dims,
    IsNotPicked,
    Pick,
    Place,
    dims_below,
    filled,
)
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, placed

__all__ = ["pick_elements"]

_EXTENDS = ("arith.extsi", "arith.extui")
# Leave 0 as it is.
_WIDENS = (*_EXTENDS, "arith.extf", "tt.fp_to_fp")
# Shorter rows are as fast as they are.
_FEWEST = 4


def pick_elements(kernel: Kernel) -> int:
    """Takes the element that a comparison with places leaves of a row, in place of all."""
    fired, rewriter = 0, Rewriter(kernel.module)
    for function in kernel.functions.values():
        for block, reduction in placed(function, "tt.reduce"):
            if (made := _picked(block, reduction, rewriter)) is not None:
                operations, result = made
                block.put_before(reduction, operations)
                rewriter.replace({reduction.result: result})
                rewriter.set_operands(reduction, [])
                block.operations.remove(reduction)
                fired += 1
        if fired:
            rewriter.erase_unused(function, _may_go)
    return fired


def _picked(
    block: Block, reduction: Operation, rewriter: Rewriter
) -> tuple[list[Operation], Value] | None:
    """What gives a reduction's result without it; None where more than one element counts."""
    names = operation_of_each(reduction)
    if len(names) != 1 or (known := COMBINING.get(names[0])) is None:
        return None
    (elements,), axis = reduction.operands, reduction.integer("axis")
    if elements.block.shape[axis] < _FEWEST:
        return None
    rest = 0.0 if known.neutral == 0 else _number_of_others(elements, rewriter.makers)
    if rest is None or not known.keeps(rest):
        return None
    condition = _condition(elements, rest, rewriter.makers)
    if condition is None:
        return None
    made, shape = Written(rewriter, reduction.result, reduction.line), reduction.result.shape
    dims = tuple(
        PICKED if each == axis else each - (each > axis) for each in range(len(elements.shape))
    )
    for comparison, own_dims in _comparisons(condition, dims, rewriter.makers):
        try:
            place = _place(comparison, own_dims, Pick(made, shape, reduction, block))
            pick = Pick(made, shape, reduction, block, place)
            truth = place.inside.type
            chosen = made.write("arith.andi", truth, place.inside, pick.of(condition, dims))
            value = pick.of(elements, dims)
        except IsNotPicked:
            _withdraw(made)
            continue
        others = filled(made, reduction.result.type, rest)
        if known.neutral != 0:  # the others count, as where the one element is NaN
            value = made.write(names[0], value.type, value, others)
        result = made.write("arith.select", reduction.result.type, chosen, value, others)
        return made.operations, result
    return None


def _withdraw(made: Written) -> None:
    """Take back what was written; nothing asks for it."""
    for each in reversed(made.operations):
        made.rewriter.set_operands(each, [])
        del made.rewriter.makers[each.result]
    made.operations.clear()


def _number_of_others(elements: Value, makers: Mapping[Value, Operation]) -> float | None:
    """The number that a condition puts in place of elements."""
    maker = makers.get(elements)
    if maker is None or maker.name != "arith.select":
        return None
    return one_number(makers.get(maker.operands[2]))


def _condition(elements: Value, rest: float, makers: Mapping[Value, Operation]) -> Value | None:
    """Where elements are not that number; None if that is not said."""
    maker = makers.get(elements)
    while maker is not None and maker.name in _WIDENS:
        maker = makers.get(maker.operands[0])
    if maker is not None and maker.name == "arith.select":
        condition, _, otherwise = maker.operands
        is_block = condition.shape == elements.shape
        return condition if is_block and one_number(makers.get(otherwise)) == rest else None
    if maker is not None and maker.name == "arith.muli":
        factors = (makers.get(operand) for operand in maker.operands)
        truths = [each.operands[0] for each in factors if each is not None and _is_truth(each)]
        return truths[0] if truths else None
    return None


def _is_truth(maker: Operation) -> bool:
    return maker.name == "arith.extui" and element_type(maker.operands[0].type) == ScalarType("i1")


def _comparisons(
    condition: Value, dims: Dims, makers: Mapping[Value, Operation]
) -> Iterator[tuple[Operation, Dims]]:
    """Those for equality that have to hold for a condition, and their dimensions."""
    maker = makers.get(condition)
    if maker is None or PICKED not in dims:
        return
    if maker.name == "arith.andi":
        for operand in maker.operands:
            yield from _comparisons(operand, dims, makers)
    elif maker.name in ("tt.broadcast", "tt.expand_dims"):
        yield from _comparisons(maker.operands[0], dims_below(maker, dims), makers)
    elif maker.name == "arith.cmpi" and predicate_of(maker) == "eq":
        yield maker, dims
    elif maker.name == "arith.cmpi" and predicate_of(maker) == "ne":
        ones, zero = maker.operands
        truth = widened_truths(makers.get(ones))
        if truth is not None and one_number(makers.get(zero)) == 0:
            yield from _comparisons(truth, dims, makers)


def _place(comparison: Operation, dims: Dims, pick: Pick) -> Place:
    """Where a comparison of places and a number for each row holds."""
    for places, number in (comparison.operands, reversed(comparison.operands)):
        try:
            return _solved(places, dims, pick.of(number, dims), pick)
        except IsNotPicked:
            continue
    raise IsNotPicked


def _solved(places: Value, dims: Dims, number: Value, pick: Pick) -> Place:
    """Where places along the dimension that is picked from are equal to a number."""
    made, maker = pick.made, pick.made.rewriter.makers.get(places)
    if maker is None:
        raise IsNotPicked
    if maker.name == "tt.make_range" and dims == (PICKED,):
        start, end = maker.integer("start"), maker.integer("end")
        index = number
        if start:
            index = made.write("arith.subi", number.type, number, made.number(number.type, start))
        size = made.number(number.type, end - start)
        return Place(number, index, made.compare("ult", index, size))
    if maker.name in ("tt.broadcast", "tt.expand_dims"):
        return _solved(maker.operands[0], dims_below(maker, dims), number, pick)
    if maker.name in _EXTENDS:
        narrow = made.write("arith.trunci", pick.type_of(maker.operands[0]), number)
        same = made.compare("eq", made.write(maker.name, number.type, narrow), number)
        place = _solved(maker.operands[0], dims, narrow, pick)
        inside = made.write("arith.andi", same.type, same, place.inside)
        return Place(place.number, place.index, inside)
    if maker.name == "arith.addi":
        for further, other in (maker.operands, reversed(maker.operands)):
            try:
                rest = made.write("arith.subi", number.type, number, pick.of(other, dims))
                return _solved(further, dims, rest, pick)
            except IsNotPicked:
                continue
    raise IsNotPicked


def _may_go(operation: Operation) -> bool:
    """Whether it only computes or loads, so that nothing is loaded for what was a row."""
    is_load = operation.name == "tt.load" and not operation.attributes.get("isVolatile")
    return is_load or operation.name.startswith(WITHOUT_MEMORY)
