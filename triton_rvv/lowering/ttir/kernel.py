"""A module of the IR as one kernel: its functions, and what passes ask of it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.errors import CompileError
from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType
from triton_rvv.lowering.ttir.access import Access
from triton_rvv.lowering.ttir.aliasing import Aliases
from triton_rvv.lowering.ttir.demanded_elements import DemandedElements
from triton_rvv.lowering.ttir.known_integers import KnownIntegers
from triton_rvv.targets.target import Target

__all__ = ["FoundTable", "Kernel"]


@dataclass(frozen=True)
class FoundTable:
    """Elements that a load gathers from.

    Args:
        count: how many there are at most.
        places: their numbers, from 0.
        argument: what the first one's address is reckoned from.
    """

    count: int
    places: Value
    argument: Value


class Kernel:
    """What every pass takes.

    Args:
        module: a `builtin.module` with one public function; passes rewrite it in place.
        values: for each argument its value, where that is the same in every run.
        grid: programs along x, y and z, where they are the same in every run.

    Attributes:
        accesses: what is known of loads and stores of blocks; see `infer_access`.
        later_rows: for some loads in loops, the addresses of a later turn; see `find_chosen_rows`.
        every_other: for some loads, the block of which they are loaded from the halves of even
            numbers; see `find_every_other`.
        small_tables: for some loads, the places they gather from; see `find_small_tables`.
    """

    def __init__(
        self,
        module: Operation,
        target: Target,
        arguments_are_disjoint: bool,
        values: Sequence[int | None] = (),
        grid: Sequence[int] | None = None,
    ) -> None:
        self.module = module
        self.grid = grid
        self.target = target
        self._values = values
        self.arguments_are_disjoint = arguments_are_disjoint
        self._apart: list[tuple[Value, Value]] = []
        self.accesses: dict[Operation, Access] = {}
        self.later_rows: dict[Operation, Value] = {}
        self.every_other: dict[Operation, Value] = {}
        self.small_tables: dict[Operation, FoundTable] = {}

    @functools.cached_property
    def functions(self) -> Mapping[str, Operation]:
        """The functions of the module by name."""
        operations = self.module.regions[0].block.operations
        return {str(operation.attributes["sym_name"]): operation for operation in operations}

    @functools.cached_property
    def function(self) -> Operation:
        """The kernel itself.

        Raises:
            CompileError: where there is not one public function.
        """
        functions = self.functions.values()
        public = [op for op in functions if op.attributes.get("sym_visibility") == "public"]
        if len(public) != 1:
            raise CompileError("a module with one public function was expected")
        return public[0]

    @property
    def name(self) -> str:
        """The name of the kernel's function."""
        return str(self.function.attributes["sym_name"])

    @property
    def argument_types(self) -> tuple[str, ...]:
        """MLIR's type name of each of the kernel's arguments, "ptr" for any pointer."""
        types = (argument.type for argument in self.function.regions[0].blocks[0].arguments)
        return tuple(type_.name if isinstance(type_, ScalarType) else "ptr" for type_ in types)

    @functools.cached_property
    def has_product(self) -> bool:
        """Whether matrices are multiplied."""
        return any(op.name in ("tt.dot", "tt.dot_scaled") for op in self.module.walk())

    @functools.cached_property
    def operations(self) -> Sequence[Operation]:
        """All operations, outermost first, once no pass makes or moves any more."""
        return [*self.module.walk()]

    @functools.cached_property
    def makers(self) -> Mapping[Value, Operation]:
        """The operation that gives each result, of those."""
        return {result: each for each in self.operations for result in each.results}

    @functools.cached_property
    def known_integers(self) -> KnownIntegers:
        """Scalars that are the same in every run, once no pass makes scalars any more."""
        return self.integers_so_far()

    def integers_so_far(self) -> KnownIntegers:
        """Scalars that are the same in every run, of those that there are now."""
        arguments = self.function.regions[0].blocks[0].arguments
        pairs = zip(arguments, self._values, strict=False)
        known = {argument: value for argument, value in pairs if value is not None}
        for operation in self.module.walk():
            if self.grid is not None and operation.name == "tt.get_num_programs":
                known[operation.result] = self.grid[operation.integer("axis")]
        return KnownIntegers(self.module, known)

    @functools.cached_property
    def demanded(self) -> DemandedElements:
        """Which part of each block anybody asks for, once no pass makes other blocks any more."""
        return DemandedElements(self.functions.values())

    @functools.cached_property
    def aliases(self) -> Aliases:
        """Which pointers can lead to the same memory, once no pass changes pointers any more."""
        aliases = Aliases(self.function, self.arguments_are_disjoint)
        for loaded, stored in self._apart:
            aliases.rely_on_apart(loaded, stored, False)
        return aliases

    def may_reorder(self, pairs: Sequence[tuple[Operation, Operation]]) -> bool:
        """Whether loads and stores may change their order with stores.

        If so, code relies from then on on their arguments to be disjoint.

        Args:
            pairs: of a load or store, and of a store, whose order changes.
        """
        aliases = Aliases(self.function, self.arguments_are_disjoint)
        pointers = [(one.operands[0], other.operands[0]) for one, other in pairs]
        if not self.arguments_are_disjoint or any(aliases.may_overlap(*pair) for pair in pointers):
            return False
        # Passes may take the pointers away, but no argument.
        self._apart += [
            pair
            for loaded, stored in pointers
            for pair in itertools.product(aliases.origins(loaded), aliases.origins(stored))
        ]
        return True
