"""Finds the least or greatest element of a row first, and then where it is.

    value, place = argmin(x)                value = min(x)
                                            place = min(where(x == value, places, last place))

To carry a place beside each element takes six operations for each run, and all lanes have to be
compared in pairs behind it. Twice over the elements, which are in L1 or in registers the second
time, takes three, and the core has reductions for the lanes. What NaN comes to in a reduction is
free (`commutative.py`); a place is one of the row's in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.attributes import Attribute, DenseAttribute
from triton_rvv.frontend.ttir import Block, Operation, Region, Value
from triton_rvv.frontend.types import ScalarType, TensorType, element_type
from triton_rvv.lowering.llvm.predicates import CMPF_PREDICATES, CMPI_PREDICATES
from triton_rvv.lowering.ttir.block_ranges import Range, ranges_of_blocks
from triton_rvv.lowering.ttir.commutative import first_in_order
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.repeated import repeated
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["locate_extremes"]

# What takes the least and the greatest, by the comparison that orders elements.
_EXTREMES = {
    "olt": ("arith.minnumf", "arith.maxnumf"),
    "slt": ("arith.minsi", "arith.maxsi"),
    "ult": ("arith.minui", "arith.maxui"),
}
_REPEATED = ("tt.expand_dims", "tt.broadcast")


@dataclass(frozen=True)
class _Search:
    """What a reduction looks for.

    Args:
        value: the operation that takes the extreme of two elements.
        place: that takes the place of two equal ones.
        otherwise: a place that there is, for where no element is equal to the extreme.
    """

    value: str
    place: str
    otherwise: int


def locate_extremes(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many reductions became two."""
    fired = 0
    for function in kernel.functions.values():
        reductions = (each for each in function.walk() if each.name == "tt.reduce")
        if not any(len(each.operands) == 2 for each in reductions):
            continue
        rewriter, ranges = Rewriter(kernel.module), ranges_of_blocks(function)
        for block in blocks_inside(function):
            for operation in [each for each in block.operations if each.name == "tt.reduce"]:
                search = _search(operation, ranges, rewriter.makers)
                if search is not None:
                    _rewrite(block, operation, search, rewriter)
                    fired += 1
    return fired


def _search(
    reduction: Operation, ranges: Mapping[Value, Range], makers: Mapping[Value, Operation]
) -> _Search | None:
    """What a reduction of elements and their places looks for; None for any other one."""
    orders = first_in_order(reduction)
    if len(reduction.operands) != 2 or not orders:
        return None
    element, known = element_type(reduction.operands[0].type), ranges.get(reduction.operands[1])
    if known is None or not isinstance(element, ScalarType) or element.is_kept_as_bits:
        return None
    (comparison, is_least), *rest = orders
    value = _EXTREMES[comparison][not is_least]
    if not rest:  # of equal elements, the last one
        if not _are_positions(reduction.operands[1], makers):
            return None
        return _Search(value, "arith.maxsi", known[0])
    (comparison, is_least), *more = rest
    if more or comparison != "slt":
        return None
    return _Search(value, _EXTREMES["slt"][not is_least], known[1] if is_least else known[0])


def _are_positions(value: Value, makers: Mapping[Value, Operation]) -> bool:
    maker = makers.get(value)
    while maker is not None and maker.name in _REPEATED:
        maker = makers.get(maker.operands[0])
    return maker is not None and maker.name == "tt.make_range"


def _rewrite(block: Block, reduction: Operation, search: _Search, rewriter: Rewriter) -> None:
    elements, places = reduction.operands
    value, place = reduction.results
    assert isinstance(elements.type, TensorType)
    assert isinstance(places.type, TensorType)
    made: list[Operation] = [_reduction(reduction, elements, value, search.value, rewriter)]

    def make(name: str, type_: TensorType, *operands: Value, **attributes: Attribute) -> Value:
        result = rewriter.value(place, type_)
        made.append(rewriter.operation(name, operands, [result], attributes, reduction.line))
        return result

    made += repeated(value, elements.type, reduction, rewriter)
    truths = TensorType(elements.type.shape, ScalarType("i1"))
    is_float = elements.type.element.is_float
    name, names = ("arith.cmpf", CMPF_PREDICATES) if is_float else ("arith.cmpi", CMPI_PREDICATES)
    equal = names.index("oeq" if is_float else "eq")
    found = make(name, truths, elements, made[-1].result, predicate=equal)
    filled = DenseAttribute(places.type, (search.otherwise,))
    otherwise = make("arith.constant", places.type, value=filled)
    chosen = make("arith.select", places.type, found, places, otherwise)
    made.append(_reduction(reduction, chosen, place, search.place, rewriter))
    at = block.operations.index(reduction)
    rewriter.set_operands(reduction, [])
    block.operations[at : at + 1] = made


def _reduction(
    like: Operation, operand: Value, result: Value, name: str, rewriter: Rewriter
) -> Operation:
    """A reduction along the same dimension by one operation."""
    assert isinstance(operand.type, TensorType)
    sides = [rewriter.value(operand, operand.type.element) for _ in range(2)]
    total = rewriter.value(operand, operand.type.element)
    region = _region(sides, rewriter.operation(name, sides, [total], {}, like.line), rewriter)
    attributes = dict(like.attributes)
    return rewriter.operation(like.name, [operand], [result], attributes, like.line, [region])


def _region(sides: Sequence[Value], combine: Operation, rewriter: Rewriter) -> Region:
    end = rewriter.operation("tt.reduce.return", [combine.result], [], {}, combine.line)
    return Region([Block("", [*sides], [combine, end])])
