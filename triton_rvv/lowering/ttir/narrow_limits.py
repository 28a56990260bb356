"""Compares integers that fit a few bits with a number of 32 that is known when a kernel runs.

    abs(a - b) > limit      abs(a - b) > clamp(limit, -1, 256).to(int16).to(int32)

A number outside the range of a block's elements compares with all of them as the one next to that
range does. So the number fits few bits too, and `narrow_integers` compares in these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from triton_rvv.frontend.attributes import Attribute
from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, Type
from triton_rvv.lowering.llvm.predicates import CMPI_PREDICATES
from triton_rvv.lowering.ttir.block_ranges import Range, ranges_of_blocks
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.late_widening import narrow_parts
from triton_rvv.lowering.ttir.narrow_integers import WIDENED, may_narrow, wide_operands
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["narrow_limits"]

_BITS = 16
_FIRST_UNSIGNED = CMPI_PREDICATES.index("ult")


def narrow_limits(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many comparisons have a narrower number."""
    fired = 0
    for function in kernel.functions.values():
        rewriter = Rewriter(kernel.module)
        if not may_narrow(function, rewriter.makers):
            continue
        ranges = ranges_of_blocks(function)
        blocks = blocks_inside(function)
        homes = {each: block for block in blocks for each in block.operations}
        for block in blocks:
            found = [*_comparisons(block, ranges, rewriter.makers)]
            for comparison, limited, splat in found:
                _clamp(block, comparison, splat, ranges[limited], rewriter)
                if splat.result.uses == 0:
                    rewriter.erase(homes[splat], splat)  # which may lie before a loop
            fired += len(found)
    return fired


def _comparisons(
    block: Block, ranges: Mapping[Value, Range], makers: Mapping[Value, Operation]
) -> Iterator[tuple[Operation, Value, Operation]]:
    """Comparisons of a block that fits few bits, that block, and what spreads the number."""
    narrow = {
        result
        for web in narrow_parts(block, ranges, makers)
        for each in web.operations
        for result in each.results
    }
    for operation in block.operations:
        if operation.name != "arith.cmpi" or operation.integer("predicate") >= _FIRST_UNSIGNED:
            continue
        for value, other in (operation.operands, operation.operands[::-1]):
            maker, splat = makers.get(value), makers.get(other)
            if maker is None or splat is None or len(wide_operands(operation)) < 2:
                continue
            is_narrow = value in narrow or (maker.name in WIDENED and value in ranges)
            if is_narrow and splat.name == "tt.splat":
                if _with_neighbours_fits(ranges[value]):
                    yield operation, value, splat
                break


def _with_neighbours_fits(of: Range) -> bool:
    half = 1 << _BITS - 1
    return -half < of[0] and of[1] < half - 1


def _clamp(
    block: Block, comparison: Operation, splat: Operation, of: Range, rewriter: Rewriter
) -> None:
    """Have a comparison read a number that is at most one beyond a range, and 16 bits of it."""
    (number,), spread = splat.operands, splat.result
    assert isinstance(spread.type, TensorType)
    short, made = ScalarType(f"i{_BITS}"), list[Operation]()

    def make(name: str, type_: Type, *operands: Value, **attributes: Attribute) -> Value:
        result = rewriter.value(spread, type_)
        line = comparison.line
        made.append(rewriter.operation(name, operands, [result], {**attributes}, line))
        return result

    below, above = (
        make("arith.constant", number.type, value=each) for each in (of[0] - 1, of[1] + 1)
    )
    least = make("arith.maxsi", number.type, number, below)
    limited = make("arith.minsi", number.type, least, above)
    cut = make("arith.trunci", short, limited)
    everywhere = make("tt.splat", TensorType(spread.type.shape, short), cut)
    wide = make("arith.extsi", spread.type, everywhere)
    at = block.operations.index(comparison)
    block.operations[at:at] = made
    operands = [wide if each is spread else each for each in comparison.operands]
    rewriter.set_operands(comparison, operands)
