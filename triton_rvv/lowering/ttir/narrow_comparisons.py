"""Compares blocks of integers in the type they were made in, not in that of a wider number.

Labels are often of 64 bits, and columns of 32: in `columns == label` Triton widens the columns, and
all that is computed beside the comparison has half as many lanes then. Here the label is narrowed
once instead, and what does not fit equals no column.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, Type
from triton_rvv.lowering.llvm.predicates import CMPI_PREDICATES
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["narrow_comparisons"]

_EQUAL, _DIFFERENT = CMPI_PREDICATES.index("eq"), CMPI_PREDICATES.index("ne")
# How the comparison of lanes goes together with that of the number before and after narrowing.
_JOINED_BY = {_EQUAL: "arith.andi", _DIFFERENT: "arith.ori"}


def narrow_comparisons(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many comparisons became narrower."""
    module, rewriter = kernel.module, Rewriter(kernel.module)
    fired = sum(_narrow_block(block, rewriter) for block in blocks_inside(module))
    for block in blocks_inside(module):
        _drop_unused_widenings(block, rewriter)
    return fired


def _narrow_block(block: Block, rewriter: Rewriter) -> int:
    rewritten = [_narrowed(each, rewriter) for each in block.operations]
    block.operations = [each for operations in rewritten for each in operations]
    return sum(len(operations) > 1 for operations in rewritten)


def _narrowed(operation: Operation, rewriter: Rewriter) -> Sequence[Operation]:
    """The operations that stand for one: several for a comparison that becomes narrower."""
    if operation.name == "arith.cmpi" and operation.integer("predicate") in _JOINED_BY:
        for wide, other in (operation.operands, operation.operands[::-1]):
            widening, splat = rewriter.makers.get(wide), rewriter.makers.get(other)
            if widening is None or splat is None or splat.name != "tt.splat":
                continue
            if widening.name == "arith.extsi" and isinstance(wide.type, TensorType):
                return _in_narrow_type(operation, widening, splat, rewriter)
    return (operation,)


def _in_narrow_type(
    comparison: Operation, widening: Operation, splat: Operation, rewriter: Rewriter
) -> Sequence[Operation]:
    (narrow,), (number,) = widening.operands, splat.operands
    assert isinstance(narrow.type, TensorType)
    truth, truths = ScalarType("i1"), comparison.result.type
    made: list[Operation] = []

    def make(name: str, type_: Type, *operands: Value, **attributes: int) -> Value:
        result = rewriter.value(comparison.result, type_)
        line = comparison.line
        made.append(rewriter.operation(name, operands, [result], {**attributes}, line))
        return result

    predicate = comparison.integer("predicate")
    cut = make("arith.trunci", narrow.type.element, number)
    back = make("arith.extsi", number.type, cut)
    fits = make("arith.cmpi", truth, number, back, predicate=predicate)
    spread = make("tt.splat", narrow.type, cut)
    lanes = make("arith.cmpi", truths, narrow, spread, predicate=predicate)
    everywhere = make("tt.splat", truths, fits)
    rewriter.set_operands(comparison, [lanes, everywhere])
    comparison.name = _JOINED_BY[predicate]
    comparison.attributes = {}
    return (*made, comparison)


def _drop_unused_widenings(block: Block, rewriter: Rewriter) -> None:
    for operation in [*block.operations]:
        if operation.name in ("arith.extsi", "tt.splat") and operation.result.uses == 0:
            rewriter.erase(block, operation)
