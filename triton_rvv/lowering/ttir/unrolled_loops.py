"""Writes out short loops that only compute the blocks which they carry.

    total = zeros(M)                        total = zeros(M) + f(x[rows - 1])
    for d in range(-1, 2):                  total += f(x[rows])
        total += f(x[rows + d])             total += f(x[rows + 1])

The carried blocks would be read from memory and written again in every turn. Written out, all turns
are one expression, which is computed in one walk with its parts in registers. Loops that go over
long rows in steps of a block are left as they are.

Of loops that pass blocks on, some turns are written out, so that none is copied.

    for n in range(N):                      for n in range(0, N - N % 2, 2):
        s0 = x[n] + c * s1 - s2                 s2 = x[n] + c * s1 - s2
        s2 = s1                                 s1 = x[n + 1] + c * s2 - s1
        s1 = s0                             for n in range(N - N % 2, N):  # as before

A block that becomes another one in the next turn is copied from register to register, or from array
to array. After as many turns as it is passed on, each name is again where it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.attributes import Attribute
from triton_rvv.frontend.ttir import Block, Operation, Region, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import KnownIntegers
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, blocks_inside, placed

__all__ = ["unroll_loops", "unroll_passed_on"]

# Loads of blocks in all turns: each takes an address in a register of its own.
_MOST_LOADS = 16
# Operations in all turns, since all of them take time to compile.
_MOST_OPERATIONS = 300
# Turns that become one at most; more take registers for what each of them loads.
_MOST_TURNS = 4
_I32, _I64 = ScalarType("i32"), ScalarType("i64")
# All that a loop may do: what is computed element by element.
_ELEMENTWISE = (
    *("arith.", "tt.splat", "tt.make_range", "tt.expand_dims", "tt.broadcast", "tt.addptr"),
    *("tt.bitcast", "tt.load", "tt.fp_to_fp", "tt.clampf", "scf.yield"),
)


def unroll_loops(kernel: Kernel) -> int:
    """Writes out short loops that only compute the blocks which they carry."""
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
        and all(_is_known(each, _ELEMENTWISE) for each in body)
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


def _is_known(operation: Operation, names: tuple[str, ...]) -> bool:
    is_watched = operation.attributes.get("isVolatile")
    return operation.name.startswith(names) and not is_watched and not operation.regions


def _unroll(block: Block, loop: Operation, numbers: Sequence[int], rewriter: Rewriter) -> None:
    """Put a loop's turns in its place."""
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


def unroll_passed_on(kernel: Kernel) -> int:
    """Makes as many turns of a loop one as it passes blocks on, so that none is copied."""
    rewriter, fired = Rewriter(kernel.module), 0
    for block, loop in placed(kernel.module, "scf.for"):
        turns = _times_passed_on(loop)
        if turns > 1 and _may_unroll(loop, turns, kernel):
            _unroll_some(block, loop, turns, rewriter)
            fired += 1
    return fired


def _times_passed_on(loop: Operation) -> int:
    """How many turns a block takes to go through all names that it is given, one in each turn."""
    body = loop.regions[0].block
    carried, given = body.arguments[1:], body.operations[-1].operands
    takes_from = {
        own: value
        for own, value in zip(carried, given, strict=True)
        if value is not own and value in carried and _is_block(value)
    }
    longest = 0
    for first in takes_from:
        seen = [first]
        while (before := takes_from.get(seen[-1])) is not None and before not in seen:
            seen.append(before)
        longest = max(longest, len(seen))
    return longest


def _may_unroll(loop: Operation, turns: int, kernel: Kernel) -> bool:
    """Whether a loop counts in steps of 1 with a sign, and is short and without loops in it."""
    block, integers = loop.regions[0].block, kernel.integers_so_far()
    return (
        turns <= _MOST_TURNS
        and turns * len(block.operations) <= _MOST_OPERATIONS
        and loop.operands[0].type == _I32
        and integers.of(loop.operands[2]) == 1
        and "unsignedCmp" not in loop.attributes
        and all(_is_known(each, (*_ELEMENTWISE, "math.", "tt.store")) for each in block.operations)
    )


def _unroll_some(block: Block, loop: Operation, turns: int, rewriter: Rewriter) -> None:
    """Put a loop of several turns in one before a loop, which is left the rest.

    Args:
        loop: an `scf.for` over 32-bit integers in steps of 1.
        turns: how many become one.
    """
    first, end, one, *initial = loop.operands
    written = Written(rewriter, Value("%turns", _I64), loop.line)
    middle, step = _bounds(loop, turns, written)
    results = [rewriter.value(each) for each in loop.results]
    region = Region([_turns(loop, turns, rewriter)])
    attributes, operands = dict(loop.attributes), [first, middle, step, *initial]
    together = rewriter.operation("scf.for", operands, results, attributes, loop.line, [region])
    rewriter.set_operands(loop, [middle, end, one, *results])
    block.put_before(loop, [*written.operations, together])


def _bounds(loop: Operation, turns: int, written: Written) -> tuple[Value, Value]:
    """Where the rest begins, and the number of turns."""
    # The difference of two 32-bit numbers takes 33 bits. Where it is negative, so is the remainder,
    # and neither loop has a turn.
    first, end = (written.write("arith.extsi", _I64, bound) for bound in loop.operands[:2])
    count = written.write("arith.subi", _I64, end, first)
    rest = written.write("arith.remsi", _I64, count, written.number(_I64, turns))
    count = written.write("arith.subi", _I64, count, rest)
    middle = written.write("arith.addi", _I64, first, count)
    return written.write("arith.trunci", _I32, middle), written.number(_I32, turns)


def _turns(loop: Operation, turns: int, rewriter: Rewriter) -> Block:
    """A loop's body several times, one after another."""
    body, one = loop.regions[0].block, loop.operands[2]
    arguments = [rewriter.value(each) for each in body.arguments]
    counted, *given = arguments
    *operations, last = rewriter.written_out(body, arguments)
    for _ in range(turns - 1):
        given = [*last.operands]
        rewriter.set_operands(last, [])
        following = rewriter.value(counted)
        add = rewriter.operation("arith.addi", [counted, one], [following], {}, loop.line)
        counted = following
        *others, last = rewriter.written_out(body, [counted, *given])
        operations += [add, *others]
    return Block(body.label, arguments, [*operations, last])
