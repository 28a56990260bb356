"""Finds loads of rows that a loaded number chooses in a loop, and where those of later turns are.

    for edge in range(start, end):
        source = load(sources + edge)
        x = load(xs + source * D + columns)

No hardware foresees such rows. The number is loaded some turns ahead, never beyond the last turn's,
and the row's addresses are made of it once more, so that code can ask for its lines.

What a loop writes may be a number of a later turn, and be anything before. Asking for a row that
lies anywhere is harmless, but loading another number from there is not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written

__all__ = ["LATER_ROW", "find_chosen_rows"]

# The attribute of such a load that names the addresses of the later row, for people.
LATER_ROW = "triton_rvv.later_row"
# What addresses of a row are made of; a load is one of the number that chooses it.
_ADDRESSES = ("arith.", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.addptr", "tt.load")
_WRITES = ("tt.store", "tt.atomic_", "tt.descriptor_", "tt.call", "tt.elementwise_inline_asm")


def find_chosen_rows(kernel: Kernel) -> int:
    """Loads ahead which row a later turn of a loop reads, so that its lines can be asked for."""
    loops = [each for each in kernel.module.walk() if each.name == "scf.for"]
    if not (loops and kernel.target.machine.issues_in_order):
        return 0
    rewriter, integers = Rewriter(kernel.module), kernel.integers_so_far()
    for loop in loops:
        block = loop.regions[0].block
        writes = any(each.name.startswith(_WRITES) for each in loop.walk())
        rows = [each for each in block.operations if _turns_ahead(kernel, each)]
        for load in rows if integers.of(loop.operands[2]) == 1 else ():
            made = _made_in_turn(load, block, rewriter.makers)
            loads = _loads_one_after_another(made, rewriter.makers)
            if loads == 1 or (loads and not writes):
                later = _later(loop, load, _turns_ahead(kernel, load), made, rewriter)
                load.attributes[LATER_ROW] = later.name
                kernel.later_rows[load] = later
    return len(kernel.later_rows)


def _turns_ahead(kernel: Kernel, operation: Operation) -> int:
    """How far ahead to ask for what an operation loads; 0 unless that is a row of a few lines."""
    if operation.name != "tt.load" or not isinstance(operation.result.type, TensorType):
        return 0
    type_ = operation.result.type
    if not isinstance(type_.element, ScalarType) or type_.shape[-1] != type_.elements:
        return 0
    return kernel.target.machine.turns_ahead(type_.elements * type_.element.size_bytes)


def _made_in_turn(
    load: Operation, block: Block, makers: Mapping[Value, Operation]
) -> Sequence[Operation]:
    """The operations of a turn by which its number becomes the addresses of a load, in order.

    None where these are made of something else that changes, or in another way.
    """
    inside = {result for each in block.operations for result in each.results}
    carried, found = set(block.arguments[1:]), set[Operation]()
    waiting = [load.operands[0]]
    while waiting:
        value = waiting.pop()
        if value in carried:
            return ()
        if value not in inside or makers[value] in found:
            continue
        if not _is_of_address(makers[value], inside | {*block.arguments}):
            return ()
        found.add(makers[value])
        waiting += makers[value].operands
    return [each for each in block.operations if each in found]


def _loads_one_after_another(made: Sequence[Operation], makers: Mapping[Value, Operation]) -> int:
    """The most loads of which each needs the number that the one before loads."""
    most = dict[Operation, int]()
    for each in made:
        before = [most.get(makers[value], 0) for value in each.operands if value in makers]
        most[each] = max(before, default=0) + (each.name == "tt.load")
    return max(most.values(), default=0)


def _is_of_address(operation: Operation, changing: Collection[Value]) -> bool:
    """Whether an operation makes addresses, or loads one number, by a mask that does not change.

    A mask of every turn's own would take longer than the prefetch saves.
    """
    if operation.name != "tt.load":
        return operation.name.startswith(_ADDRESSES)
    type_ = operation.result.type
    is_number = not isinstance(type_, TensorType) or type_.elements == 1
    is_masked_anew = any(each in changing for each in operation.operands[1:])
    return is_number and not is_masked_anew and not operation.attributes.get("isVolatile")


def _later(
    loop: Operation, load: Operation, turns: int, made: Sequence[Operation], rewriter: Rewriter
) -> Value:
    """The addresses of some turns later; where there are no so many turns, those of this one.

    Args:
        loop: an `scf.for` in steps of 1.
    """
    block, end = loop.regions[0].block, loop.operands[1]
    counter = block.arguments[0]
    type_, written = counter.type, Written(rewriter, counter, load.line)
    # What is left of the turns is positive, and fits without a sign; the sum wraps nowhere then.
    ahead = written.number(type_, turns)
    left = written.write("arith.subi", type_, end, counter)
    is_inside = written.compare("ugt", left, ahead)
    further = written.write("arith.addi", type_, counter, ahead)
    later = written.write("arith.select", type_, is_inside, further, counter)
    copies = {counter: later}
    for each in made:
        operands = [copies.get(operand, operand) for operand in each.operands]
        made_of_it = written.write(each.name, each.result.type, *operands, **each.attributes)
        copies[each.result] = made_of_it
    block.put_before(load, written.operations)
    return copies[load.operands[0]]
