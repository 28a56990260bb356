"""Takes the one element that a comparison with places leaves of each row, in place of all.

    sum(where(i[:, None] == arange(0, N)[None, :], x, 0), axis=1)

is x[:, i], and 0 where i is no place of the row. Kernels pick logits of labels like this, and look
numbers up in tables of a line. What is picked from is followed back to its loads, which then read
an element for each row. A comparison has one place that is equal: integers wrap around in the same
way on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, Type, element_type
from triton_rvv.lowering.llvm.predicates import PREDICATES
from triton_rvv.lowering.ttir.combining import COMBINING, operation_of_each
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.operation_kinds import WITHOUT_MEMORY
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, placed

__all__ = ["pick_elements"]

# Computed once more for the element that is picked; functions would take longer than a row.
_CHEAP = ("arith.", "tt.addptr", "tt.bitcast", "tt.fp_to_fp")
_EXTENDS = ("arith.extsi", "arith.extui")
# Leave 0 as it is.
_WIDENS = (*_EXTENDS, "arith.extf", "tt.fp_to_fp")
_KEEPS_MEMORY = (*WITHOUT_MEMORY, "tt.load", "tt.reduce", "tt.get_", "tt.dot", "scf.yield")
# Shorter rows are as fast as they are.
_FEWEST, _MOST_OPERATIONS = 4, 40

# For each dimension of a block, the one of the result in which it lies, or this for the one that is
# picked from; None where it has one element.
_PICKED = -1
_Dims = tuple[int | None, ...]


class _IsNotPicked(Exception):
    """No element alone gives the result."""


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
    if len(names) != 1 or (known := COMBINING.get(names[0])) is None or known.neutral != 0:
        return None
    (elements,), axis = reduction.operands, reduction.integer("axis")
    if elements.block.shape[axis] < _FEWEST:
        return None
    condition = _condition(elements, rewriter.makers)
    if condition is None:
        return None
    made = Written(rewriter, reduction.result, reduction.line)
    dims = tuple(
        _PICKED if each == axis else each - (each > axis) for each in range(len(elements.shape))
    )
    for comparison in _comparisons(condition, rewriter.makers):
        try:
            place = _place(comparison, dims, _Pick(made, reduction, block))
            pick = _Pick(made, reduction, block, place)
            truth = place.inside.type
            chosen = made.write("arith.andi", truth, place.inside, pick.of(condition, dims))
            value = pick.of(elements, dims)
        except _IsNotPicked:
            _withdraw(made)
            continue
        zero = _zero(made, reduction.result.type)
        result = made.write("arith.select", reduction.result.type, chosen, value, zero)
        return made.operations, result
    return None


def _zero(made: Written, type_: Type) -> Value:
    element = element_type(type_)
    if not isinstance(element, ScalarType):
        raise _IsNotPicked
    return made.number(type_, 0.0 if element.is_float else 0)


def _withdraw(made: Written) -> None:
    """Take back what was written; nothing asks for it."""
    for each in reversed(made.operations):
        made.rewriter.set_operands(each, [])
        del made.rewriter.makers[each.result]
    made.operations.clear()


def _condition(elements: Value, makers: Mapping[Value, Operation]) -> Value | None:
    """Where elements are not 0; None if that is not said."""
    maker = makers.get(elements)
    while maker is not None and maker.name in _WIDENS:
        maker = makers.get(maker.operands[0])
    if maker is not None and maker.name == "arith.select":
        condition, _, otherwise = maker.operands
        is_block = condition.shape == elements.shape
        return condition if is_block and one_number(makers.get(otherwise)) == 0 else None
    if maker is not None and maker.name == "arith.muli":
        factors = (makers.get(operand) for operand in maker.operands)
        truths = [each.operands[0] for each in factors if each is not None and _is_truth(each)]
        return truths[0] if truths else None
    return None


def _is_truth(maker: Operation) -> bool:
    return maker.name == "arith.extui" and element_type(maker.operands[0].type) == ScalarType("i1")


def _comparisons(condition: Value, makers: Mapping[Value, Operation]) -> Iterator[Operation]:
    """Those for equality that have to hold for a condition."""
    maker = makers.get(condition)
    if maker is None:
        return
    if maker.name == "arith.andi":
        for operand in maker.operands:
            yield from _comparisons(operand, makers)
    elif maker.name == "arith.cmpi" and PREDICATES[maker.name][maker.integer("predicate")] == "eq":
        yield maker


@dataclass(frozen=True)
class _Place:
    """Which element of a row it is.

    Args:
        number: what the line of places holds there.
        inside: whether the row has it.
    """

    number: Value
    inside: Value


def _place(comparison: Operation, dims: _Dims, pick: _Pick) -> _Place:
    """Where a comparison of places and a number for each row holds."""
    for places, number in (comparison.operands, reversed(comparison.operands)):
        try:
            return _solved(places, dims, pick.of(number, dims), pick)
        except _IsNotPicked:
            continue
    raise _IsNotPicked


def _solved(places: Value, dims: _Dims, number: Value, pick: _Pick) -> _Place:
    """Where places along the dimension that is picked from are equal to a number."""
    made, maker = pick.made, pick.made.rewriter.makers.get(places)
    if maker is None:
        raise _IsNotPicked
    if maker.name == "tt.make_range" and dims == (_PICKED,):
        start, end = maker.integer("start"), maker.integer("end")
        from_start = made.write("arith.subi", number.type, number, made.number(number.type, start))
        size = made.number(number.type, end - start)
        return _Place(number, made.compare("ult", from_start, size))
    if maker.name in ("tt.broadcast", "tt.expand_dims"):
        return _solved(maker.operands[0], _dims_below(maker, dims), number, pick)
    if maker.name in _EXTENDS:
        narrow = made.write("arith.trunci", pick.type_of(maker.operands[0]), number)
        same = made.compare("eq", made.write(maker.name, number.type, narrow), number)
        place = _solved(maker.operands[0], dims, narrow, pick)
        return _Place(place.number, made.write("arith.andi", same.type, same, place.inside))
    if maker.name == "arith.addi":
        for further, other in (maker.operands, reversed(maker.operands)):
            try:
                rest = made.write("arith.subi", number.type, number, pick.of(other, dims))
                return _solved(further, dims, rest, pick)
            except _IsNotPicked:
                continue
    raise _IsNotPicked


def _dims_below(maker: Operation, dims: _Dims) -> _Dims:
    """The dimensions of what an operation spreads."""
    if maker.name == "tt.expand_dims":
        axis = maker.integer("axis")
        return (*dims[:axis], *dims[axis + 1 :])
    sizes = zip(maker.operands[0].shape, maker.result.shape, dims, strict=True)
    return tuple(None if size == 1 < result else each for size, result, each in sizes)


class _Pick:
    """Writes what values hold for each row in one place.

    Args:
        made: takes what is written.
        reduction: that is written anew.
        block: in which it stands.
        place: which element of a row; none yet where what is written has to be the same for all.
    """

    def __init__(
        self, made: Written, reduction: Operation, block: Block, place: _Place | None = None
    ) -> None:
        self.made, self._reduction, self._block, self._place = made, reduction, block, place
        self._shape = reduction.result.shape
        self._found: dict[tuple[Value, _Dims], Value] = {}

    def type_of(self, value: Value) -> Type:
        """The type of a value for each row."""
        element = value.block.element if value.shape else value.type
        assert not isinstance(element, TensorType)
        return TensorType(self._shape, element) if self._shape else element

    def of(self, value: Value, dims: _Dims) -> Value:
        """What a value holds.

        Raises:
            _IsNotPicked: where that cannot be told without its other elements.
        """
        found = self._found.get((value, dims))
        if found is None:
            if len(self.made.operations) > _MOST_OPERATIONS:
                raise _IsNotPicked
            try:
                found = self._written(value, dims) if {None, _PICKED} & {*dims} else None
            except _IsNotPicked:
                if _PICKED in dims:
                    raise
            found = found or self._spread(value, dims)
            self._found[value, dims] = found
        return found

    def _written(self, value: Value, dims: _Dims) -> Value:
        """What a block holds that has other dimensions, computed in those of the result."""
        maker = self.made.rewriter.makers.get(value)
        if maker is None:
            raise _IsNotPicked
        if maker.name in ("tt.broadcast", "tt.expand_dims"):
            return self.of(maker.operands[0], _dims_below(maker, dims))
        if maker.name == "tt.splat":
            return self._spread(maker.operands[0], ())
        if maker.name == "arith.constant" and (number := one_number(maker)) is not None:
            return self.made.number(self.type_of(value), number)
        if maker.name == "tt.make_range" and self._place is not None and dims == (_PICKED,):
            return self._place.number
        if maker.name == "tt.load" and _PICKED in dims:
            return self._loaded(maker, dims)
        if not maker.name.startswith(_CHEAP) or maker.regions or len(maker.results) != 1:
            raise _IsNotPicked
        operands = [self.of(operand, dims) for operand in maker.operands]
        return self.made.write(maker.name, self.type_of(value), *operands, **maker.attributes)

    def _loaded(self, load: Operation, dims: _Dims) -> Value:
        """An element of a load for each row, if memory is still the same."""
        if self._place is None or not self._reads_the_same(load):
            raise _IsNotPicked
        pointer, *rest = (self.of(operand, dims) for operand in load.operands)
        mask = self._place.inside
        if rest:
            mask = self.made.write("arith.andi", mask.type, mask, rest[0])
        type_ = self.type_of(load.result)
        other = rest[1] if len(rest) > 1 else _zero(self.made, type_)
        attributes = dict(load.attributes)
        attributes["operandSegmentSizes"] = [1, 1, 1]
        return self.made.write("tt.load", type_, pointer, mask, other, **attributes)

    def _reads_the_same(self, load: Operation) -> bool:
        operations = self._block.operations
        if load not in operations or load.attributes.get("isVolatile"):
            return False
        between = operations[operations.index(load) : operations.index(self._reduction)]
        inside = (each for operation in between for each in operation.walk())
        return all(each.name.startswith(_KEEPS_MEMORY) or each.regions for each in inside)

    def _spread(self, value: Value, dims: _Dims) -> Value:
        """A value that is the same for all places, in the dimensions of the result."""
        made = self.made
        if not value.shape:
            type_ = self.type_of(value)
            return value if type_ == value.type else made.write("tt.splat", type_, value)
        element = value.block.element
        kept = [
            (size, each) for size, each in zip(value.shape, dims, strict=True) if each is not None
        ]
        if not kept:
            raise _IsNotPicked
        if len(kept) < len(dims):
            sizes = tuple(size for size, _ in kept)
            value = made.write("tt.reshape", TensorType(sizes, element), value)
        for axis in range(len(self._shape)):
            if axis not in (each for _, each in kept):
                longer = (*value.shape[:axis], 1, *value.shape[axis:])
                value = made.write("tt.expand_dims", TensorType(longer, element), value, axis=axis)
        if value.shape != self._shape:
            value = made.write("tt.broadcast", TensorType(self._shape, element), value)
        return value


def _may_go(operation: Operation) -> bool:
    """Whether it only computes or loads, so that nothing is loaded for what was a row."""
    is_load = operation.name == "tt.load" and not operation.attributes.get("isVolatile")
    return is_load or operation.name.startswith(WITHOUT_MEMORY)
