"""Writes what has a dimension once for each place of it: columns of blocks as blocks of their own.

Numbers that follow from a column's place are computed here, and choices by them made.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.attributes import Attribute
from triton_rvv.frontend.ttir import Block, Operation, Region, Value
from triton_rvv.frontend.types import ScalarType, TensorType, Type, element_type
from triton_rvv.lowering.llvm.intervals import Interval, compared, exactly
from triton_rvv.lowering.llvm.predicates import predicate_of
from triton_rvv.lowering.ttir.combining import COMBINING, operation_of_each
from triton_rvv.lowering.ttir.dimensions import Dimension
from triton_rvv.lowering.ttir.known_integers import integer_bits, one_number, result_interval
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written

__all__ = ["ColumnParts"]

_SPREADS = ("tt.splat", "tt.broadcast", "tt.expand_dims")
_OF_TRUTHS = ("arith.andi", "arith.ori")
# The number that leaves another one as it is: of integers, and of truth values.
_LEAVES = {"arith.muli": 1, "arith.addi": 0, "arith.andi": 1, "arith.ori": 0}


class ColumnParts:
    """Takes a function's blocks apart along a dimension.

    Args:
        dimension: all that has it can be computed column by column.
    """

    def __init__(self, dimension: Dimension, rewriter: Rewriter) -> None:
        self._axes, self._size = dict(dimension.places), dimension.size
        self._rewriter = rewriter
        self._parts: dict[Value, Sequence[Value]] = {}
        self._lines: dict[tuple[Value, int], Value] = {}  # written for one operation
        self._whole: dict[Value, Value] = {}  # what takes the place of results without it

    def write(self, function: Operation) -> None:
        """Write all that has the dimension anew."""
        for block in function.regions[0].blocks:
            self._write_block(block)
        self._rewriter.replace(self._whole)

    def _write_block(self, block: Block) -> None:
        operations = []
        for each in block.operations:
            values = [*each.operands, *each.results]
            is_apart = not self._axes.keys().isdisjoint(values)
            if each.name == "scf.for":
                inner = each.regions[0].block
                is_apart |= not self._axes.keys().isdisjoint(inner.arguments)
            if not is_apart:
                for region in each.regions:
                    for inside in region.blocks:
                        self._write_block(inside)
                operations.append(each)
                continue
            made = Written(
                self._rewriter, each.results[0] if each.results else values[0], each.line
            )
            self._write(each, made)
            self._rewriter.set_operands(each, [])
            operations += made.operations
        block.operations[:] = operations

    def _write(self, operation: Operation, made: Written) -> None:
        self._lines.clear()
        match operation.name:
            case "scf.for":
                self._write_loop(operation, made)
            case "scf.yield":
                self._write_plain(operation, made, self._spread(operation.operands), [])
            case "tt.reduce" if operation.integer("axis") == self._axes[operation.operands[0]]:
                self._combine(operation, made)
            case "tt.reduce":
                self._reduce_each(operation, made)
            case "tt.store":
                for number in range(self._size):
                    self._write_plain(operation, made, self._of_column(operation, number), [])
            case _:
                shared = self._shared(operation, made)
                self._parts[operation.result] = (
                    [self._part(operation, number, made) for number in range(self._size)]
                    if shared is None
                    else [shared] * self._size
                )

    # -- what each column is -------------------------------------------------------------------

    def _shared(self, operation: Operation, made: Written) -> Value | None:
        """What all columns of a result are, where that is one."""
        type_, name = self._type(operation.result), operation.name
        if name == "arith.constant":
            constant = one_number(operation)
            assert constant is not None
            return self._constant(type_, constant, made)
        if name == "tt.splat":
            scalar = self._now(operation.operands[0])
            return scalar if type_ == scalar.type else made.write(name, type_, scalar)
        if name == "tt.broadcast" and operation.operands[0] not in self._axes:
            line = self._without(operation.operands[0], self._axes[operation.result], made)
            return self._repeated(line, type_, made)
        return None

    def _part(self, operation: Operation, number: int, made: Written) -> Value:
        """A column of an operation's result."""
        type_, name = self._type(operation.result), operation.name
        attributes, operands = operation.attributes, self._of_column(operation, number)
        if name == "tt.make_range":
            return made.number(type_, operation.integer("start") + number)
        if name == "tt.broadcast":
            return self._repeated(operands[0], type_, made)
        if name == "tt.expand_dims":
            if not operands[0].shape:
                return made.write("tt.splat", type_, *operands)
            new = operation.integer("axis")
            attributes = {**attributes, "axis": new - (self._axes[operation.result] < new)}
        return self._folded(operation, type_, operands, made) or made.write(
            name, type_, *operands, **attributes
        )

    def _repeated(self, value: Value, type_: Type, made: Written) -> Value:
        """A block of what a smaller one repeats."""
        maker = self._rewriter.makers.get(value)
        if value.type == type_:
            return value
        if maker is not None and maker.name == "tt.splat":
            return made.write("tt.splat", type_, *maker.operands)
        return made.write("tt.broadcast", type_, value)

    def _of_column(self, operation: Operation, number: int) -> list[Value]:
        """The operands of one column's operation."""
        return [
            self._parts[each][number] if each in self._axes else self._now(each)
            for each in operation.operands
        ]

    def _type(self, value: Value) -> Type:
        axis, block = self._axes[value], value.block
        shape = (*block.shape[:axis], *block.shape[axis + 1 :])
        return TensorType(shape, block.element) if shape else block.element

    def _now(self, value: Value) -> Value:
        return self._whole.get(value, value)

    def _without(self, value: Value, axis: int, made: Written) -> Value:
        """A block without a dimension of one element, made without it where that is cheap."""
        if (value, axis) not in self._lines:
            self._lines[value, axis] = self._made_without(self._now(value), axis, made)
        return self._lines[value, axis]

    def _made_without(self, value: Value, axis: int, made: Written) -> Value:
        block = value.block
        type_ = TensorType((*block.shape[:axis], *block.shape[axis + 1 :]), block.element)
        maker = self._rewriter.makers.get(value)
        if maker is not None and maker.name == "tt.expand_dims":
            new, (operand,) = maker.integer("axis"), maker.operands
            if new == axis:
                return self._now(operand)
            if len(operand.shape) > 1:
                line = self._without(operand, axis - (new < axis), made)
                return made.write("tt.expand_dims", type_, line, axis=new - (axis < new))
        if maker is not None and maker.name == "tt.splat":
            return made.write("tt.splat", type_, *maker.operands)
        if maker is not None and maker.name == "tt.broadcast":
            return self._repeated(self._without(maker.operands[0], axis, made), type_, made)
        if maker is not None and (constant := one_number(maker)) is not None:
            return self._constant(type_, constant, made)
        if maker is not None and maker.name.startswith(("arith.", "tt.addptr")):
            lines = [
                self._without(each, axis, made) if each.shape else self._now(each)
                for each in maker.operands
            ]
            return made.write(maker.name, type_, *lines, **maker.attributes)
        return made.write("tt.reshape", type_, value)

    # -- numbers that are known ----------------------------------------------------------------

    def _known(self, value: Value) -> float | int | None:
        """The number that all elements are, if that is known."""
        maker = self._rewriter.makers.get(value)
        while maker is not None and maker.name in _SPREADS:
            maker = self._rewriter.makers.get(maker.operands[0])
        number = one_number(maker)
        is_truth = number is not None and integer_bits(value) == 1
        return int(number != 0) if is_truth else number

    def _interval(self, value: Value) -> Interval | None:
        number = self._known(value)
        return exactly(number) if isinstance(number, int) else None

    def _folded(
        self, operation: Operation, type_: Type, operands: Sequence[Value], made: Written
    ) -> Value | None:
        """What an operation gives where that is known, or one of its operands."""
        name, known = operation.name, [self._known(each) for each in operands]
        if name == "arith.select" and known[0] is not None:
            return operands[1] if known[0] else operands[2]
        is_truth = integer_bits(operands[0]) == 1
        if name in _LEAVES and (is_truth or name not in _OF_TRUTHS):
            for number, other in zip(known, reversed(operands), strict=True):
                if number == _LEAVES[name]:
                    return other
        if 0 in known and (name == "arith.muli" or (is_truth and name == "arith.andi")):
            return self._constant(type_, 0, made)
        if 1 in known and is_truth and name == "arith.ori":
            return self._constant(type_, 1, made)
        return self._computed(operation, type_, operands, made)

    def _computed(
        self, operation: Operation, type_: Type, operands: Sequence[Value], made: Written
    ) -> Value | None:
        """The constant that an operation on known integers gives."""
        intervals = [self._interval(each) for each in operands]
        given = [each for each in intervals if each is not None]
        if len(given) < len(intervals) or not operation.name.startswith("arith."):
            return None
        if operation.name == "arith.cmpi":
            holds = compared(predicate_of(operation), *given)
            return None if holds is None else self._constant(type_, int(holds), made)
        if operation.name == "arith.select" or integer_bits(operation.result) in (None, 1):
            return None
        found = result_interval(operation, dict(zip(operation.operands, given, strict=True)).get)
        if found is None or not found.is_exact:
            return None
        limit = 1 << (integer_bits(operation.result) or 0) - 1
        is_inside = -limit <= found.least < limit
        return self._constant(type_, found.least, made) if is_inside else None

    def _constant(self, type_: Type, number: float, made: Written) -> Value:
        element = element_type(type_)
        assert isinstance(element, ScalarType)
        if element.bits == 1:
            number = int(number != 0)
        return made.number(type_, float(number) if element.is_float else number)

    # -- reductions and loops ------------------------------------------------------------------

    def _combine(self, reduction: Operation, made: Written) -> None:
        """A reduction of columns is an operation on all of them."""
        (elements,), (name,) = reduction.operands, operation_of_each(reduction)
        neutral = COMBINING[name].neutral
        (combine, _) = reduction.regions[0].block.operations
        parts = [
            each
            for each in self._parts[elements]
            if neutral is None or self._known(each) != neutral
        ]
        total, *others = parts or [self._parts[elements][0]]
        for other in others:
            total = made.write(name, total.type, total, other, **combine.attributes)
        self._whole[reduction.result] = total

    def _reduce_each(self, reduction: Operation, made: Written) -> None:
        """Each column is reduced on its own."""
        axis, along = self._axes[reduction.operands[0]], reduction.integer("axis")
        attributes: dict[str, Attribute] = {**reduction.attributes, "axis": along - (axis < along)}
        columns = []
        for number in range(self._size):
            results = [self._rewriter.value(each, self._type(each)) for each in reduction.results]
            regions = [self._rewriter.copy(each) for each in reduction.regions]
            operation = self._rewriter.operation(
                reduction.name,
                self._of_column(reduction, number),
                results,
                attributes,
                reduction.line,
                regions,
            )
            made.operations.append(operation)
            columns.append(results)
        for place, result in enumerate(reduction.results):
            self._parts[result] = [column[place] for column in columns]

    def _spread(self, values: Sequence[Value]) -> list[Value]:
        """All columns of what has the dimension, and what has it not."""
        return [
            part
            for each in values
            for part in (self._parts[each] if each in self._axes else [self._now(each)])
        ]

    def _new(self, values: Sequence[Value]) -> list[Value]:
        """The same of results or arguments, which are made here."""
        for each in values:
            if each in self._axes:
                type_ = self._type(each)
                self._parts[each] = [self._rewriter.value(each, type_) for _ in range(self._size)]
        return self._spread(values)

    def _write_loop(self, loop: Operation, made: Written) -> None:
        block = loop.regions[0].block
        body = Block(block.label, self._new(block.arguments), block.operations)
        self._write_block(body)
        operands, results = self._spread(loop.operands), self._new(loop.results)
        self._write_plain(loop, made, operands, results, [Region([body])])

    def _write_plain(
        self,
        operation: Operation,
        made: Written,
        operands: Sequence[Value],
        results: Sequence[Value],
        regions: Sequence[Region] = (),
    ) -> None:
        """An operation once more, with other operands and results."""
        made.operations.append(
            self._rewriter.operation(
                operation.name,
                operands,
                results,
                dict(operation.attributes),
                operation.line,
                regions,
            )
        )
