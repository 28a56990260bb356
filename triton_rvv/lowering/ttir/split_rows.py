"""Computes rows that begin at columns of their own one after another, where columns have a limit.

    frame = arange(0, 8)                        for first in range(0, 8):
    at = abs(frame * HOP + i - N)                   at = abs(first * HOP + i - N)
    store(q + frame * SIZE + i, x[at])              store(q + first * SIZE + i, x[at])

Each row reaches its limits elsewhere. By itself, it is a line whose parts are contiguous; among
others, all of its elements would be gathered.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.lowering.ttir.column_limits import column_limits
from triton_rvv.lowering.ttir.dimensions import Dimension, dimensions_of
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.parts_apart import DONE_AGAIN
from triton_rvv.lowering.ttir.rewriter import Rewriter, block_of
from triton_rvv.lowering.ttir.split_blocks import is_splittable, may_split, split

__all__ = ["split_rows"]

# In shorter rows, to find where their parts end takes as long as to gather them.
_LEAST_COLUMNS = 32


def split_rows(kernel: Kernel) -> int:
    """Computes rows that begin at columns of their own one by one, where columns have a limit."""
    if not is_splittable(kernel):
        return 0
    rewriter = Rewriter(kernel.module)
    lines = _Lines(rewriter.makers)
    for limit in column_limits([*kernel.function.walk()]):
        shape = limit.result.shape
        is_long = len(shape) == 2 and shape[0] > 1 and shape[1] >= _LEAST_COLUMNS
        if is_long and lines.begin_anywhere(limit):
            dimension = dimensions_of(kernel.function)[limit.result, 0]
            return _split_around(limit, dimension, kernel, rewriter)
    return 0


def _split_around(
    limit: Operation, dimension: Dimension, kernel: Kernel, rewriter: Rewriter
) -> bool:
    """Compute rows one after another where a limit is: in the kernel, or in a loop's turn."""
    function = kernel.function
    if _is_reduced(dimension, block_of(limit, function)):
        return False
    for around in (function, *(each for each in function.walk() if each.name == "scf.for")):
        moved, body = _before(around, dimension, kernel), around.regions[0].block
        is_around = any(each is limit for each in around.walk())
        if is_around and moved is not None and may_split(dimension, around, body, kernel):
            outer = function.regions[0].block
            outer.operations = [each for each in outer.operations if each not in moved]
            body.operations = [*moved, *body.operations]
            split(dimension, 1, around, kernel, rewriter)
            return True
    return False


def _is_reduced(dimension: Dimension, block: Block) -> bool:
    """Whether rows are reduced where they have a limit: that goes over them whole, not in parts."""
    reductions = [each for each in block.operations if each.name == "tt.reduce"]
    read = {value for each in reductions for value in each.operands}
    return any(len(value.shape) > 1 for value in dimension.blocks & read)


def _before(around: Operation, dimension: Dimension, kernel: Kernel) -> list[Operation] | None:
    """What a loop needs of a dimension and may compute itself; None where others need it, too."""
    if around is kernel.function:
        return []
    loop, inside = around, set(around.walk())
    carried = [*loop.operands, *loop.results, *loop.regions[0].block.arguments]
    outer = kernel.function.regions[0].block.operations
    others = [
        each
        for each in kernel.function.walk()
        if each not in inside and not dimension.blocks.isdisjoint([*each.operands, *each.results])
    ]
    is_alone = loop in outer and all(each in outer for each in others)
    is_cheap = all(each.name.startswith(DONE_AGAIN) for each in others)
    return others if is_alone and is_cheap and dimension.blocks.isdisjoint(carried) else None


class _Along(IntEnum):
    """How elements follow one another along a dimension; sums have the later one of two."""

    SAME = 0
    LINE = 1
    ANYHOW = 2


@dataclass(frozen=True)
class _Lines:
    """How elements of blocks follow one another: of a line, along its columns alone."""

    makers: Mapping[Value, Operation]
    found: dict[Value, tuple[_Along, _Along]] = field(default_factory=dict)

    def begin_anywhere(self, limit: Operation) -> bool:
        """Whether each row is a line with limits, and another one than the rows beside it."""
        operands = limit.operands
        if limit.name == "arith.select":
            condition = self.makers.get(operands[0])
            if condition is None or condition.name != "arith.cmpi":
                return False
            operands = [*operands[1:], *condition.operands]
        elif limit.name == "arith.remsi" and self.of(operands[1])[1] is not _Along.SAME:
            return False
        rows, columns = functools.reduce(_both, map(self.of, operands))
        return columns is _Along.LINE and rows is not _Along.SAME

    def of(self, value: Value) -> tuple[_Along, _Along]:
        """Along rows and along columns."""
        if value not in self.found:
            self.found[value] = self._made_by(self.makers.get(value), value)
        return self.found[value]

    def _made_by(self, maker: Operation | None, value: Value) -> tuple[_Along, _Along]:
        anyhow = _Along.ANYHOW if value.shape else _Along.SAME
        if maker is None:
            return anyhow, anyhow
        if maker.name in ("arith.constant", "tt.splat"):
            return _Along.SAME, _Along.SAME
        if maker.name == "tt.make_range":
            return _Along.SAME, _Along.LINE
        operands = [self.of(each) for each in maker.operands]
        if maker.name == "tt.expand_dims" and len(value.shape) == 2:
            return (
                (_Along.SAME, operands[0][1])
                if value.shape[0] == 1
                else (operands[0][1], _Along.SAME)
            )
        if maker.name == "arith.muli" and min(each[1] for each in operands) is _Along.LINE:
            return anyhow, anyhow
        if maker.name in _KEEP_LINES:
            return functools.reduce(_both, operands)
        return anyhow, anyhow


_KEEP_LINES = frozenset(
    [
        *("arith.addi", "arith.subi", "arith.muli", "arith.extsi", "tt.broadcast"),
        *("arith.minsi", "arith.maxsi", "math.absi", "arith.select", "arith.remsi"),
    ]
)


def _both(one: tuple[_Along, _Along], other: tuple[_Along, _Along]) -> tuple[_Along, _Along]:
    return max(one[0], other[0]), max(one[1], other[1])
