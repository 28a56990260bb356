"""Along which axis of the grid programs follow one another.

In a grid of (rows, parts of a row) with x fastest, each program begins on another row than the one
before it: the core foresees none of its lines, and prefetches ask for others. With y fastest, it
goes on where the last one ended. Programs may run in any order where none reads what another one
writes: code is called for each program with x fastest, and runs the one whose turn it is.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import PointerType, TensorType, Type, element_type
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.loop_growth import LoopGrowth
from triton_rvv.lowering.ttir.polynomials import Polynomial
from triton_rvv.lowering.ttir.program_steps import ProgramSteps
from triton_rvv.targets.machine import Machine

__all__ = ["GRID_ORDER", "order_programs"]

# The attribute of a kernel whose programs do not run with x fastest: the axes, fastest first.
GRID_ORDER = "triton_rvv.grid_order"
# Turns of loops whose bounds are not known.
_SOME_TURNS = 8
# Of these, it is not followed what they read and write; by atomic operations, programs may wait.
_MAY_NEED_ORDER = ("tt.atomic", "tt.call", "tt.extern", "tt.descriptor")


def order_programs(kernel: Kernel) -> int:
    """Runs those programs after one another that read and write neighbouring memory."""
    grid = kernel.grid or ()
    axes = [axis for axis, size in enumerate(grid) if size > 1]
    if len(axes) < 2 or kernel.has_product or not kernel.arguments_are_disjoint:
        return 0
    if any(operation.name.startswith(_MAY_NEED_ORDER) for operation in kernel.operations):
        return 0
    found, machine = _Accesses(kernel, grid), kernel.target.machine
    if not found.are_apart():
        return 0
    awaited = {axis: [each.bytes_awaited(axis, machine) for each in found.blocks] for axis in axes}
    x, *others = axes
    better = [axis for axis in others if _is_better(awaited[axis], awaited[x], machine)]
    if not better:
        return 0
    fastest = min(better, key=lambda axis: sum(filter(None, awaited[axis])))
    rest = [axis for axis in range(3) if axis != fastest]
    kernel.function.attributes[GRID_ORDER] = [fastest, *rest]
    return 1


def _is_better(
    ours: Sequence[float | None], before: Sequence[float | None], machine: Machine
) -> bool:
    """Whether programs wait for a line less of some block than before, and for no more of any.

    Blocks of which it is not known how far they moved before do not count.
    """
    pairs = [
        (math.inf if one is None else one, other)
        for one, other in zip(ours, before, strict=True)
        if other is not None
    ]
    is_less = any(one + machine.line_bytes <= other for one, other in pairs if one < math.inf)
    return is_less and all(one <= other for one, other in pairs)


@dataclass(frozen=True)
class _Block:
    """What a program loads or stores at one place.

    Args:
        steps: bytes to the next program's along each axis; None if it is not known.
        runs: runs of neighbours in memory.
        run_bytes: from the first to the last of a run.
        span_bytes: from the first to the last element; None if it is not known.
    """

    steps: tuple[int | None, ...]
    runs: int
    run_bytes: int
    span_bytes: int | None

    def is_own(self, grid: Sequence[int]) -> bool:
        """Whether each program's elements are apart from those of all others."""
        far_bytes, pairs = self.span_bytes, zip(self.steps, grid, strict=True)
        if far_bytes is None:
            return False
        for step, size in sorted((abs(step or 0), size) for step, size in pairs if size > 1):
            if step < far_bytes:
                return False
            far_bytes += step * (size - 1)
        return True

    def bytes_awaited(self, axis: int, machine: Machine) -> float | None:
        """Bytes that the next program along an axis does not find in L1; infinite where it jumps.

        None if it is not known.
        """
        step = self.steps[axis]
        if step is None:
            return None
        stays = step == 0 and self.runs * self.run_bytes <= machine.resident_bytes
        goes_on = 0 < abs(step) <= self.run_bytes
        return self.runs * abs(step) if stays or goes_on else math.inf


# What loads and stores have in common whose places differ by a constant.
_Place = tuple[Polynomial, Type]


