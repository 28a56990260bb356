"""Writes out short loops that only compute the blocks which they carry.

    total = zeros(M)                        total = zeros(M) + f(x[rows - 1])
    for d in range(-1, 2):                  total += f(x[rows])
        total += f(x[rows + d])             total += f(x[rows + 1])

The carried blocks would be read from memory and written again in every turn. Written out, all turns
are one expression, which is computed in one walk with its parts in registers. Loops that go over
long rows in steps of a block are left as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.attributes import Attribute
from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import KnownIntegers
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["unroll_loops"]

# Loads of blocks in all turns: each takes an address in a register of its own.
_MOST_LOADS = 16
# Operations in all turns, since all of them take time to compile.
_MOST_OPERATIONS = 300
# All that a loop may do: what is computed element by element.
_ELEMENTWISE = (
    *("arith.", "tt.splat", "tt.make_range", "tt.expand_dims", "tt.broadcast", "tt.addptr"),
    *("tt.bitcast", "tt.load", "tt.fp_to_fp", "tt.clampf", "scf.yield"),
)


def unroll_loops(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many loops were written out."""
    if not any(each.name == "scf.for" for each in kernel.module.walk()):
        return 0
    rewriter, integers, fired = Rewriter(kernel.module), kernel.integers_so_far(), 0
    for block in reversed(blocks_inside(kernel.module)):  # inner loops first
        for loop in [each for each in block.operations if each.name == "scf.for"]:
            counted = _counted(loop, integers)
            if counted and _pays(loop, len(counted)) and not _is_only_reduced(loop, kernel):
                _unroll(block, loop, counted, rewriter)
                fired += 1
    return fired


def _counted(loop: Operation, integers: KnownIntegers) -> range:
    """What a loop counts in steps of 1 between known bounds; nothing for other loops."""
    first, _, step = (integers.of(value) for value in loop.operands[:3])
    turns = integers.turns(loop)
    if first is None or turns is None or step != 1:
        return range(0)
    return range(first, first + turns)


def _pays(loop: Operation, turns: int) -> bool:
    """Whether a loop carries blocks of numbers and is short enough, with nothing else in it.

    What a turn uses twice would be written out twice as often in each turn before.
    """
    block = loop.regions[0].block
    body = block.operations
    loads = [each for each in body if each.name == "tt.load" and _is_block(each.result)]
    return (
        turns * len(body) <= _MOST_OPERATIONS
        and turns * len(loads) <= _MOST_LOADS
        and any(map(_is_block, loop.results))
        and all(value.uses <= 1 for value in block.arguments[1:])
        and all(_is_elementwise(each) for each in body)
    )


def _is_block(value: Value) -> bool:
    """Whether it is a block of numbers."""
    return isinstance(value.type, TensorType) and isinstance(value.type.element, ScalarType)


def _is_only_reduced(loop: Operation, kernel: Kernel) -> bool:
    """Whether smaller blocks can be carried, since only their sums are asked for."""
    blocks, users = set(loop.results), list[Operation]()
    for each in kernel.module.walk():
        if each.name == "tt.reshape" and not blocks.isdisjoint(each.operands):
            blocks.update(each.results)
        elif not blocks.isdisjoint(each.operands):
            users.append(each)
    return all(each.name == "tt.reduce" for each in users)


def _is_elementwise(operation: Operation) -> bool:
    is_watched = operation.attributes.get("isVolatile")
    return operation.name.startswith(_ELEMENTWISE) and not is_watched and not operation.regions


def _unroll(block: Block, loop: Operation, numbers: Sequence[int], rewriter: Rewriter) -> None:
    """Put a loop's turns in its place.

    Args:
        block: where it stands.
        loop: an `scf.for`.
        numbers: what it counts.
        rewriter: of the module.
    """
    body, given, written = loop.regions[0].block, loop.operands[3:], list[Operation]()
    for number in numbers:
        counted, value = rewriter.value(body.arguments[0]), dict[str, Attribute](value=number)
        written.append(rewriter.operation("arith.constant", [], [counted], value, loop.line))
        *operations, last = rewriter.written_out(body, [counted, *given])
        written += operations
        given = [*last.operands]
        rewriter.set_operands(last, [])
    place = block.operations.index(loop)
    block.operations[place : place + 1] = written
    rewriter.replace(dict(zip(loop.results, given, strict=True)))
    for each in loop.walk():
        rewriter.set_operands(each, [])
