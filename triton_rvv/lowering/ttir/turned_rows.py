"""Turns blocks around whose rows are reduced, so that their rows are neighbouring lanes.

    at = rows[:, None] * 4 + columns[None, :]     at = rows[None, :] * 4 + columns[:, None]
    total = reduce(load(p + at), axis=1)          total = reduce(load(p + at), axis=0)

To add up the lanes of a row, and to move the sum from a vector to its place, takes longer than to
load a few columns by strides. Of pairs, such as the distances of points from one another, nothing
is loaded by strides at all. Turned around, rows are added up beside one another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import PointerType
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.operation_kinds import ADDRESSES, ELEMENTWISE, SPREADS
from triton_rvv.lowering.ttir.rewriter import Rewriter
from triton_rvv.lowering.ttir.turned_products import Turn

__all__ = ["turn_short_rows"]

# Operations that mean the same for a block that is turned around.
_SAME = (*ELEMENTWISE, *ADDRESSES, *SPREADS, "tt.load")
# What takes many instructions for each element.
_COSTLY = ("math.", "arith.div", "arith.rem", "tt.precise_")


@dataclass
class _Group:
    """Reductions along rows, and the blocks on the way to them, which can be turned around."""

    reductions: list[Operation]
    blocks: set[Value]


def turn_short_rows(kernel: Kernel) -> int:
    """Turns blocks around whose rows are reduced and short, or of pairs, so that rows are lanes."""
    function = kernel.function
    reductions = [each for each in function.walk() if each.name == "tt.reduce"]
    if not reductions or kernel.target.backend != "rvv":  # which alone loads by strides
        return 0
    turn, fired = Turn(Rewriter(kernel.module), _SAME), 0
    for group in _groups(turn, filter(_is_along_rows, reductions)):
        if _is_faster_turned(group, turn, kernel):
            for each in group.reductions:
                turn.take_turned(each)
            fired += len(group.reductions)
    turn.erase_unused()
    return fired


def _groups(turn: Turn, reductions: Iterable[Operation]) -> Sequence[_Group]:
    """Reductions along rows, those together that read the same blocks."""
    groups = list[_Group]()
    for reduction in reductions:
        blocks = set[Value]()
        if not all(turn.can_turn(value, blocks) for value in reduction.operands):
            continue
        met = [group for group in groups if not group.blocks.isdisjoint(blocks)]
        groups = [group for group in groups if group not in met]
        together = [*(each for group in met for each in group.reductions), reduction]
        groups.append(_Group(together, blocks.union(*(group.blocks for group in met))))
    return groups


def _is_faster_turned(group: _Group, turn: Turn, kernel: Kernel) -> bool:
    """Whether loads by strides take no longer than to add up the lanes of each row."""
    makers = [turn.makers[each] for each in group.blocks]
    known = {*makers, *group.reductions}
    users = [each for each in kernel.function.walk() if not group.blocks.isdisjoint(each.operands)]
    loads = [each for each in makers if each.name == "tt.load" and min(each.result.shape) > 1]
    if not known.issuperset(users) or not _fill_lanes(group.blocks, bool(loads), kernel):
        return False
    if any(each.name.startswith(_COSTLY) and each.result.shape[0] == 1 for each in makers):
        return False  # of what each column has, vectors hold many
    machine = kernel.target.machine
    loaded_cycles = machine.strided_element_cycles * sum(each.result.shape[1] for each in loads)
    is_quick = loaded_cycles <= machine.row_sum_cycles * len(group.reductions)
    return is_quick and _lie_in_turn(loads, kernel)


def _is_along_rows(reduction: Operation) -> bool:
    return len(reduction.operands[0].shape) == 2 and reduction.integer("axis") == 1


def _fill_lanes(blocks: Collection[Value], are_loaded: bool, kernel: Kernel) -> bool:
    """Whether there are rows enough for all lanes; of loaded ones, none longer than a register."""
    for block in blocks:
        bits = 32 if isinstance(block.block.element, PointerType) else block.block.element.bits
        shape, lanes = block.shape, kernel.target.lanes(max(bits, 32))
        if 1 < shape[0] < 2 * lanes or (are_loaded and shape[1] > lanes):
            return False
    return any(block.shape[0] > 1 for block in blocks)


def _lie_in_turn(loads: Iterable[Operation], kernel: Kernel) -> bool:
    """Whether each row in memory begins right behind the one before, as in an array of its own."""
    sums = AccessFunctions(kernel.function, kernel.integers_so_far())
    for load in loads:
        stride = sums.of(load.operands[0]).stride(0)
        distance = None if stride is None else sums.number(stride)
        row_bytes = load.result.shape[1] * load.result.block.element.size_bytes
        if distance is None or not 0 < distance <= row_bytes:
            return False
    return True