class _Accesses:
    """Finds what the programs of a kernel load and store."""

    def __init__(self, kernel: Kernel, grid: Sequence[int]) -> None:
        self._kernel, self._grid = kernel, grid
        self._sums = AccessFunctions(kernel.function, kernel.known_integers)
        self._steps = [ProgramSteps(kernel, self._sums, axis) for axis in range(3)]
        self._loops = dict(_accesses(kernel.function, ()))
        groups: dict[_Place, list[Operation]] = {}
        for operation in self._loops:
            groups.setdefault(self._place(operation), []).append(operation)
        self._blocks = {place: self._block(group) for place, group in groups.items()}

    @property
    def blocks(self) -> Collection[_Block]:
        """One for all whose places differ by a constant, as in stencils."""
        return self._blocks.values()

    def are_apart(self) -> bool:
        """Whether no program reads what another one writes."""
        overlap, pairs = self._kernel.aliases.may_overlap, itertools.permutations(self._loops, 2)
        return all(
            self._place(load) == self._place(store)
            and self._blocks[self._place(load)].is_own(self._grid)
            for load, store in pairs
            if (load.name, store.name) == ("tt.load", "tt.store")
            and overlap(load.operands[0], store.operands[0])
        )

    def _place(self, operation: Operation) -> _Place:
        pointers = operation.operands[0]
        return self._sums.of(pointers).split_constant()[0], pointers.type

    def _block(self, group: Sequence[Operation]) -> _Block:
        pointers, loops = group[0].operands[0], self._loops[group[0]]
        address, size_bytes = self._sums.of(pointers), _size_bytes(pointers)
        constants = sorted({self._sums.of(op.operands[0]).split_constant()[1] for op in group})
        strides = (self._number(address.stride(axis)) for axis in range(len(pointers.shape)))
        along: list[tuple[int | None, int | None]] = [*zip(strides, pointers.shape, strict=True)]
        along.append((max(map(operator.sub, constants[1:], constants), default=0), len(constants)))
        along.sort(key=_distance)
        along += [self._turns(loop, address) for loop in reversed(loops)]
        runs, run_bytes, span_bytes, is_known = 1, size_bytes, size_bytes, True
        for step, count in along:
            far_bytes = 0 if step is None else abs(step) * size_bytes
            turns = _SOME_TURNS if count is None else count
            is_known &= step is not None and (count is not None or step == 0)
            span_bytes += far_bytes * (turns - 1)
            if step is None or far_bytes > run_bytes:
                runs *= turns
            else:
                run_bytes += far_bytes * (turns - 1)
        steps = [steps.growth(address) for steps in self._steps]
        in_bytes = tuple(None if each is None else each * size_bytes for each in steps)
        return _Block(in_bytes, runs, run_bytes, span_bytes if is_known else None)

    def _turns(self, loop: Operation, address: Polynomial) -> tuple[int | None, int | None]:
        """How far a loop moves an address in each turn, in elements, and its turns."""
        growth = LoopGrowth(loop, self._sums, has_one_turn=False).growth(address)
        return self._number(growth), self._kernel.known_integers.turns(loop)

    def _number(self, distance: Polynomial | None) -> int | None:
        return None if distance is None else self._sums.number(distance)


def _accesses(
    operation: Operation, loops: tuple[Operation, ...]
) -> Iterator[tuple[Operation, tuple[Operation, ...]]]:
    """Loads and stores inside, with the loops around them, outermost first."""
    if operation.name in ("tt.load", "tt.store"):
        yield operation, loops
    elif operation.name == "scf.for":
        loops = (*loops, operation)
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _accesses(inner, loops)


def _size_bytes(pointers: Value) -> int:
    """Of an element that they point to."""
    element = element_type(pointers.type)
    assert isinstance(element, PointerType)
    assert not isinstance(element.pointee, TensorType)
    return element.pointee.size_bytes


def _distance(line: tuple[int | None, int | None]) -> float:
    step, _ = line
    return math.inf if step is None else abs(step)
