"""Tensors during lowering: values that can be asked for any run of neighbouring elements.

A tensor is not a value in LLVM but a recipe. `Tensor.at(builder, point)` writes the code that
computes `point.width` neighbours of one row. An operation on tensors only makes a new recipe; a
sink (a store, a reduction, a dot product, a loop's carried value) walks over the elements and
asks, so that a chain of element-wise operations becomes one loop without intermediate arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence

from triton_rvv.frontend.types import PointerType, ScalarType, TensorType
from triton_rvv.lowering.blocks.vector_index import Extents, LoopVersion, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val

__all__ = ["EXPENSIVE", "MAX_DEPTH", "Array", "Tensor", "recipes_in_columns", "recipes_under"]

# Dividing or exponentiating again costs more than keeping the result in the L1 cache.
EXPENSIVE = 8

# Recipes are evaluated by recursion, of which Python allows so much; `tl.static_range` makes long
# chains of them.
MAX_DEPTH = 64


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
        materialised: the array with the elements, once they have been computed for good.
        walks: how many sinks have walked over its elements.
        mark: the builder's, where the kernel's line is that the recipe comes from.
    """

    def __init__(self, type_: TensorType, operands: Sequence[Tensor] = (), cost: int = 0) -> None:
        self.type = type_
        self.operands = tuple(operands)
        self.cost: int = cost + sum(operand.cost for operand in operands)
        self.depth: int = 1 + max((0 if o.materialised else o.depth for o in operands), default=0)
        self.uses = 0
        self.finished = 0
        self.filling: Array | None = None
        self.walks = 0
        self.region = 0
        self.materialised: Array | None = None
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

    def at(self, builder: Builder, point: VectorIndex) -> Val:
        """Elements at `point`: a scalar where the width is 1, and a vector otherwise."""
        if self.materialised is not None:
            return self.materialised.at(builder, point)
        key = (id(self), point.index, point.start, point.width)
        if key not in point.memo:
            mark, builder.mark = builder.mark, self.mark or builder.mark
            self.remember(builder, point, self.evaluate(builder, point))
            builder.mark = mark
        return point.memo[key]

    def remember(self, builder: Builder, point: VectorIndex, value: Val) -> None:
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

    def square_at(self, builder: Builder, points: Sequence[VectorIndex]) -> list[Val]:
        """Elements at points on the plain path, as many one below the other as each is wide."""
        return [self.at(builder, point) for point in points]

    @abstractmethod
    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
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

    def materialise_in(self, array: Array) -> None:
        """From now on the elements are those in `array`."""
        if not self.is_over:
            for operand in self.operands:
                operand.finish()
        self._recipe = (self.operands, self.cost)
        self.materialised = array
        self.operands = (array,)
        self.cost = 0

    def rematerialise(self) -> None:
        """Back to the recipe: the array need not have been written where the code goes on."""
        self.materialised = None
        self.operands, self.cost = self._recipe

    def plain_guards(self, builder: Builder) -> list[Val]:
        """Truth values that, where all of them hold, put a point on the plain path."""
        return [*self.fit_guards(), *self.linear_guards(), *self.mask_guards(builder)]

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        """Like `plain_guards`, for points in the leading part of the block that `extents` says.

        None for a recipe that cannot be asked for some lanes of a run only.
        """
        return None

    def extents_below(self, extents: Extents) -> Extents:
        """The leading part of an operand that a leading part of the block is made of."""
        return extents

    def is_one_number(self, version: LoopVersion) -> bool:
        """Whether `at` gives one number for all lanes wherever that version of a loop goes."""
        return False

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
        return all(tensor.materialised or tensor._itself_spans_rows for tensor in self.walk())

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
    def own_keeps_columns(self) -> bool:
        """Whether an element is made of the operands' elements in the same column."""
        return self.own_stays_in_place

    @property
    def own_is_of_rows(self) -> bool:
        """Whether each row has one number, which says nothing of columns to its operands."""
        return False

    @property
    def own_reads_again(self) -> bool:
        """Whether to read the elements from memory again takes no longer than from an array."""
        return False

    @property
    def own_mask(self) -> Tensor | None:
        """The operand that says which elements are read from memory, if there is one."""
        return None

    @property
    def own_shares_rows(self) -> bool:
        """Whether it reads what is also read for other rows that are visited side by side."""
        return False

    def own_repeated(self, axis: int) -> tuple[Tensor, ...]:
        """What it repeats along a dimension: -2 for all rows, -1 for all columns."""
        return ()

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


class Array(Tensor):
    """A block whose elements lie in memory, where they can be changed."""

    @property
    @abstractmethod
    def is_row_major(self) -> bool:
        """Whether the elements lie in row-major order."""

    @abstractmethod
    def write(self, builder: Builder, point: VectorIndex, value: Val) -> None:
        """Store the elements at `point`, of which others than the wanted ones stay as they are."""


def recipes_in_columns(tensors: Iterable[Tensor]) -> Collection[Tensor] | None:
    """The recipes that make some blocks, without those of numbers that rows have.

    None where others than elements of the same column are asked for.
    """
    found: dict[Tensor, None] = {}
    waiting = [*tensors]
    while waiting:
        tensor = waiting.pop()
        if tensor in found:
            continue
        found[tensor] = None
        is_kept = tensor.materialised is not None
        if not is_kept and tensor.own_is_of_rows:
            continue
        if not (is_kept or tensor.own_keeps_columns):
            return None
        waiting.extend(tensor.operands)
    return found


def recipes_under(tensors: Iterable[Tensor]) -> Collection[Tensor]:
    """All recipes that make some blocks, each of them once."""
    return dict.fromkeys(each for tensor in tensors for each in tensor.walk())
