"""Which types each operation of the IR takes and gives; an operation without a rule takes any."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import PointerType, ScalarType, TensorType, Type, element_type

__all__ = ["TERMINATORS", "problem_of"]

TERMINATORS = frozenset(
    [
        *("scf.yield", "scf.condition", "cf.br", "cf.cond_br", "tt.return"),
        *("tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return"),
    ]
)


def problem_of(operation: Operation) -> str:
    """What is wrong with an operation's types, as a clause; "" where nothing is."""
    rule = _RULES.get(operation.name)
    if rule is None and operation.name.startswith(("arith.", "math.")):
        rule = _CASTS.get(operation.name, _of_one_type)
    return rule(operation) if rule is not None else ""


def _types(values: Sequence[Value]) -> list[Type]:
    return [value.type for value in values]


def _shape(type_: Type) -> tuple[int, ...]:
    return type_.shape if isinstance(type_, TensorType) else ()


def _of_one_type(operation: Operation) -> str:
    types = set(_types([*operation.operands, *operation.results]))
    return "" if len(types) <= 1 else f"operands and results differ: {_listed(types)}"


def _of_one_shape(operation: Operation) -> str:
    shapes = {_shape(type_) for type_ in _types([*operation.operands, *operation.results])}
    return "" if len(shapes) == 1 else "operands and result have different shapes"


def _is_truth(type_: Type) -> bool:
    return element_type(type_) == ScalarType("i1")


def _comparison(operation: Operation) -> str:
    if len(set(_types(operation.operands))) != 1:
        return f"compares {_listed(_types(operation.operands))}"
    if not _is_truth(operation.result.type):
        return f"a comparison gives i1, not {operation.result.type}"
    return _of_one_shape(operation)


def _select(operation: Operation) -> str:
    condition, *sides = _types(operation.operands)
    if not _is_truth(condition):
        return f"the condition is {condition}"
    if _shape(condition) not in ((), _shape(operation.result.type)):
        return "the condition has another shape"
    return "" if {*sides} == {operation.result.type} else f"selects from {_listed(sides)}"


def _splat(operation: Operation) -> str:
    result = operation.result.type
    is_right = isinstance(result, TensorType) and result.element == operation.operands[0].type
    return "" if is_right else f"{operation.operands[0].type} does not fill {result}"


def _broadcast(operation: Operation) -> str:
    old, new = operation.operands[0].type, operation.result.type
    before, after = _shape(old), _shape(new)
    fits = len(before) == len(after) and all(
        one in (1, size) for one, size in zip(before, after, strict=True)
    )
    return "" if fits and element_type(old) == element_type(new) else f"{old} to {new}"


def _expand_dims(operation: Operation) -> str:
    axis, before = operation.integer("axis"), _shape(operation.operands[0].type)
    wanted = (*before[:axis], 1, *before[axis:])
    return "" if _shape(operation.result.type) == wanted else f"the result's shape is not {wanted}"


def _reshape(operation: Operation) -> str:
    old, new = operation.operands[0].type, operation.result.type
    fits = math.prod(_shape(old)) == math.prod(_shape(new))
    return "" if fits and element_type(old) == element_type(new) else f"{old} to {new}"


def _trans(operation: Operation) -> str:
    before, order = _shape(operation.operands[0].type), operation.integers("order")
    wanted = tuple(before[axis] for axis in order)
    return "" if _shape(operation.result.type) == wanted else f"the result's shape is not {wanted}"


def _make_range(operation: Operation) -> str:
    size = operation.integer("end") - operation.integer("start")
    return "" if _shape(operation.result.type) == (size,) else f"the result has not {size} elements"


def _addptr(operation: Operation) -> str:
    pointer, offset = _types(operation.operands)
    if operation.result.type != pointer or not isinstance(element_type(pointer), PointerType):
        return f"moves {pointer} to {operation.result.type}"
    return "" if isinstance(element_type(offset), ScalarType) else f"moves by {offset}"


def _pointee(type_: Type) -> Type | None:
    """What lies at an address, or at each of a block of them."""
    element = element_type(type_)
    if not isinstance(element, PointerType):
        return None
    if not isinstance(type_, TensorType) or isinstance(element.pointee, TensorType):
        return element.pointee
    return TensorType(type_.shape, element.pointee)


