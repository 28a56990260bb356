"""What rewrites of the IR are made of: new values and operations, and what loops carry."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from triton_rvv.frontend.attributes import Attribute, DenseAttribute
from triton_rvv.frontend.ttir import Block, Operation, Region, Value
from triton_rvv.frontend.types import ScalarType, TensorType, Type, element_type
from triton_rvv.lowering.llvm.predicates import PREDICATES

__all__ = ["Carried", "Rewriter", "Written", "block_of", "blocks_inside", "carried_by", "placed"]


def blocks_inside(operation: Operation) -> list[Block]:
    """Every block of an operation's regions and of the operations in them, outermost first."""
    found: list[Block] = []
    waiting = [operation]
    while waiting:
        blocks = [block for region in waiting.pop().regions for block in region.blocks]
        found += blocks
        waiting += reversed([each for block in blocks for each in block.operations if each.regions])
    return found


def block_of(operation: Operation, around: Operation) -> Block:
    """The block inside another operation in which an operation stands."""
    return next(each for each in blocks_inside(around) if operation in each.operations)


def placed(operation: Operation, name: str) -> Iterator[tuple[Block, Operation]]:
    """The operations of a name inside another one, each with its block, which may be changed."""
    for block in blocks_inside(operation):
        for each in [each for each in block.operations if each.name == name]:
            yield block, each


class Rewriter:
    """Changes a module's operations; a count of uses and a name are never wrong in between."""

    def __init__(self, module: Operation) -> None:
        self.module = module
        self._next: dict[str, int] = {}  # by the stem of a name, the first number not yet tried

    @functools.cached_property
    def makers(self) -> dict[Value, Operation]:
        """The operation that gives each result."""
        return {result: each for each in self.module.walk() for result in each.results}

    @functools.cached_property
    def _names(self) -> set[str]:
        arguments = (value for block in blocks_inside(self.module) for value in block.arguments)
        return {value.name for value in itertools.chain(self.makers, arguments)}

    def value(self, like: Value, type_: Type | None = None) -> Value:
        """A new value, named after another one; of its type where no other is given."""
        stem = like.name.replace("#", "_")
        numbers = itertools.count(self._next.get(stem, 0))
        number = next(each for each in numbers if f"{stem}_{each}" not in self._names)
        self._next[stem] = number + 1
        self._names.add(f"{stem}_{number}")
        return Value(f"{stem}_{number}", type_ or like.type)

    def operation(
        self,
        name: str,
        operands: Sequence[Value],
        results: Sequence[Value],
        attributes: dict[str, Attribute],
        line: str,
        regions: Sequence[Region] = (),
    ) -> Operation:
        """A new operation, which counts as a use of its operands; the caller puts it somewhere."""
        for operand in operands:
            operand.uses += 1
        made = Operation(name, [*operands], [*results], attributes, [*regions], [], line)
        self.makers.update(dict.fromkeys(results, made))
        return made

    def set_operands(self, operation: Operation, operands: Sequence[Value]) -> None:
        """Have an operation take other operands."""
        for operand in operands:
            operand.uses += 1
        for operand in operation.operands:
            operand.uses -= 1
        operation.operands = [*operands]

    def set_operand(self, operation: Operation, place: int, operand: Value) -> None:
        """Have an operation take another operand in one place."""
        operands = [*operation.operands]
        operands[place] = operand
        self.set_operands(operation, operands)

    def erase(self, block: Block, operation: Operation) -> None:
        """Take an operation without regions, whose results are unused, out of a block."""
        self.set_operands(operation, [])
        for result in operation.results:
            del self.makers[result]
        block.operations.remove(operation)

    def erase_unused(self, function: Operation, may_go: Callable[[Operation], bool]) -> None:
        """Take out the operations that may go and whose results nothing asks for."""
        for block in reversed(blocks_inside(function)):
            for each in reversed([*block.operations]):
                if may_go(each) and not any(result.uses for result in each.results):
                    self.erase(block, each)

    def copy(self, region: Region) -> Region:
        """The same region with values of its own."""
        copies: dict[Value, Value] = {}
        return Region([self._copied_block(block, copies) for block in region.blocks])

    def written_out(self, block: Block, arguments: Sequence[Value]) -> list[Operation]:
        """A block's operations once more, with values of their own and others for its arguments."""
        copies = dict(zip(block.arguments, arguments, strict=True))
        return list(self._copied_operations(block, copies))

    def replace(self, values: Mapping[Value, Value]) -> None:
        """Have all operations take other values in place of the given ones."""
        for operation in self.module.walk():
            if not values.keys().isdisjoint(operation.operands):
                taken = [values.get(operand, operand) for operand in operation.operands]
                self.set_operands(operation, taken)

    def _copied_block(self, block: Block, copies: dict[Value, Value]) -> Block:
        arguments = [self._copied(value, copies) for value in block.arguments]
        return Block(block.label, arguments, list(self._copied_operations(block, copies)))

    def _copied_operations(self, block: Block, copies: dict[Value, Value]) -> Iterator[Operation]:
        for each in block.operations:
            regions = [
                Region([self._copied_block(inner, copies) for inner in region.blocks])
                for region in each.regions
            ]
            operands = [copies.get(operand, operand) for operand in each.operands]
            results = [self._copied(result, copies) for result in each.results]
            attributes = dict(each.attributes)
            made = self.operation(each.name, operands, results, attributes, each.line, regions)
            made.successors = [*each.successors]
            yield made

    def _copied(self, value: Value, copies: dict[Value, Value]) -> Value:
        copies[value] = self.value(value)
        return copies[value]


