"""Writes out some turns of loops that only pass blocks on, so that none is copied.

    for n in range(N):                      for n in range(0, N - N % 2, 2):
        s0 = x[n] + c * s1 - s2                 s2 = x[n] + c * s1 - s2
        s2 = s1                                 s1 = x[n + 1] + c * s2 - s1
        s1 = s0                             for n in range(N - N % 2, N):  # as before

A block that becomes another one in the next turn is copied from register to register, or from array
to array. After as many turns as it is passed on, each name is again where it was.
"""

from __future__ import annotations

from triton_rvv.frontend.attributes import Attribute
from triton_rvv.frontend.ttir import Block, Operation, Region, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["unroll_passed_on"]

# Turns that are written out at most; more take registers for what each of them loads.
_MOST_TURNS = 4
# Operations in all of these turns, since all of them take time to compile.
_MOST_OPERATIONS = 300
# What a loop may do, besides storing: what is computed element by element.
_KNOWN = (
    *("arith.", "math.", "tt.splat", "tt.make_range", "tt.expand_dims", "tt.broadcast"),
    *("tt.addptr", "tt.bitcast", "tt.load", "tt.store", "tt.fp_to_fp", "tt.clampf", "scf.yield"),
)
_I32, _I64 = ScalarType("i32"), ScalarType("i64")


def unroll_passed_on(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many loops have several turns in one."""
    rewriter, fired = Rewriter(kernel.module), 0
    for block in blocks_inside(kernel.module):
        for loop in [each for each in block.operations if each.name == "scf.for"]:
            turns = _times_passed_on(loop)
            if turns > 1 and _may_unroll(loop, turns, kernel):
                _unroll(block, loop, turns, rewriter)
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


def _is_block(value: Value) -> bool:
    return isinstance(value.type, TensorType) and isinstance(value.type.element, ScalarType)


def _may_unroll(loop: Operation, turns: int, kernel: Kernel) -> bool:
    """Whether a loop counts in steps of 1 with a sign, and is short and without loops in it."""
    block, integers = loop.regions[0].block, kernel.integers_so_far()
    return (
        turns <= _MOST_TURNS
        and turns * len(block.operations) <= _MOST_OPERATIONS
        and loop.operands[0].type == _I32
        and integers.of(loop.operands[2]) == 1
        and "unsignedCmp" not in loop.attributes
        and all(each.name.startswith(_KNOWN) and not each.regions for each in block.operations)
        and not any(each.attributes.get("isVolatile") for each in block.operations)
    )


def _unroll(block: Block, loop: Operation, turns: int, rewriter: Rewriter) -> None:
    """Put a loop of several turns in one before a loop, which is left the rest.

    Args:
        block: where it stands.
        loop: an `scf.for` over 32-bit integers in steps of 1.
        turns: how many become one.
        rewriter: of the module.
    """
    first, end, one, *initial = loop.operands
    written, middle, step = _bounds(loop, turns, rewriter)
    results = [rewriter.value(each) for each in loop.results]
    region = Region([_turns(loop, turns, rewriter)])
    attributes, operands = dict(loop.attributes), [first, middle, step, *initial]
    together = rewriter.operation("scf.for", operands, results, attributes, loop.line, [region])
    rewriter.set_operands(loop, [middle, end, one, *results])
    place = block.operations.index(loop)
    block.operations[place:place] = [*written, together]


def _bounds(
    loop: Operation, turns: int, rewriter: Rewriter
) -> tuple[list[Operation], Value, Value]:
    """Where the rest begins, and the number of turns: with the operations that compute them."""
    written = list[Operation]()

    def made(name: str, type_: ScalarType, *operands: Value, **attributes: Attribute) -> Value:
        result = rewriter.value(Value("%turns", type_))
        written.append(rewriter.operation(name, operands, [result], attributes, loop.line))
        return result

    # The difference of two 32-bit numbers takes 33 bits. Where it is negative, so is the remainder,
    # and neither loop has a turn.
    first, end = (made("arith.extsi", _I64, bound) for bound in loop.operands[:2])
    count = made("arith.subi", _I64, end, first)
    rest = made("arith.remsi", _I64, count, made("arith.constant", _I64, value=turns))
    middle = made("arith.addi", _I64, first, made("arith.subi", _I64, count, rest))
    return written, made("arith.trunci", _I32, middle), made("arith.constant", _I32, value=turns)


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
