"""Turns blocks of short rows around, so that their rows are neighbouring lanes.

    at = rows[:, None] * 4 + columns[None, :]     at = rows[None, :] * 4 + columns[:, None]
    total = reduce(load(p + at), axis=1)          total = reduce(load(p + at), axis=0)

To add up the lanes of a row, and to move the sum from a vector to its place, takes longer than to
load a few columns by strides. Turned around, rows are added up beside one another.
"""

from __future__ import annotations

from collections.abc import Iterable

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import PointerType
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside
from triton_rvv.lowering.ttir.turned_products import Turn

__all__ = ["turn_short_rows"]

# Operations that mean the same for a block that is turned around.
_SAME = (
    *("arith.", "math.", "tt.fp_to_fp", "tt.addptr", "tt.bitcast", "tt.clampf", "tt.precise_"),
    *("tt.mulhiui", "tt.load", "tt.splat", "tt.broadcast", "tt.expand_dims"),
)


def turn_short_rows(kernel: Kernel) -> int:
    """Turns blocks around whose short rows are reduced, so that their rows are lanes."""
    function = kernel.function
    reductions = [each for each in function.walk() if each.name == "tt.reduce"]
    is_whole = len(blocks_inside(function)) == 1 + len(reductions)
    if not reductions or not is_whole or kernel.target.backend != "rvv":  # loads by strides
        return 0
    turn, turned = Turn(Rewriter(kernel.module), _SAME), set[Value]()
    along_rows = [each for each in reductions if len(each.operands[0].shape) > 1]
    values = [value for each in along_rows for value in each.operands]
    can_turn = all(turn.can_turn(value, turned) for value in values)
    blocks = {result for result in turn.makers if len(result.shape) > 1}
    if not (values and can_turn and turned == blocks and all(map(_is_along_rows, along_rows))):
        return 0
    loads = [turn.makers[each] for each in blocks if turn.makers[each].name == "tt.load"]
    if not (_are_short_rows(blocks, kernel) and _lie_in_turn(loads, kernel)):
        return 0
    machine = kernel.target.machine
    loaded_cycles = machine.strided_element_cycles * sum(_columns(each.result) for each in loads)
    if loaded_cycles > machine.row_sum_cycles * len(along_rows):  # faster as it lies
        return 0
    for each in along_rows:
        turn.take_turned(each)
    turn.erase_unused()
    return len(along_rows)


def _is_along_rows(reduction: Operation) -> bool:
    return reduction.integer("axis") == 1


def _columns(value: Value) -> int:
    return value.shape[1]


def _are_short_rows(blocks: Iterable[Value], kernel: Kernel) -> bool:
    """Whether a row takes no more than a register, and there are rows enough for all lanes."""
    for block in blocks:
        bits = 32 if isinstance(block.block.element, PointerType) else block.block.element.bits
        shape, lanes = block.shape, kernel.target.lanes(max(bits, 32))
        if len(shape) != 2 or shape[1] > lanes or 1 < shape[0] < 2 * lanes:
            return False
    return True


def _lie_in_turn(loads: Iterable[Operation], kernel: Kernel) -> bool:
    """Whether each row in memory begins right behind the one before, as in an array of its own."""
    sums = AccessFunctions(kernel.function, kernel.integers_so_far())
    for load in loads:
        stride = sums.of(load.operands[0]).stride(0)
        distance = None if stride is None else sums.number(stride)
        row_bytes = _columns(load.result) * load.result.block.element.size_bytes
        if distance is None or not 0 < distance <= row_bytes:
            return False
    return True
