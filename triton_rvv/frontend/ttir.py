"""Reads Triton's IR from MLIR's generic text into plain Python objects.

The generic form writes every operation the same way,

    %r:2 = "dialect.name"(%a, %b) <{property = ...}> ({ regions }) {attribute = ...}
        : (operand types) -> result types loc(#loc7)

so that one small grammar reads all of TTIR, in every Triton release from 3.6 on. Values keep
their textual names, which are unique in a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from triton_rvv.errors import CompileError
from triton_rvv.frontend.attributes import Attribute, parse_dictionary
from triton_rvv.frontend.known_assembly import ASSEMBLY, as_function
from triton_rvv.frontend.locations import Locations
from triton_rvv.frontend.types import TensorType, Type, parse_type

__all__ = ["Block", "Operation", "Region", "Value", "parse_module"]


@dataclass(eq=False, slots=True)
class Value:
    """An SSA value: an operation's result or a block's argument."""

    name: str
    type: Type
    uses: int = 0

    @property
    def block(self) -> TensorType:
        """The type of a block; no scalar has one."""
        assert isinstance(self.type, TensorType)
        return self.type

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of a block; none of a scalar."""
        return self.type.shape if isinstance(self.type, TensorType) else ()


@dataclass(eq=False, slots=True)
class Block:
    """Operations in order; `label` is empty for the only block of a region."""

    label: str
    arguments: list[Value]
    operations: list[Operation] = field(default_factory=list)

    def put_before(self, place: Operation, made: Sequence[Operation]) -> None:
        """Put operations before one of the block's."""
        at = self.operations.index(place)
        self.operations[at:at] = made

    def put_behind(self, place: Operation, made: Sequence[Operation]) -> None:
        """Put operations behind one of the block's."""
        at = self.operations.index(place) + 1
        self.operations[at:at] = made


@dataclass(eq=False, slots=True)
class Region:
    """The blocks of one region, the entry first."""

    blocks: list[Block]

    @property
    def block(self) -> Block:
        """The only block.

        Raises:
            CompileError: where control flow splits inside the region.
        """
        if len(self.blocks) != 1:
            raise CompileError("a region has several blocks where one was expected")
        return self.blocks[0]


