"""Makes one reduction of two along the same dimension that load or compute the same elements.

So each element is read and computed once for both, as for the two sums along a row in the backward
pass of a layer normalisation, and for the forces between points along each axis.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

from triton_rvv.frontend.ttir import Block, Operation, Region, Value
from triton_rvv.lowering.ttir.combining import operation_of_each
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.operation_kinds import WITHOUT_MEMORY
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["join_reductions"]

# What may stand between the two: nothing that changes memory, and no control flow.
_BETWEEN = (*WITHOUT_MEMORY, "tt.load", "tt.reduce", "tt.reshape")
# What takes long to compute, so that an array would hold it between two walks.
_COSTLY = (
    *("arith.divf", "math.exp", "math.log", "math.sqrt", "math.rsqrt", "math.sin", "math.cos"),
    *("math.erf", "math.tanh", "tt.precise_"),
)


def join_reductions(kernel: Kernel) -> int:
    """Makes one reduction of two that load or compute the same elements."""
    if sum(each.name == "tt.reduce" for each in kernel.module.walk()) < 2:
        return 0
    rewriter, fired = Rewriter(kernel.module), 0
    for block in blocks_inside(kernel.module):
        joiner, place = _Joiner(block, rewriter), 0
        while place < len(block.operations):
            if joiner.join(place):
                fired += 1  # and what came of it may join a third
            else:
                place += 1
    return fired


class _Joiner:
    """Joins reductions of one block."""

    def __init__(self, block: Block, rewriter: Rewriter) -> None:
        self._block = block
        self._rewriter = rewriter
        # A sort has hundreds of reductions, and each is looked at from all those before it.
        self._made = functools.cache(functools.partial(_made, makers=rewriter.makers))
        self._used = functools.cache(_used)
        self._may_join = functools.cache(_may_join)

    def join(self, place: int) -> bool:
        """Join the operation at a place with the first one behind it that may be, if any."""
        operations = self._block.operations
        first = operations[place]
        if not self._may_join(first):
            return False
        needing, given = set(), set(first.results)
        for second_place in range(place + 1, len(operations)):
            second = operations[second_place]
            if not second.name.startswith(_BETWEEN):
                return False
            if not given.isdisjoint(self._used(second)):
                needing.add(second_place)
                given.update(second.results)
            elif self._may_join(second) and _share_elements(first, second, self._made):
                between = range(place + 1, second_place)
                before = [operations[n] for n in between if n not in needing]
                after = [operations[n] for n in between if n in needing]
                joint = _joined(first, second, self._rewriter)
                operations[place : second_place + 1] = [*before, joint, *after]
                return True
        return False


def _may_join(operation: Operation) -> bool:
    return operation.name == "tt.reduce" and bool(operation_of_each(operation))


def _share_elements(
    first: Operation, second: Operation, made: Callable[[Operation], set[Value]]
) -> bool:
    """Whether two reductions are along one dimension, and of what is made once for both.

    Args:
        made: what `_made` gives for a reduction.
    """
    shapes = {each.operands[0].shape for each in (first, second)}
    is_along_one = first.integer("axis") == second.integer("axis") and len(shapes) == 1
    return is_along_one and bool(made(first) & made(second))


def _made(reduction: Operation, makers: Mapping[Value, Operation]) -> set[Value]:
    """The blocks, as large as what is reduced, that are loaded on the way or take long."""
    size = math.prod(reduction.operands[0].shape)
    found, waiting, seen = set(), list(reduction.operands), set()
    while waiting:
        value = waiting.pop()
        if value not in seen and math.prod(value.shape) == size:
            seen.add(value)
            maker = makers.get(value)
            if maker is not None and maker.name.startswith(("tt.load", *_COSTLY)):
                found.add(value)
            if maker is not None and maker.name not in ("tt.load", "tt.reduce"):
                waiting.extend(maker.operands)
    return found


def _used(user: Operation) -> set[Value]:
    return {operand for operation in user.walk() for operand in operation.operands}


def _joined(first: Operation, second: Operation, rewriter: Rewriter) -> Operation:
    blocks = [each.regions[0].block for each in (first, second)]
    halves = [
        [argument for block in blocks for argument in _half(block, side)] for side in range(2)
    ]
    operations = [operation for block in blocks for operation in block.operations[:-1]]
    ends = [block.operations[-1] for block in blocks]
    returned = [value for end in ends for value in end.operands]
    end = rewriter.operation(ends[0].name, returned, [], ends[0].attributes, ends[0].line)
    region = Region([Block("", [*halves[0], *halves[1]], [*operations, end])])
    operands, results = [*first.operands, *second.operands], [*first.results, *second.results]
    joint = rewriter.operation(
        first.name, operands, results, first.attributes, second.line, [region]
    )
    for replaced in (first, second, *ends):
        rewriter.set_operands(replaced, [])
    return joint


def _half(block: Block, side: int) -> list[Value]:
    count = len(block.arguments) // 2
    return block.arguments[side * count : (side + 1) * count]
