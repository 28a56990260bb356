"""Says of each load and store where its elements lie, and how far the next ones are.

"tt.load"(%p) {triton_rvv.access = {address = "%x + 512*%pid + i0", kind = "contiguous",
                                    to_next_program = "512"}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.access import ACCESS, Access, RowsAhead, Streams
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.grid_order import GRID_ORDER
from triton_rvv.lowering.ttir.interleaved_stores import interleaved_stores
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.loop_growth import LoopGrowth
from triton_rvv.lowering.ttir.mask_conditions import MaskConditions
from triton_rvv.lowering.ttir.polynomials import (
    ONE,
    ZERO,
    Atom,
    Extended,
    Polynomial,
    Position,
    Unknown,
)
from triton_rvv.lowering.ttir.streams import block_rank, mask_of, stores_in_turn, stream_groups

__all__ = ["infer_access", "show_accesses"]


def infer_access(kernel: Kernel) -> int:
    """Finds where the elements of loads and stores lie, and how far the next ones are."""
    for function in kernel.functions.values():
        kernel.accesses.update(_Inference(kernel, function).accesses())
    return len(kernel.accesses)


def show_accesses(kernel: Kernel) -> None:
    """Give loads and stores the attribute that says it, for people."""
    for operation, access in kernel.accesses.items():
        operation.attributes[ACCESS] = access.attribute


class _Inference:
    """What is found in one function."""

    def __init__(self, kernel: Kernel, function: Operation) -> None:
        self._function = function
        self._sums = AccessFunctions(function, kernel.known_integers)
        self._masks = MaskConditions(kernel.makers, self._sums)
        groups = interleaved_stores(function)
        self._store_groups = [[*earlier, last] for last, earlier in groups.items()]
        self._turns = kernel.known_integers.turns
        self._makers = kernel.makers
        self._machine = kernel.target.machine
        self._fastest = (*kernel.function.integers(GRID_ORDER), 0)[0]
        # What is the same in all programs; other functions are called with anything.
        arguments = function.regions[0].blocks[0].arguments
        self._same = frozenset(arguments if function is kernel.function else ())

    def accesses(self) -> dict[Operation, Access]:
        """Of every load and store of a block."""
        found: dict[Operation, Access] = {}
        for block, loops in self._blocks(self._function, ()):
            here = {op: self._access(op, loops) for op in block.operations if _is_access(op)}
            addresses = {operation: access.address for operation, access in here.items()}
            stores = [group for group in self._store_groups if here.keys() >= {*group}]
            groups = [*stream_groups(block, addresses)]
            groups += [each for group in stores for each in stores_in_turn(group, addresses)]
            for group in groups:
                streams = Streams(group.stride, tuple(place for _, place in group.members))
                for operation, place in group.members:
                    here[operation] = replace(here[operation], streams=streams, place=place)
            ahead = RowsAhead()
            for operation in self._rows_to_ask_for(here, loops):
                here[operation] = replace(here[operation], ahead=ahead)
            found |= here
        return found

    def _blocks(
        self, operation: Operation, loops: tuple[LoopGrowth, ...]
    ) -> Iterator[tuple[Block, tuple[LoopGrowth, ...]]]:
        """The blocks of code inside, each with the loops around it."""
        if operation.name == "scf.for":
            loops = (*loops, LoopGrowth(operation, self._sums, self._turns(operation) == 1))
        for region in operation.regions:
            for block in region.blocks:
                yield block, loops
                for inner in block.operations:
                    yield from self._blocks(inner, loops)

    def _access(self, operation: Operation, loops: Sequence[LoopGrowth]) -> Access:
        address, mask = self._sums.of(operation.operands[0]), mask_of(operation)
        growths = [loop.growth(address) for loop in reversed(loops)]
        moves_by = next((growth for growth in growths if growth != ZERO), ZERO)
        is_repeated = not all(loop.has_one_turn for loop in loops)
        to_next = ZERO if is_repeated else address.growth(self._to_next_program)
        return Access(
            address,
            block_rank(operation),
            _computable(moves_by),
            _computable(to_next),
            self._is_denser_by_column(address, block_rank(operation)),
            () if mask is None else self._masks.of(mask),
            streams_in=bool(loops) and loops[-1].waits and not self._is_same(address, loops),
        )

    def _rows_to_ask_for(
        self, found: Mapping[Operation, Access], loops: Sequence[LoopGrowth]
    ) -> Sequence[Operation]:
        """The loads of a block of code whose rows are other ones in the next turn or program.

        None beside gathers, which read lines again: a bilinear sample took a twentieth longer. Nor
        of more rows than the core's `max_rows_beside`.
        """
        loads = {key: each for key, each in found.items() if key.name == "tt.load"}
        if any(access.kind == "gathered" for access in loads.values()):
            return []
        rows = [
            operation
            for operation, access in loads.items()
            if (access.streams is not None or access.kind in ("contiguous", "pieces"))
            and (access.moves_by if loops else access.to_next_program) != ZERO
            and not self._is_same(access.address, loops)
        ]
        apart = {loads[operation].streams or operation for operation in rows}
        return rows if len(apart) <= self._machine.max_rows_beside else []

    def _is_same(self, total: Polynomial, loops: Sequence[LoopGrowth]) -> bool:
        """Whether a sum is the same in all programs, in the same turns of loops."""
        starts = {loop.counter: loop.start for loop in loops}
        return all(
            isinstance(atom, Position)
            or atom in self._same
            or (isinstance(atom, Extended) and self._is_same(atom.sum, loops))
            or (atom in starts and self._is_same(starts[atom], loops))
            for atom in total.atoms
        )

    def _is_denser_by_column(self, address: Polynomial, rank: int) -> bool:
        strides = [address.stride(axis) for axis in range(max(rank - 2, 0), rank)]
        numbers = [self._sums.number(each) for each in strides if each is not None]
        known = [number for number in numbers if number is not None]
        return len(known) == 2 and 0 < known[0] < known[1]

    def _to_next_program(self, atom: Atom) -> Polynomial | None:
        if isinstance(atom, Extended):
            return atom.sum.growth(self._to_next_program)
        if not isinstance(atom, Value):
            return None if isinstance(atom, Unknown) else ZERO
        maker = self._makers.get(atom)
        if maker is None:
            return ZERO if atom in self._same else None
        if maker.name == "tt.get_program_id":
            return ONE if maker.integer("axis") == self._fastest else ZERO
        return ZERO if maker.name == "tt.get_num_programs" else None


def _is_access(operation: Operation) -> bool:
    is_access = operation.name in ("tt.load", "tt.store")
    return is_access and isinstance(operation.operands[0].type, TensorType)


def _computable(growth: Polynomial | None) -> Polynomial | None:
    """One number that is made of the kernel's scalars; None for any other."""
    if growth is None or any(isinstance(each, Position | Unknown) for each in growth.atoms):
        return None
    return growth
