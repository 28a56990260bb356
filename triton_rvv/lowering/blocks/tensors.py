"""Tensors during lowering: values that can be asked for any run of neighbouring elements.

A tensor is not a value in LLVM but a recipe. `Tensor.at(builder, point)` writes the code that
computes `point.width` neighbours of one row. An operation on tensors only makes a new recipe; a
sink (a store, a reduction, a dot product, a loop's carried value) walks over the elements and
asks, so that a chain of element-wise operations becomes one loop without intermediate arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton_rvv.frontend.types import PointerType, ScalarType, TensorType
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val

if TYPE_CHECKING:
    from triton_rvv.lowering.blocks.buffer import Buffer

__all__ = [
    "ANY_PATH",
    "EXPENSIVE",
    "PLAIN_PATH",
    "Elementwise",
    "Extents",
    "Path",
    "Point",
    "Splat",
    "Tensor",
    "guards_of_all",
    "memory_type",
]

# Dividing or exponentiating again costs more than keeping the result in the L1 cache.
EXPENSIVE = 8


@dataclass(frozen=True)
class Path:
    """What is known at run time of the block on this path through the code.

    Args:
        linear: every table of positions is linear, so that addresses are.
        unmasked: every comparison in a mask that has a guard holds for the whole block.
        rows_inside: what masks say of whole runs holds for those that are visited.
        columns_inside: what masks say of leading and of last lanes holds for them.
        fits: no 32-bit sum in an address or a mask wraps before it is widened.
        plain_columns: how many leading columns of every row are on the plain path, as i64; None
            where that is not known.
        starts: where tables begin that are linear for this part of the block only.
        origin: where the part begins, as i64; None for the whole block.
    """

    linear: bool = False
    unmasked: bool = False
    rows_inside: bool = False
    columns_inside: bool = False
    fits: bool = False
    plain_columns: Val | None = None
    starts: Mapping[object, Val] = field(default_factory=dict)
    origin: Val | None = None


# How many leading positions of each dimension are meant, as i64; None for all of them.
Extents = Sequence[Val | None]

ANY_PATH = Path()
PLAIN_PATH = Path(linear=True, unmasked=True, fits=True)

# Rows further on than this are often driven out of a cache of 4 ways before their turn comes.
ROWS_AHEAD = 4


@dataclass(frozen=True)
class Point:
    """Where to evaluate: a run of `width` neighbours in row-major order.

    Runs stay within a row, except in blocks with rows so short that a run takes several of them
    whole. `Tensor.spans_rows` says whether a recipe can do that.

    Args:
        index: the position in each dimension but the last, as i64.
        start: the position of the first element in the last dimension, as i64.
        width: how many elements; one of them is a scalar, more are a vector.
        path: what is known of the whole block here.
        memo: what has been computed already at the same place in the code.
        number: of the first element in row-major order, where blocks are walked by it.
        rows_ahead: how many rows further on a load asks for what comes next.
        rows_together: how many neighbouring rows are visited side by side.
        row_runs: how many runs of a row are visited before the next row is.
        lanes: how many of the elements are wanted, as i64, where not all; loads leave others alone.
        clears: whether loads have what is behind those lanes be 0, or their `other`.
    """

    index: tuple[Val, ...]
    start: Val
    width: int
    path: Path = ANY_PATH
    memo: dict[object, Val] = field(default_factory=dict, compare=False)
    number: Val | None = None
    rows_ahead: int = ROWS_AHEAD
    rows_together: int = 1
    row_runs: int = 1
    lanes: Val | None = None
    clears: bool = False

    @property
    def coordinates(self) -> tuple[Val, ...]:
        """The position of the first element in every dimension."""
        return (*self.index, self.start)


class Tensor(ABC):
    """A recipe for the elements of a block.

    Attributes:
        type: shape and element type.
        operands: the recipes it is made from.
        cost: roughly the arithmetic instructions to compute one element again.
        depth: how many recipes are nested in one another from here down to arrays.
        uses: how many operands in the kernel are this block.
        finished: how many of the uses are over, because a sink has evaluated them.
        filling: the array that a sink on its way puts the elements into.
        region: the loop or branch that it was made in.
        settled: the array with the elements, once they have been computed for good.
        walks: how many sinks have walked over its elements.
        mark: the builder's, where the kernel's line is that the recipe comes from.
    """

    def __init__(self, type_: TensorType, operands: Sequence[Tensor] = (), cost: int = 0) -> None:
        self.type = type_
        self.operands = tuple(operands)
        self.cost: int = cost + sum(operand.cost for operand in operands)
        self.depth: int = 1 + max((0 if o.settled else o.depth for o in operands), default=0)
        self.uses = 0
        self.finished = 0
        self.filling: Buffer | None = None
        self.walks = 0
        self.region = 0
        self.settled: Buffer | None = None
        self.mark = ""
        self._recipe = (self.operands, self.cost)

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each dimension."""
        return self.type.shape

    @property
    def element(self) -> ScalarType | PointerType:
        """The type of one element."""
        return self.type.element

    def at(self, builder: Builder, point: Point) -> Val:
        """Elements at `point`: a scalar where the width is 1, and a vector otherwise."""
        if self.settled is not None:
            return self.settled.at(builder, point)
        key = (id(self), point.index, point.start, point.width)
        if key not in point.memo:
            mark, builder.mark = builder.mark, self.mark or builder.mark
            self.remember(builder, point, self.evaluate(builder, point))
            builder.mark = mark
        return point.memo[key]

    def remember(self, builder: Builder, point: Point, value: Val) -> None:
        """Have `at` give for a point what has been computed already."""
        point.memo[id(self), point.index, point.start, point.width] = value
        if self.filling is not None:
            self.filling.write(builder, point, value)

    @property
    def is_by_column(self) -> bool:
        """Whether memory holds the elements of a column one after another, and not those of a row.

        Of such a recipe `square_at` is quicker than `at`.
        """
        return False

    def square_at(self, builder: Builder, points: Sequence[Point]) -> list[Val]:
        """Elements at points on the plain path, as many one below the other as each is wide."""
        return [self.at(builder, point) for point in points]

    @abstractmethod
    def evaluate(self, builder: Builder, point: Point) -> Val:
        """Write the code that computes the elements at `point`."""

    @property
    def is_over(self) -> bool:
        """Whether nothing will ask for the elements again.

        A recipe without uses in the kernel is a part of one other.
        """
        return self.finished >= max(self.uses, 1)

    def finish(self) -> None:
        """A use is over; once all are, so is a use of each operand."""
        was_over = self.is_over
        self.finished += 1
        if self.is_over and not was_over:
            for operand in self.operands:
                operand.finish()

    def settle(self, buffer: Buffer) -> None:
        """From now on the elements are those in `buffer`."""
        if not self.is_over:
            for operand in self.operands:
                operand.finish()
        self._recipe = (self.operands, self.cost)
        self.settled = buffer
        self.operands = (buffer,)
        self.cost = 0

    def unsettle(self) -> None:
        """Back to the recipe: the array need not have been written where the code goes on."""
        self.settled = None
        self.operands, self.cost = self._recipe

    def plain_guards(self, builder: Builder) -> list[Val]:
        """Truth values that, where all of them hold, put a point on the plain path."""
        return [*self.fit_guards(), *self.linear_guards(), *self.mask_guards(builder)]

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        """Like `plain_guards`, for points in the leading part of the block that `extents` says.

        None for a recipe that cannot be asked for some lanes of a run only.
        """
        return None

    def zero_from(self, builder: Builder, axis: int) -> Val | None:
        """A position along an axis from which on all elements are 0, as i64, where one is known."""
        return None

    def linear_guards(self) -> list[Val]:
        """Truth values that, where all of them hold, put a point on a linear path."""
        return [guard for tensor in self.walk() for guard in tensor.own_linear_guards()]

    def fit_guards(self) -> list[Val]:
        """Truth values that, where all of them hold, put a point on a path where sums fit."""
        return [guard for tensor in self.walk() for guard in tensor.own_fit_guards()]

    def mask_guards(self, builder: Builder) -> list[Val]:
        """Truth values that, where all of them hold, put a point on an unmasked path."""
        return [guard for tensor in self.walk() for guard in tensor.own_mask_guards(builder)]

    def buffers(self) -> frozenset[str]:
        """The names of the stack arrays that evaluation reads."""
        return frozenset().union(*(tensor.own_buffers() for tensor in self.walk()))

    def widest_bits(self) -> int:
        """The width of the widest element on the way, which decides how many fit a register."""
        return max(tensor.own_bits() for tensor in self.walk())

    def walk(self) -> Iterable[Tensor]:
        """This recipe and all those under it, each of them once however often it is used."""
        found: dict[Tensor, None] = {}
        waiting: list[Tensor] = [self]
        while waiting:
            tensor = waiting.pop()
            if tensor not in found:
                found[tensor] = None
                waiting.extend(tensor.operands)
        return found

    @property
    def spans_rows(self) -> bool:
        """Whether runs may take several short rows at once."""
        return all(tensor.settled or tensor._itself_spans_rows for tensor in self.walk())

    @property
    def _itself_spans_rows(self) -> bool:
        return self.own_spans_rows and (self.filling is None or self.filling.is_row_major)

    @property
    def own_spans_rows(self) -> bool:
        """Whether this recipe is one for such runs, given that its operands are."""
        return False

    @property
    def own_stays_in_place(self) -> bool:
        """Whether an element is made of the operands' elements at the same place."""
        return False

    @property
    def own_reads_again(self) -> bool:
        """Whether to read the elements from memory again takes no longer than from an array."""
        return False

    def own_linear_guards(self) -> list[Val]:
        """The linear guards that this recipe adds to those of its operands."""
        return []

    def own_fit_guards(self) -> list[Val]:
        """The guards of sums that this recipe adds to those of its operands."""
        return []

    def own_mask_guards(self, builder: Builder) -> list[Val]:
        """The mask guards that this recipe adds to those of its operands."""
        return []

    def own_buffers(self) -> frozenset[str]:
        """The arrays that this recipe reads besides its operands."""
        return frozenset()

    def own_bits(self) -> int:
        """The width of this recipe's own elements in a vector register."""
        return self.element.bits

    @property
    def lies_by_column(self) -> bool:
        """Whether what it reads from memory has neighbours of a column next to one another."""
        return any(operand.lies_by_column for operand in self.operands)

    @property
    def panel_bits(self) -> int:
        """Panels of an array of this block are as wide as runs of elements of so many bits."""
        return self.element.bits

    def own_memory_bits(self) -> int:
        """The width of the elements in memory that this recipe reads, or leads to; 0 for none."""
        return 0

    @property
    def own_cost(self) -> int:
        """The part of the cost that is not its operands'."""
        return self.cost - sum(operand.cost for operand in self.operands)


