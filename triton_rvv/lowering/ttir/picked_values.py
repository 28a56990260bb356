"""Writes what values hold for each row in one place of a dimension, in place of all of it."""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, Type, element_type
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.operation_kinds import WITHOUT_MEMORY
from triton_rvv.lowering.ttir.rewriter import Written

__all__ = [
    "NO_DIMENSION",
    "PICK",
    "PICKED",
    "Dims",
    "IsNotPicked",
    "Pick",
    "Place",
    "dims_below",
    "filled",
]

# Takes an element of a block for each of its result's. `along` has for each dimension of the block
# the one of the result in which it lies, PICKED for that of the place, and NO_DIMENSION for one of
# one element.
PICK = "triton_rvv.pick"
PICKED, NO_DIMENSION = -1, -2
# What puts a block into an array.
_KEEP = ("scf.for", "scf.if", "scf.while", "tt.scan", "tt.reduce", PICK)

# Computed once more for the element that is picked; functions would take longer than a row.
_CHEAP = ("arith.", "tt.addptr", "tt.bitcast", "tt.fp_to_fp")
_KEEPS_MEMORY = (*WITHOUT_MEMORY, "tt.load", "tt.reduce", "tt.get_", "tt.dot", "scf.yield")
_MOST_OPERATIONS = 40

# For each dimension of a block, the one of the result in which it lies, or this for the one that is
# picked from; None where it has one element.
Dims = tuple[int | None, ...]


class IsNotPicked(Exception):
    """No element alone gives the result."""


@dataclass(frozen=True)
class Place:
    """Which element of a row it is.

    Args:
        number: what the line of places holds there.
        index: its number, from 0.
        inside: whether the row has it.
    """

    number: Value
    index: Value
    inside: Value


def dims_below(maker: Operation, dims: Dims) -> Dims:
    """The dimensions of what an operation spreads."""
    if maker.name == "tt.expand_dims":
        axis = maker.integer("axis")
        return (*dims[:axis], *dims[axis + 1 :])
    sizes = zip(maker.operands[0].shape, maker.result.shape, dims, strict=True)
    return tuple(None if size == 1 < result else each for size, result, each in sizes)


def filled(made: Written, type_: Type, number: float) -> Value:
    """A block, or a scalar, of one number.

    Raises:
        IsNotPicked: for addresses.
    """
    element = element_type(type_)
    if not isinstance(element, ScalarType):
        raise IsNotPicked
    return made.number(type_, number if element.is_float else int(number))


class Pick:
    """Writes what values hold for each row in one place.

    Args:
        made: takes what is written.
        shape: of what is written; () for a scalar.
        reader: the operation before which it will stand.
        block: in which that stands.
        place: which element of a row; none yet where what is written has to be the same for all.
    """

    def __init__(
        self,
        made: Written,
        shape: tuple[int, ...],
        reader: Operation,
        block: Block,
        place: Place | None = None,
    ) -> None:
        self.made, self._shape, self._place = made, shape, place
        self._reader, self._block = reader, block
        self._found: dict[tuple[Value, Dims], Value] = {}

    def type_of(self, value: Value) -> Type:
        """The type of a value for each row."""
        element = value.block.element if value.shape else value.type
        assert not isinstance(element, TensorType)
        return TensorType(self._shape, element) if self._shape else element

    def of(self, value: Value, dims: Dims) -> Value:
        """What a value holds.

        Raises:
            IsNotPicked: where that cannot be told without its other elements.
        """
        found = self._found.get((value, dims))
        if found is None:
            if len(self.made.operations) > _MOST_OPERATIONS:
                raise IsNotPicked
            try:
                found = self._written(value, dims) if {None, PICKED} & {*dims} else None
            except IsNotPicked:
                if PICKED in dims:
                    raise
            found = found or self._spread(value, dims)
            self._found[value, dims] = found
        return found

    def _written(self, value: Value, dims: Dims) -> Value:
        """What a block holds that has other dimensions, computed in those of the result."""
        maker = self.made.rewriter.makers.get(value)
        if PICKED in dims and (maker is None or self._is_kept(maker)):
            return self._taken(value, dims)
        if maker is None:
            raise IsNotPicked
        if maker.name in ("tt.broadcast", "tt.expand_dims"):
            return self.of(maker.operands[0], dims_below(maker, dims))
        if maker.name == "tt.splat":
            return self._spread(maker.operands[0], ())
        if maker.name == "arith.constant" and (number := one_number(maker)) is not None:
            return self.made.number(self.type_of(value), number)
        if maker.name == "tt.make_range" and self._place is not None and dims == (PICKED,):
            return self._place.number
        if maker.name == "tt.load" and PICKED in dims:
            return self._loaded(maker, dims)
        if not maker.name.startswith(_CHEAP) or maker.regions or len(maker.results) != 1:
            raise IsNotPicked
        operands = [self.of(operand, dims) for operand in maker.operands]
        return self.made.write(maker.name, self.type_of(value), *operands, **maker.attributes)

    def _loaded(self, load: Operation, dims: Dims) -> Value:
        """An element of a load for each row, if memory is still the same."""
        if self._place is None or load.attributes.get("isVolatile"):
            raise IsNotPicked
        pointer, *rest = (self.of(operand, dims) for operand in load.operands)
        mask = self._place.inside
        if rest:
            mask = self.made.write("arith.andi", mask.type, mask, rest[0])
        type_ = self.type_of(load.result)
        other = rest[1] if len(rest) > 1 else filled(self.made, type_, 0)
        attributes = dict(load.attributes)
        attributes["operandSegmentSizes"] = [1, 1, 1]
        return self.made.write("tt.load", type_, pointer, mask, other, **attributes)

    def _is_kept(self, maker: Operation) -> bool:
        """Whether an array holds what an operation gives: loops keep what they carry and read."""
        is_load = maker.name == "tt.load" and not maker.attributes.get("isVolatile")
        return maker.name in _KEEP if not is_load else not self._reads_the_same(maker)

    def _taken(self, value: Value, dims: Dims) -> Value:
        """An element for each row of a block that is kept."""
        if self._place is None:
            raise IsNotPicked
        place, made = self._place.index, self.made
        number = _one_for_all(place, made)
        along = [NO_DIMENSION if each is None else each for each in dims]
        type_ = self.type_of(value)
        return made.write(PICK, type_, value, place if number is None else number, along=[*along])

    def _reads_the_same(self, load: Operation) -> bool:
        operations = self._block.operations
        if load not in operations:
            return False
        between = operations[operations.index(load) : operations.index(self._reader)]
        inside = (each for operation in between for each in operation.walk())
        return all(each.name.startswith(_KEEPS_MEMORY) or each.regions for each in inside)

    def _spread(self, value: Value, dims: Dims) -> Value:
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
            raise IsNotPicked
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


def _one_for_all(value: Value, made: Written) -> Value | None:
    """The number that a block holds in all places, as a scalar, if it is one."""
    maker = made.rewriter.makers.get(value)
    if not value.shape:
        return value
    if maker is None or maker.regions:
        return None
    if maker.name == "tt.splat":
        return maker.operands[0]
    if (number := one_number(maker)) is not None:
        return made.number(value.block.element, number)
    if maker.name in ("tt.broadcast", "tt.expand_dims", "tt.reshape"):
        return _one_for_all(maker.operands[0], made)
    if not maker.name.startswith("arith.") or maker.name == "arith.constant":
        return None
    scalars = [_one_for_all(each, made) for each in maker.operands]
    known = [each for each in scalars if each is not None]
    if len(known) < len(scalars):
        return None
    return made.write(maker.name, value.block.element, *known, **maker.attributes)
