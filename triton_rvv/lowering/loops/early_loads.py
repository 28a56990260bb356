"""Loads of a loop's next turn, carried out beside the arithmetic of this one.

An in-order core waits for each load in front of arithmetic, though the load/store unit is free
while the vector unit works. A turn earlier, both work at once, without prefetches too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.llvm.variable import Variable

__all__ = ["EarlyLoads", "early_loads"]

T = TypeVar("T")

# Registers, of 32, for what is loaded early and two values of each run that is computed meanwhile.
_MAX_REGISTERS = 24
# Arithmetic for each register that is loaded: with less, a turn's own overhead is more than what
# is hidden, and with more, hardly any of the time is memory's.
_LEAST, _MOST = 3.25, 40


@dataclass(frozen=True)
class EarlyLoads:
    """Loads of a walk that are carried out a turn early."""

    context: Context
    loads: Sequence[Tensor]

    def visit(
        self,
        step: int,
        evaluate: Callable[[VectorIndex], T],
        commit: Callable[[VectorIndex, T], None],
        group: Callable[[Val], list[VectorIndex]],
        end: Val,
    ) -> None:
        """Visit the leading part of a row, where each turn has its elements from the one before.

        The last turn loads its own elements again, since none are known to follow.

        Args:
            step: the elements of a turn.
            group: the runs of a turn that begins at a position.
            end: how many elements there are, a multiple of `step`, as i64.
        """
        builder = self.context.builder

        def turns() -> None:
            kept = [
                [Variable(builder, value) for value in run]
                for run in self._loaded(group(integer(0)))
            ]
            last = builder.add(end, integer(-step))
            with builder.loop(integer(0), end, integer(step)) as start:
                points = group(start)
                self._bring(points, kept)
                next_start = builder.add(start, integer(step))
                following = group(builder.smin(next_start, last))
                outcomes, loaded = builder.beside(
                    [functools.partial(evaluate, point) for point in points],
                    functools.partial(self._loaded, following),
                )
                for point, outcome in zip(points, outcomes, strict=True):
                    commit(point, outcome)
                for run, values in zip(kept, loaded, strict=True):
                    for variable, value in zip(run, values, strict=True):
                        variable.write(value)

        builder.branches(builder.compare("sgt", end, integer(0)), turns, likely=True)

    def _loaded(self, points: Sequence[VectorIndex]) -> list[list[Val]]:
        return [[each.at(self.context.builder, point) for each in self.loads] for point in points]

    def _bring(self, points: Sequence[VectorIndex], kept: Sequence[Sequence[Variable]]) -> None:
        """Have the loads find what the turn before has loaded for these runs."""
        builder = self.context.builder
        for point, run in zip(points, kept, strict=True):
            for each, variable in zip(self.loads, run, strict=True):
                each.remember(builder, point, variable.read())


@rule("load-early", nothing)
def early_loads(
    context: Context, tensors: Sequence[Tensor], width: int, together: int
) -> EarlyLoads | None:
    """The loads of a block that are best carried out a turn early on the plain path.

    None where there is too little arithmetic to hide them behind, or where that leaves it too few
    registers.

    Args:
        tensors: what a walk asks for.
    """
    machine, register_bits = context.target.machine, context.builder.abilities.rvv_bits
    if not (machine.issues_in_order and register_bits):
        return None
    loads = [each for each in _in_place(tensors) if each.own_reads_again]
    below = recipes_under(tensors)
    others = [each for each in below if each not in loads and each.materialised is None]
    if any(each.own_reads_again or each.own_cost >= EXPENSIVE for each in others):
        return None
    loaded = width * sum(load.element.bits for load in loads) / register_bits
    computed = width * sum(each.own_cost * each.own_bits() for each in others) / register_bits
    is_hidden = _LEAST * loaded <= computed <= _MOST * loaded
    value = width * max(each.own_bits() for each in below) / register_bits
    fits = together * (loaded + 2 * value) <= _MAX_REGISTERS
    return EarlyLoads(context, loads) if loads and is_hidden and fits else None


def _in_place(tensors: Sequence[Tensor]) -> list[Tensor]:
    """What is computed from elements at the same places, down to what is read from memory."""
    found, waiting = dict[Tensor, None](), [*tensors]
    while waiting:
        tensor = waiting.pop()
        if tensor in found or tensor.materialised is not None or not tensor.own_stays_in_place:
            continue
        found[tensor] = None
        if not tensor.own_reads_again:
            waiting += tensor.operands
    return [each for each in found if each.filling is None and each.shape == tensors[0].shape]
