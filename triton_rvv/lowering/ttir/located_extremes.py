"""Finds the least or greatest element of a row first, and then where it is.

    value, place = argmin(x)                value = min(x)
                                            place = min(where(x == value, places, last place))

To carry a place beside each element takes six operations for each run, and all lanes have to be
compared in pairs behind it. Twice over the elements, which are in L1 or in registers the second
time, takes three, and the core has reductions for the lanes. Where rows are combined with one
another, the place of the later one is known to be the greater: to carry it takes three operations,
a comparison of elements and two choices. What NaN comes to in a reduction is free
(`commutative.py`); a place is one of the row's in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Block, Operation, Region, Value
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.ttir.block_ranges import Range, ranges_of_blocks
from triton_rvv.lowering.ttir.commutative import first_in_order
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, placed

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
    """Finds the least or greatest element of a row first, and then where it is."""
    fired = 0
    for function in kernel.functions.values():
        reductions = (each for each in function.walk() if each.name == "tt.reduce")
        if not any(len(each.operands) == 2 for each in reductions):
            continue
        rewriter, ranges = Rewriter(kernel.module), ranges_of_blocks(function)
        for block, operation in placed(function, "tt.reduce"):
            search = _search(operation, ranges, rewriter.makers)
            if search is None:
                continue
            if _is_in_order(operation, rewriter.makers):
                _carry_in_order(operation, search, rewriter)
            else:
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


def _is_in_order(reduction: Operation, makers: Mapping[Value, Operation]) -> bool:
    """Whether elements are combined one after another, each at a greater place than before."""
    elements, places = reduction.operands
    is_last = reduction.integer("axis") == len(elements.shape) - 1
    return not is_last and _are_positions(places, makers)


def _carry_in_order(reduction: Operation, search: _Search, rewriter: Rewriter) -> None:
    """Have the later of two elements be taken where it is better, or as good and asked for."""
    (block,) = reduction.regions[0].blocks
    best, place, element, own = block.arguments
    assert isinstance(element.type, ScalarType)
    is_least, is_strict = search.value.startswith("arith.min"), search.place == "arith.minsi"
    order = ("l" if is_least else "g") + ("t" if is_strict else "e")
    is_float, is_unsigned = element.type.is_float, search.value.endswith("ui")
    kind = "o" if is_float else "u" if is_unsigned else "s"
    for each in block.operations:
        rewriter.set_operands(each, [])
    made = Written(rewriter, best, reduction.line)
    is_better = made.compare(kind + order, element, best)
    value = made.write(search.value, best.type, best, element)
    chosen = made.write("arith.select", place.type, is_better, own, place)
    end = rewriter.operation("tt.reduce.return", [value, chosen], [], {}, reduction.line)
    block.operations = [*made.operations, end]


def _rewrite(block: Block, reduction: Operation, search: _Search, rewriter: Rewriter) -> None:
    elements, places = reduction.operands
    value, place = reduction.results
    first = _reduction(reduction, elements, value, search.value, rewriter)
    made = Written(rewriter, place, reduction.line, [first])
    extremes = made.repeated(value, elements.block, reduction.integer("axis"))
    found = made.compare("oeq" if elements.block.element.is_float else "eq", elements, extremes)
    otherwise = made.number(places.block, search.otherwise)
    chosen = made.write("arith.select", places.block, found, places, otherwise)
    last = _reduction(reduction, chosen, place, search.place, rewriter)
    block.put_before(reduction, [*made.operations, last])
    rewriter.set_operands(reduction, [])
    block.operations.remove(reduction)


def _reduction(
    like: Operation, operand: Value, result: Value, name: str, rewriter: Rewriter
) -> Operation:
    """A reduction along the same dimension by one operation."""
    sides = [rewriter.value(operand, operand.block.element) for _ in range(2)]
    total = rewriter.value(operand, operand.block.element)
    combine = rewriter.operation(name, sides, [total], {}, like.line)
    end = rewriter.operation("tt.reduce.return", [total], [], {}, like.line)
    region, attributes = Region([Block("", sides, [combine, end])]), dict(like.attributes)
    return rewriter.operation(like.name, [operand], [result], attributes, like.line, [region])