@dataclass(eq=False, slots=True)
class Operation:
    """One operation; `attributes` holds properties and discardable attributes alike."""

    name: str
    operands: list[Value]
    results: list[Value]
    attributes: dict[str, Attribute]
    regions: list[Region]
    successors: list[str]
    line: str = ""

    @property
    def result(self) -> Value:
        """The only result."""
        (result,) = self.results
        return result

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer attribute.

        Raises:
            CompileError: where it is missing or not an integer, and no default is given.
        """
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise CompileError(f"{self.name} has no integer attribute {name}", self.line)
        return value

    def integers(self, name: str) -> list[int]:
        """An attribute that is a list of integers; empty where it is missing."""
        value = self.attributes.get(name, [])
        if not isinstance(value, list):
            raise CompileError(f"attribute {name} of {self.name} is not a list", self.line)
        return [item for item in value if isinstance(item, int)]

    @property
    def edges(self) -> list[tuple[str, list[Value]]]:
        """For a terminator: the label of each block that may follow, and the values it is given."""
        if self.name != "cf.cond_br":
            return [(label, self.operands) for label in self.successors]
        _, first, second = self.integers("operandSegmentSizes")
        given = self.operands[1 : first + 1], self.operands[first + 1 : first + second + 1]
        return list(zip(self.successors, given, strict=True))

    def walk(self) -> Iterator[Operation]:
        """This operation and all those inside its regions, outermost first."""
        waiting = [self]
        while waiting:
            operation = waiting.pop()
            yield operation
            for region in reversed(operation.regions):
                for block in reversed(region.blocks):
                    waiting += reversed(block.operations)


_NAME = re.compile(r"%[\w$.\-]+(?:#\d+)?")
_RESULTS = re.compile(r"(%[\w$.\-]+(?:#\d+)?)(?::(\d+))?\s*([,=])\s*")
_OP_NAME = re.compile(r'"([\w.]+)"\(')
_LABEL = re.compile(r"\^([\w$.\-]+)")
_SPACE = re.compile(r"(?:\s+|//[^\n]*)+")
_SPACES = " \n\t\r/"  # what that begins with
_BRACKET = re.compile(r'"|->|[<({\[>)}\]]')
_TYPE_STOP = re.compile(r"[<(>), \n]")
_LOC_USE = re.compile(r"loc\((#loc\d*)\)")


def parse_module(text: str) -> Operation:
    """Read a module printed in generic form.

    Args:
        text: what MLIR prints for the module, with or without locations.

    Returns:
        The `builtin.module` operation.

    Raises:
        CompileError: where the text is not in generic form or cannot be read.
    """
    start = text.find('"builtin.module"')
    if start < 0:
        raise CompileError("the module is not in MLIR's generic form")
    return _Parser(text, start, Locations(text)).operation()


class _Parser:
    """Recursive descent over the text, from `position` on."""

    def __init__(self, text: str, position: int, locations: Locations) -> None:
        self._text = text
        self._position = position
        self._locations = locations
        self._values: dict[str, Value] = {}

    def operation(self) -> Operation:
        names = self._result_names()
        name = self._match(_OP_NAME)[1]
        operands = self._names_until(")")
        successors = self._successors()
        attributes: dict[str, Attribute] = {}
        if self._accept("<{"):
            attributes.update(parse_dictionary(self._balanced_until("}>")))
        regions = self._regions()
        if self._accept("{"):
            attributes.update(parse_dictionary(self._balanced_until("}")))
        result_types = self._function_type()
        results = [self._define(*pair) for pair in zip(names, result_types, strict=True)]
        line = self._location()
        if name == ASSEMBLY:
            types = [operand.type for operand in operands]
            name, attributes = as_function(attributes, types, result_types) or (name, attributes)
        return Operation(name, operands, results, attributes, regions, successors, line)

    def _result_names(self) -> list[str]:
        self._skip()
        names: list[str] = []
        while match := _RESULTS.match(self._text, self._position):
            self._position = match.end()
            count = match[2]
            names += [match[1]] if count is None else [f"{match[1]}#{n}" for n in range(int(count))]
            if match[3] == "=":
                break
        return names

    def _names_until(self, end: str) -> list[Value]:
        values = []
        while not self._accept(end):
            name = self._match(_NAME)[0]
            value = self._values.get(name) or self._values.get(f"{name}#0")
            if value is None:
                raise CompileError(f"the IR uses {name} before it is defined")
            value.uses += 1
            values.append(value)
            self._accept(",")
        return values

    def _successors(self) -> list[str]:
        labels = []
        if self._accept("["):
            while not self._accept("]"):
                labels.append(self._match(_LABEL)[1])
                self._accept(",")
        return labels

    def _regions(self) -> list[Region]:
        regions = []
        if self._accept("("):
            while not self._accept(")"):
                self._expect("{")
                regions.append(self._region())
                self._accept(",")
        return regions

    def _region(self) -> Region:
        blocks: list[Block] = []
        while not self._accept("}"):
            self._skip()
            if label := _LABEL.match(self._text, self._position):
                self._position = label.end()
                blocks.append(Block(label[1], self._block_arguments()))
            elif not blocks:
                blocks.append(Block("", []))
            else:
                blocks[-1].operations.append(self.operation())
        return Region(blocks)

    def _block_arguments(self) -> list[Value]:
        arguments = []
        if self._accept("("):
            while not self._accept(")"):
                name = self._match(_NAME)[0]
                self._expect(":")
                arguments.append(self._define(name, self._type(",)")))
                self._location()
                self._accept(",")
        self._expect(":")
        return arguments

    def _function_type(self) -> list[Type]:
        self._expect(":")
        self._expect("(")
        self._balanced_until(")")
        self._expect("->")
        if not self._accept("("):
            return [self._type("\n")]
        types = []
        while not self._accept(")"):
            types.append(self._type(",)"))
            self._accept(",")
        return types

    def _type(self, ends: str) -> Type:
        """A type up to one of `ends` or a location, brackets balanced."""
        self._skip()
        start, depth = self._position, 0
        for stop in _TYPE_STOP.finditer(self._text, start):
            char = stop[0]
            if depth == 0 and (char in ends or char in " \n"):
                self._position = stop.start()
                return parse_type(self._text[start : self._position])
            depth += (char in "<(") - (char in ">)")
        raise CompileError("the IR ends too early")

    def _balanced_until(self, end: str) -> str:
        """The text up to `end`, a bracket, at depth 0; it is passed over. Strings are opaque."""
        start, depth, text = self._position, 0, self._text
        while stop := _BRACKET.search(text, self._position):
            at, token = stop.start(), stop[0]
            if depth == 0 and text.startswith(end, at):
                self._position = at + len(end)
                return text[start:at]
            if token == '"':
                at = text.find('"', at + 1)
            depth += (token in "<({[") - (token in ">)}]")
            self._position = at + len(token) if at >= 0 else len(text)
        raise CompileError("the IR ends too early")

    def _location(self) -> str:
        self._skip()
        if match := _LOC_USE.match(self._text, self._position):
            self._position = match.end()
            return self._locations.resolve(match[1])
        if self._accept("loc("):
            self._balanced_until(")")
        return ""

    def _define(self, name: str, type_: Type) -> Value:
        value = self._values[name] = Value(name, type_)
        return value

    def _skip(self) -> None:
        is_space = self._text[self._position : self._position + 1] in _SPACES
        if is_space and (match := _SPACE.match(self._text, self._position)):
            self._position = match.end()

    def _accept(self, token: str) -> bool:
        text = self._text
        if not text.startswith(token, self._position):  # most follow what is before them
            if text[self._position : self._position + 1] not in _SPACES:
                return False
            self._skip()
            if not text.startswith(token, self._position):
                return False
        self._position += len(token)
        return True

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            found = self._text[self._position : self._position + 60]
            raise CompileError(f"expected {token!r} in the IR but found {found!r}")

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        self._skip()
        match = pattern.match(self._text, self._position)
        if match is None:
            found = self._text[self._position : self._position + 60]
            raise CompileError(f"the IR cannot be read at {found!r}")
        self._position = match.end()
        return match
