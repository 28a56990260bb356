"""The scalar region of a reduction, a scan or a map, written out on whole vectors."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

from triton_rvv.errors import CompileError
from triton_rvv.frontend.attributes import DenseAttribute
from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import PointerType, ScalarType, TensorType
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.elementwise.debug import leave_unless
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.ttir.combining import operation_of_each, uniform_results
from triton_rvv.lowering.ttir.commutative import COMMUTES
from triton_rvv.lowering.ttir.row_ends import BEHIND_END

__all__ = ["CombineRegion"]


class _ComputedVector(Tensor):
    """A vector that has been computed already, as the elements of a block with one run."""

    def __init__(self, type_: TensorType, value: Val) -> None:
        super().__init__(type_)
        self._value = value

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        return self._value


class CombineRegion:
    """A region of scalars as code for vectors: its operations are lowered as those of a block.

    Conditions inside become selections, since each lane goes its own way.

    Args:
        context: where constants from outside the region are known.
        operation: the operands of its region's terminator are the results.
        checks: whether assertions inside have to hold. They need not where lanes without an element
            hold anything.
    """

    def __init__(self, context: Context, operation: Operation, checks: bool = False) -> None:
        self._context = context
        self._operation = operation
        self._checks = checks
        self._blocks = operation.regions[0].blocks

    @functools.cached_property
    def operation_of_each(self) -> tuple[str, ...]:
        """Each result's operation, where it is just one that LLVM knows; empty otherwise."""
        return operation_of_each(self._operation)

    @property
    def is_commutative(self) -> bool:
        """Whether the region is known to give the same for its two operands in either order."""
        return COMMUTES in self._operation.attributes

    @property
    def behind_end(self) -> Sequence[int | float]:
        """What each operand's elements are behind the end of a row's mask; empty if not known."""
        numbers = self._operation.attributes.get(BEHIND_END, [])
        assert isinstance(numbers, list)
        return [number for number in numbers if isinstance(number, int | float)]

    def uniform_results(self, places: Collection[int]) -> frozenset[int]:
        """The results that are one number in all lanes where the elements at `places` are."""
        return uniform_results(self._operation, places)

    @functools.cached_property
    def asserts(self) -> bool:
        """Whether there are assertions in the region, or in functions that it calls."""
        return any(map(self._asserts, self._operation.walk()))

    def _asserts(self, operation: Operation) -> bool:
        if operation.name == "tt.call":
            return any(map(self._asserts, self._context.callee(operation).walk()))
        return operation.name == "tt.assert"

    def emit(self, *groups: Sequence[Val]) -> list[Val]:
        """Write the region's operations on scalars or on vectors of one width, without a branch.

        Args:
            groups: the region's arguments in order, for example the elements so far and those to
                add.

        Raises:
            CompileError: for an operation that works on more than one lane, or on memory.
        """
        values = [value for group in groups for value in group]
        copy = _Copy(self._context, self._operation, values[0].width, self._checks)
        return copy.blocks(self._blocks, values, TRUE)


