"""Turns blocks of short rows around, so that their rows are neighbouring lanes.

    at = rows[:, None] * 4 + columns[None, :]     at = rows[None, :] * 4 + columns[:, None]
    total = reduce(load(p + at), axis=1)          total = reduce(load(p + at), axis=0)

To add up the lanes of a row, and to move the sum from a vector to its place, takes longer than to
load a few columns by strides. Turned around, rows are added up beside one another.
"""

from __future__ import annotations

from collections.abc import Iterable

from triton_rvv.frontend.attributes import DenseAttribute
from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import PointerType, TensorType
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.constants import one_number
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import blocks_inside

__all__ = ["turn_short_rows"]

# Operations that mean the same for a block that is turned around.
_SAME = (
    *("arith.", "math.", "tt.fp_to_fp", "tt.addptr", "tt.bitcast", "tt.clampf", "tt.precise_"),
    *("tt.mulhiui", "tt.load", "tt.splat", "tt.broadcast"),
)


def turn_short_rows(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many reductions go along columns now."""
    function = kernel.function
    is_reduced = any(each.name == "tt.reduce" for each in function.walk())
    if not is_reduced or kernel.target.backend != "rvv":  # which alone loads by strides
        return 0
    blocks = {each: None for each in _values(function) if len(_shape(each)) > 1}
    users = [each for each in function.walk() if not blocks.keys().isdisjoint(_own(each))]
    reductions = [each for each in users if each.name == "tt.reduce"]
    is_whole = len(blocks_inside(function)) == 1 + len(reductions)
    if not (reductions and is_whole and all(map(_means_the_same, users))):
        return 0
    loads = [each for each in users if each.name == "tt.load"]
    if not (_are_short_rows(blocks, kernel) and _lie_in_turn(loads, kernel)):
        return 0
    machine = kernel.target.machine
    loaded_cycles = machine.strided_element_cycles * sum(_shape(each.result)[1] for each in loads)
    if loaded_cycles > machine.row_sum_cycles * len(reductions):  # faster as it lies
        return 0
    for block in blocks:
        assert isinstance(block.type, TensorType)
        block.type = TensorType(block.type.shape[::-1], block.type.element)
    for user in users:
        if user.name in ("tt.reduce", "tt.expand_dims"):
            user.attributes["axis"] = 1 - user.integer("axis")
        elif user.name == "arith.constant":
            value, type_ = user.attributes["value"], user.result.type
            assert isinstance(value, DenseAttribute)
            assert isinstance(type_, TensorType)
            user.attributes["value"] = DenseAttribute(type_, value.elements)
    return len(reductions)


def _own(operation: Operation) -> list[Value]:
    return [*operation.operands, *operation.results]


def _values(function: Operation) -> list[Value]:
    return [value for each in function.walk() for value in _own(each)]


def _shape(value: Value) -> tuple[int, ...]:
    return value.type.shape if isinstance(value.type, TensorType) else ()


def _means_the_same(operation: Operation) -> bool:
    """Whether an operation on blocks can be turned around; all of theirs have two dimensions."""
    if operation.name == "tt.reduce":
        return operation.integer("axis") == 1
    if operation.name == "arith.constant":
        return one_number(operation) is not None
    return operation.name == "tt.expand_dims" or operation.name.startswith(_SAME)


def _are_short_rows(blocks: Iterable[Value], kernel: Kernel) -> bool:
    """Whether a row takes no more than a register, and there are rows enough for all lanes."""
    for block in blocks:
        assert isinstance(block.type, TensorType)
        bits = 32 if isinstance(block.type.element, PointerType) else block.type.element.bits
        shape, lanes = block.type.shape, kernel.target.lanes(max(bits, 32))
        if len(shape) != 2 or shape[1] > lanes or 1 < shape[0] < 2 * lanes:
            return False
    return True


def _lie_in_turn(loads: Iterable[Operation], kernel: Kernel) -> bool:
    """Whether each row in memory begins right behind the one before, as in an array of its own."""
    sums = AccessFunctions(kernel.function, kernel.integers_so_far())
    for load in loads:
        stride = sums.of(load.operands[0]).stride(0)
        distance = None if stride is None else sums.number(stride)
        type_ = load.result.type
        assert isinstance(type_, TensorType)
        row_bytes = type_.shape[1] * type_.element.size_bytes
        if distance is None or not 0 < distance <= row_bytes:
            return False
    return True