def _load(operation: Operation) -> str:
    return _access(operation.operands[0].type, operation.result.type, operation.operands[1:])


def _store(operation: Operation) -> str:
    pointer, value, *mask = operation.operands
    return _access(pointer.type, value.type, mask)


def _access(pointer: Type, value: Type, mask_and_other: Sequence[Value]) -> str:
    if _pointee(pointer) != value:
        return f"{value} does not lie at {pointer}"
    for operand in mask_and_other[:1]:
        if not _is_truth(operand.type) or _shape(operand.type) != _shape(value):
            return f"the mask is {operand.type}"
    for operand in mask_and_other[1:]:
        if operand.type != value:
            return f"what stands for masked elements is {operand.type}"
    return ""


def _combination(operation: Operation) -> str:
    """Of a reduction or a scan: the region takes two elements of each operand."""
    elements = [element_type(value.type) for value in operation.operands]
    block = operation.regions[0].blocks[0]
    if _types(block.arguments) != [*elements, *elements]:
        return f"the region takes {_listed(_types(block.arguments))}"
    axis, results = operation.integer("axis"), []
    for value in operation.operands:
        shape = _shape(value.type)
        kept = (*shape[:axis], *shape[axis + 1 :]) if operation.name == "tt.reduce" else shape
        results.append(kept)
    if [_shape(value.type) for value in operation.results] != results:
        return "the results' shapes do not follow from the operands'"
    return _returned(operation, elements)


def _returned(operation: Operation, wanted: Sequence[Type]) -> str:
    """What each block of the first region that goes nowhere else gives back."""
    for region in operation.regions:
        for block in region.blocks:
            end = block.operations[-1] if block.operations else None
            if end is not None and end.name not in ("cf.br", "cf.cond_br"):
                given = _types(end.operands)
                if given != list(wanted):
                    return f"the region gives {_listed(given)}, not {_listed(wanted)}"
    return ""


def _for(operation: Operation) -> str:
    carried = _types(operation.operands[3:])
    block = operation.regions[0].blocks[0]
    bound = {*_types(operation.operands[:3]), block.arguments[0].type}
    if len(bound) != 1:
        return f"bounds and counter differ: {_listed(bound)}"
    if _types(operation.results) != carried or _types(block.arguments[1:]) != carried:
        return "carried blocks change their types"
    return _returned(operation, carried)


def _if(operation: Operation) -> str:
    if not _is_truth(operation.operands[0].type):
        return f"the condition is {operation.operands[0].type}"
    return _returned(operation, _types(operation.results))


def _dot(operation: Operation) -> str:
    left, right, start = _types(operation.operands)
    (*batch, rows, depth), (*other, steps, columns) = _shape(left), _shape(right)
    fits = batch == other and depth == steps and _shape(start) == (*batch, rows, columns)
    return "" if fits and start == operation.result.type else f"{left} by {right} to {start}"


def _listed(types: Sequence[Type] | set[Type]) -> str:
    return ", ".join(sorted(map(str, types)))


def _nothing(_: Operation) -> str:
    return ""


_CASTS = dict.fromkeys(
    (
        *("arith.extsi", "arith.extui", "arith.trunci", "arith.extf", "arith.truncf"),
        *("arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui", "arith.bitcast"),
        *("arith.index_cast", "arith.index_castui"),
    ),
    _of_one_shape,
)
_RULES: Mapping[str, Callable[[Operation], str]] = {
    "arith.cmpi": _comparison,
    "arith.cmpf": _comparison,
    "arith.select": _select,
    "arith.constant": _nothing,
    "tt.splat": _splat,
    "tt.broadcast": _broadcast,
    "tt.expand_dims": _expand_dims,
    "tt.reshape": _reshape,
    "tt.trans": _trans,
    "tt.make_range": _make_range,
    "tt.addptr": _addptr,
    "tt.load": _load,
    "tt.store": _store,
    "tt.reduce": _combination,
    "tt.scan": _combination,
    "tt.dot": _dot,
    "scf.for": _for,
    "scf.if": _if,
}