class _Copy:
    """One use of a region, its scalars turned into blocks of `width` elements.

    What only some lanes do is written for all of them, with `active` saying which ones.
    """

    def __init__(self, context: Context, operation: Operation, width: int, checks: bool) -> None:
        self._context = context
        self._checks = checks
        self._builder = context.builder
        self._outer = operation
        self._width = width
        self._point = VectorIndex((), integer(0), width)
        self._copies: dict[Value, Value] = {}

    def blocks(self, blocks: Sequence[Block], arguments: Sequence[Val], active: Val) -> list[Val]:
        """Blocks between which control only flows forward; what they return in each lane."""
        arriving: dict[str, list[tuple[Val, Sequence[Val]]]] = {b.label: [] for b in blocks}
        arriving[blocks[0].label] = [(active, arguments)]
        returned: list[tuple[Val, Sequence[Val]]] = []
        for block in _in_flow_order(blocks):
            here, values = self._merged(arriving[block.label])
            for argument, value in zip(block.arguments, values, strict=True):
                self._bind(argument, value)
            for operation in block.operations[:-1]:
                self._operation(operation, here)
            terminator = block.operations[-1]
            if not terminator.edges:
                returned.append((here, [self._value(value) for value in terminator.operands]))
            for condition, (label, passed) in zip(
                self._directions(terminator, here), terminator.edges, strict=False
            ):
                arriving[label].append((condition, [self._value(value) for value in passed]))
        return list(self._merged(returned)[1])

    def _merged(self, ways: Sequence[tuple[Val, Sequence[Val]]]) -> tuple[Val, Sequence[Val]]:
        """The lanes that come one of several ways, and the values that each of them brings."""
        active, values = ways[0]
        for condition, others in ways[1:]:
            values = [
                self._builder.select(condition, other, value)
                for value, other in zip(values, others, strict=True)
            ]
            active = self._builder.binary("or", self._spread(active), self._spread(condition))
        return active, values

    def _directions(self, terminator: Operation, here: Val) -> list[Val]:
        """The lanes that take each way out of a block."""
        if terminator.name != "cf.cond_br":
            return [here]
        condition = self._value(terminator.operands[0])
        sides = (condition, self._builder.negation(condition))
        return [self._builder.conjunction(here, side) for side in sides]

    def _operation(self, operation: Operation, active: Val) -> None:
        if operation.name == "scf.if":
            self._if(operation, active)
        elif operation.name == "tt.call":
            function = self._context.callee(operation)
            arguments = [self._value(operand) for operand in operation.operands]
            results = self.blocks(function.regions[0].blocks, arguments, active)
            for result, value in zip(operation.results, results, strict=True):
                self._bind(result, value)
        elif operation.name == "tt.assert":
            if self._checks:
                self._assert(operation, active)
        elif operation.regions or not operation.results or operation.name in _MEMORY:
            raise CompileError(
                f"{operation.name} is not supported inside {self._outer.name}: "
                "use arithmetic and conditions only",
                self._outer.line,
            )
        else:
            self._lane_by_lane(operation)

    def _if(self, operation: Operation, active: Val) -> None:
        condition = self._value(operation.operands[0])
        conditions = (condition, self._builder.negation(condition))
        sides = [
            self.blocks(region.blocks, [], self._builder.conjunction(active, side))
            for region, side in zip(operation.regions, conditions, strict=True)
            if region.blocks
        ]
        for result, *values in zip(operation.results, *sides, strict=True):
            self._bind(result, self._builder.select(condition, *values))

    def _assert(self, operation: Operation, active: Val) -> None:
        """Leave the kernel where the condition does not hold in an active lane."""
        others = self._spread(self._builder.negation(active))
        holds = self._builder.binary("or", others, self._value(operation.operands[0]))
        if self._width > 1:
            holds = self._builder.call("i1", f"llvm.vector.reduce.and.v{self._width}i1", [holds])
        leave_unless(self._context, holds, operation)

    def _lane_by_lane(self, operation: Operation) -> None:
        attributes = operation.attributes
        if operation.name == "arith.constant":
            attributes = {"value": self._constant(operation)}
        operands = [self._copy(operand) for operand in operation.operands]
        results = [self._define(result) for result in operation.results]
        line = operation.line
        copy = Operation(operation.name, operands, results, attributes, [], [], line)
        self._context.lower_operation(copy)
        for result in operation.results:
            # Written down here, so that the code is in the region's own order.
            self._bind(result, self._value(result))

    def _bind(self, original: Value, value: Val) -> None:
        copy = self._define(original)
        self._context.bind(copy, _ComputedVector(copy.block, value))

    def _define(self, original: Value) -> Value:
        assert isinstance(original.type, ScalarType | PointerType)
        type_ = TensorType((self._width,), original.type)
        copy = self._copies[original] = Value(original.name, type_, original.uses)
        return copy

    def _copy(self, original: Value) -> Value:
        """The block that stands for a scalar; one from outside the region is in every lane."""
        if original not in self._copies:
            copy = self._define(original)
            self._context.bind(copy, Splat(copy.block, self._context.scalar(original)))
        return self._copies[original]

    def _value(self, original: Value) -> Val:
        return self._context.tensor(self._copy(original)).at(self._builder, self._point)

    def _constant(self, operation: Operation) -> DenseAttribute:
        """A constant number as the attribute of a constant block."""
        element, number = operation.result.type, operation.attributes["value"]
        assert isinstance(element, ScalarType)
        assert isinstance(number, int | float)
        return DenseAttribute(TensorType((self._width,), element), (number,))

    def _spread(self, condition: Val) -> Val:
        return self._builder.splat(condition, self._width)


def _in_flow_order(blocks: Sequence[Block]) -> list[Block]:
    """The blocks that are reached, each behind all that lead to it, as MLIR need not list them."""
    by_label = {block.label: block for block in blocks}
    backwards: dict[str, Block] = {}
    seen = set()

    def visit(label: str) -> None:
        if label not in seen:
            seen.add(label)
            for following, _ in by_label[label].operations[-1].edges:
                visit(following)
            backwards[label] = by_label[label]

    visit(blocks[0].label)
    return list(reversed(backwards.values()))


# These would touch the memory of lanes that are not active.
_MEMORY = ("tt.load", "tt.atomic_rmw", "tt.atomic_cas")
