"""Computes in 8 or 16 bits what leads up to 32, where `narrow_integers` alone would narrow nothing.

    sharp = (pixel * 16 - blurred) * amount     d = (pixel * 16 - blurred).to(int16)
                                                sharp = d.to(int32) * amount

Of bytes that are widened to 32 bits, often only the last product or a sum over a row needs these,
and one number of unknown size keeps everything before it wide. Here results that others need wide
are cut to what holds them and widened again, so that what leads up to them is a web of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.block_ranges import Range, ranges_of_blocks
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.narrow_integers import (
    WIDENED,
    Needs,
    Web,
    common_needs,
    is_wide,
    may_belong,
    may_narrow,
    needs_of,
    read_makers,
    web_that_holds,
    wide_operands,
)
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["users_of", "widen_late"]

_WIDE_BITS = 32
# Operations that compute nothing.
_MOVES = frozenset(["tt.broadcast", "tt.expand_dims"])
_SUMS = frozenset(["arith.addi", "arith.subi"])
# Operations that RVV has in a form that widens an operand.
_WIDENING = _SUMS | {"tt.reduce"}


def widen_late(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many results are widened later."""
    fired = 0
    for function in kernel.functions.values():
        rewriter = Rewriter(kernel.module)
        if not may_narrow(function, rewriter.makers):
            continue
        ranges = ranges_of_blocks(function)
        users = users_of(function)
        for block in blocks_inside(function):
            for web in _narrow_parts(block, ranges, rewriter.makers):
                needed = _needed_wide(web, users)
                if needed and _pays(web, needed, users, rewriter.makers):
                    for maker in needed:
                        _widen_behind(block, maker, web, ranges, rewriter, users)
                    fired += len(needed)
    return fired


@dataclass
class _Part:
    """Operations that are narrow together, so far, and what they need for that."""

    operations: list[Operation]
    needs: Needs


def _narrow_parts(
    block: Block, ranges: Mapping[Value, Range], makers: Mapping[Value, Operation]
) -> list[Web]:
    """What of a block of code fits fewer than 32 bits, all that it is made of included."""
    parts: dict[Operation | None, _Part] = {}
    for operation in filter(may_belong, block.operations):
        own, before = needs_of(operation, ranges, makers), [*read_makers(operation, makers)]
        if own is None or not parts.keys() >= set(before):
            continue
        read = {id(parts[each]): parts[each] for each in before}.values()
        needs = common_needs([own, *(part.needs for part in read)])
        if web_that_holds([], needs) is None:
            continue
        # The smaller ones go to the largest, so that no operation goes often.
        first, *others = sorted([*read, _Part([], own)], key=lambda part: -len(part.operations))
        added = [*(each for part in others for each in part.operations), operation]
        first.operations += added
        first.needs = needs
        parts.update(dict.fromkeys(added, first))
    found = {id(part): part for part in parts.values()}.values()
    webs = [web_that_holds(part.operations, part.needs) for part in found]
    return [web for web in webs if web is not None]


def users_of(function: Operation) -> dict[Value, list[Operation]]:
    """The operations that read each value of a function, each of them once."""
    users: dict[Value, list[Operation]] = {}
    for operation in function.walk():
        for value in dict.fromkeys(operation.operands):
            users.setdefault(value, []).append(operation)
    return users


def _needed_wide(web: Web, users: Mapping[Value, Sequence[Operation]]) -> list[Operation]:
    """The operations of a web whose results others read with 32 bits."""
    inside = set(web.operations)
    return [
        each
        for each in web.operations
        if is_wide(each.result) and not inside.issuperset(users.get(each.result, ()))
    ]


def _pays(
    web: Web,
    needed: Sequence[Operation],
    users: Mapping[Value, Sequence[Operation]],
    makers: Mapping[Value, Operation],
) -> bool:
    """Whether narrower operations save more bits of registers than widening their results takes.

    LLVM narrows sums of what is widened on its own, and sums widen one operand at no cost.
    """
    sums = set[Value]()
    computed = 0
    for each in web.operations:
        parts = wide_operands(each)
        if each.name in _SUMS and all(
            part in sums or makers[part].name in WIDENED for part in parts
        ):
            sums.add(each.result)
        elif each.name not in _MOVES:
            computed += 1
    taken = sum(
        any(user.name not in _WIDENING for user in users[each.result] if user not in web.operations)
        for each in needed
    )
    return computed * (_WIDE_BITS - web.bits) > taken * _WIDE_BITS


def _widen_behind(
    block: Block,
    maker: Operation,
    web: Web,
    ranges: Mapping[Value, Range],
    rewriter: Rewriter,
    users: Mapping[Value, Sequence[Operation]],
) -> None:
    """Have the users of a result that are not in its web read it cut and widened again."""
    result, inside = maker.result, set(web.operations)
    assert isinstance(result.type, TensorType)
    short = rewriter.value(result, TensorType(result.type.shape, web.element))
    wide = rewriter.value(result)
    is_signed = ranges[result][0] < 0
    cut = rewriter.operation("arith.trunci", [result], [short], {}, maker.line)
    back = rewriter.operation(
        "arith.extsi" if is_signed else "arith.extui", [short], [wide], {}, maker.line
    )
    for user in users[result]:
        if user not in inside:
            operands = [wide if each is result else each for each in user.operands]
            rewriter.set_operands(user, operands)
    at = block.operations.index(maker) + 1
    block.operations[at:at] = [cut, back]