@dataclass
class Written:
    """New operations, one after another, which the caller puts somewhere.

    Args:
        like: what results are named after.
        line: of the kernel.
    """

    rewriter: Rewriter
    like: Value
    line: str
    operations: list[Operation] = field(default_factory=list)

    def write(self, name: str, type_: Type, *operands: Value, **attributes: Attribute) -> Value:
        """The result of a new operation."""
        result = self.rewriter.value(self.like, type_)
        made = self.rewriter.operation(name, operands, [result], attributes, self.line)
        self.operations.append(made)
        return result

    def number(self, type_: Type, number: float) -> Value:
        """A constant, or a block that is filled with it."""
        value = DenseAttribute(type_, (number,)) if isinstance(type_, TensorType) else number
        return self.write("arith.constant", type_, value=value)

    def compare(self, predicate: str, left: Value, right: Value) -> Value:
        """The truth values of a comparison, by LLVM's name of its predicate."""
        element, truth = element_type(left.type), ScalarType("i1")
        is_float = isinstance(element, ScalarType) and element.is_float
        name, type_ = "arith.cmpf" if is_float else "arith.cmpi", left.type
        truths = TensorType(type_.shape, truth) if isinstance(type_, TensorType) else truth
        number = PREDICATES[name].index(predicate)
        return self.write(name, truths, left, right, predicate=number)

    def repeated(self, value: Value, type_: TensorType, axis: int) -> Value:
        """A block of what a reduction along a dimension gives, which is one number or a line."""
        if not value.shape:
            return self.write("tt.splat", type_, value)
        column = TensorType((*type_.shape[:axis], 1, *type_.shape[axis + 1 :]), type_.element)
        return self.write(
            "tt.broadcast", type_, self.write("tt.expand_dims", column, value, axis=axis)
        )


# Shorter floats lose too much in longer sums.
_MIN_FLOAT_BITS = 32


@dataclass(frozen=True)
class Carried:
    """One of the values that an `scf.for` carries, by its number."""

    loop: Operation
    number: int

    @property
    def start(self) -> Value:
        """Before the loop."""
        return self.loop.operands[3 + self.number]

    @property
    def argument(self) -> Value:
        """At the beginning of a turn."""
        return self.loop.regions[0].block.arguments[1 + self.number]

    @property
    def yielded(self) -> Value:
        """At its end."""
        return self.loop.regions[0].block.operations[-1].operands[self.number]

    @property
    def result(self) -> Value:
        """Behind the loop."""
        return self.loop.results[self.number]

    def update(self, makers: Mapping[Value, Operation]) -> Operation | None:
        """What adds to it once a turn, if nothing else asks for it, and sums may be longer."""
        update, element = makers.get(self.yielded), element_type(self.argument.type)
        if not isinstance(element, ScalarType) or update is None:
            return None
        is_short = element.is_float and element.bits < _MIN_FLOAT_BITS
        is_in_turn = update in self.loop.regions[0].block.operations
        is_only_use = self.argument.uses == 1 == self.yielded.uses
        asks = is_in_turn and is_only_use and self.argument in update.operands
        return update if asks and not is_short else None

    def added(self, update: Operation) -> Value:
        """What is added to it."""
        (value,) = (each for each in update.operands if each is not self.argument)
        return value

    def start_with(self, start: Value, rewriter: Rewriter) -> None:
        """Have the loop start with another value."""
        rewriter.set_operand(self.loop, 3 + self.number, start)

    def set_type(self, type_: Type, update: Operation) -> None:
        """Have turns carry another type, to which `update` adds."""
        for value in (self.argument, update.result):
            value.type = type_


def carried_by(loop: Operation) -> list[Carried]:
    """All that a loop carries."""
    return [Carried(loop, number) for number in range(len(loop.results))]