class Splat(Tensor):
    """One scalar in every element."""

    def __init__(self, type_: TensorType, value: Val) -> None:
        super().__init__(type_)
        self.value = value

    def evaluate(self, builder: Builder, point: Point) -> Val:
        return builder.splat(self.value, point.width)

    @property
    def own_stays_in_place(self) -> bool:
        return True

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        return []

    @property
    def own_spans_rows(self) -> bool:
        return True

    def own_bits(self) -> int:
        # A scalar takes no vector register in most instructions.
        return 8


class Elementwise(Tensor):
    """A function of the operands' elements at the same place.

    Args:
        type_: shape and element type.
        emit: writes the code of the function.
        operands: what it is a function of.
        cost: roughly its instructions.
        keeps_zero: whether it makes 0 of zeros.
    """

    def __init__(
        self,
        type_: TensorType,
        emit: Callable[[Builder, Sequence[Val]], Val],
        operands: Sequence[Tensor],
        cost: int = 1,
        keeps_zero: bool = False,
    ) -> None:
        super().__init__(type_, operands, cost)
        self._own_cost = cost
        self._emit = emit
        self._keeps_zero = keeps_zero

    def on(self, type_: TensorType, operands: Sequence[Tensor]) -> Elementwise:
        """The same function of other operands."""
        return Elementwise(type_, self._emit, operands, self._own_cost, self._keeps_zero)

    def evaluate(self, builder: Builder, point: Point) -> Val:
        values = [operand.at(builder, point) for operand in self.operands]
        numbers = [builder.repeated(value) for value in values]
        if numbers and all(numbers):
            # One number for all lanes is computed once.
            return builder.splat(self._emit(builder, [n for n in numbers if n]), point.width)
        return self._emit(builder, values)

    @property
    def own_stays_in_place(self) -> bool:
        return True

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        return guards_of_all(builder, self.operands, extents)

    def zero_from(self, builder: Builder, axis: int) -> Val | None:
        return self._recipe[0][0].zero_from(builder, axis) if self._keeps_zero else None

    def own_bits(self) -> int:
        # Floats that are kept as bits are computed with in float32.
        around = (self, *self.operands)
        wide = 32 if any(_is_kept_as_bits(tensor.element) for tensor in around) else 8
        return max(self.element.bits, wide)

    @property
    def own_spans_rows(self) -> bool:
        return True


def guards_of_all(
    builder: Builder, tensors: Iterable[Tensor], extents: Extents
) -> list[Val] | None:
    """The guards of several recipes of one shape, where all of them have such."""
    total: list[Val] = []
    for tensor in tensors:
        guards = [] if tensor.settled else tensor.guards_within(builder, extents)
        if guards is None:
            return None
        total += guards
    return total


def _is_kept_as_bits(element: ScalarType | PointerType) -> bool:
    return isinstance(element, ScalarType) and element.is_kept_as_bits


def memory_type(element: ScalarType | PointerType) -> str:
    """LLVM's type of an element in memory: truth values take a byte."""
    return "i8" if element.bits == 1 else element.llvm
