"""Compares blocks of integers in the type they were made in, not in that of a wider number.

Labels are often of 64 bits, and columns of 32: in `columns == label` Triton widens the columns, and
all that is computed beside the comparison has half as many lanes then. Here the label is narrowed
once instead, and what does not fit equals no column.
"""

from __future__ import annotations

from collections.abc import Iterator

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, Type
from triton_rvv.lowering.llvm.predicates import CMPI_PREDICATES

__all__ = ["narrow_comparisons"]

_EQUAL, _DIFFERENT = CMPI_PREDICATES.index("eq"), CMPI_PREDICATES.index("ne")
# How the comparison of lanes goes together with that of the number before and after narrowing.
_JOINED_BY = {_EQUAL: "arith.andi", _DIFFERENT: "arith.ori"}


def narrow_comparisons(module: Operation) -> None:
    """Rewrite a parsed module in place."""
    makers = {result: operation for operation in module.walk() for result in operation.results}
    for operation in list(module.walk()):
        for region in operation.regions:
            for block in region.blocks:
                block.operations = [
                    each
                    for original in block.operations
                    for each in _narrowed(original, makers) or (original,)
                ]
    for operation in list(module.walk()):
        for region in operation.regions:
            for block in region.blocks:
                _drop_unused_widenings(block)


def _narrowed(comparison: Operation, makers: dict[Value, Operation]) -> list[Operation]:
    """The operations that stand for a comparison; none where it stays."""
    if comparison.name != "arith.cmpi" or comparison.integer("predicate") not in _JOINED_BY:
        return []
    for wide, other in (comparison.operands, comparison.operands[::-1]):
        widening, splat = makers.get(wide), makers.get(other)
        if widening is None or splat is None or splat.name != "tt.splat":
            continue
        if widening.name == "arith.extsi" and isinstance(wide.type, TensorType):
            return list(_in_narrow_type(comparison, widening, splat))
    return []


def _in_narrow_type(
    comparison: Operation, widening: Operation, splat: Operation
) -> Iterator[Operation]:
    (narrow,), (number,) = widening.operands, splat.operands
    assert isinstance(narrow.type, TensorType)
    truth, truths = ScalarType("i1"), comparison.result.type

    def made(name: str, type_: Type, *operands: Value, **attributes: int) -> Operation:
        for operand in operands:
            operand.uses += 1
        result = Value(f"{comparison.result.name}_{next(numbers)}", type_)
        return Operation(name, [*operands], [result], {**attributes}, [], [], comparison.line)

    numbers = iter(range(10))
    predicate = comparison.integer("predicate")
    yield (cut := made("arith.trunci", narrow.type.element, number))
    yield (back := made("arith.extsi", number.type, cut.result))
    yield (fits := made("arith.cmpi", truth, number, back.result, predicate=predicate))
    yield (spread := made("tt.splat", narrow.type, cut.result))
    yield (lanes := made("arith.cmpi", truths, narrow, spread.result, predicate=predicate))
    yield (everywhere := made("tt.splat", truths, fits.result))
    for operand in comparison.operands:
        operand.uses -= 1
    for operand in (lanes.result, everywhere.result):
        operand.uses += 1
    comparison.name = _JOINED_BY[predicate]
    comparison.operands = [lanes.result, everywhere.result]
    comparison.attributes = {}
    yield comparison


def _drop_unused_widenings(block: Block) -> None:
    unused = [
        operation
        for operation in block.operations
        if operation.name in ("arith.extsi", "tt.splat") and operation.result.uses == 0
    ]
    for operation in unused:
        operation.operands[0].uses -= 1
    block.operations = [each for each in block.operations if each not in unused]
