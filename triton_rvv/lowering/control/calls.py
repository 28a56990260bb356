"""Functions that are called, and bodies of several blocks: what early returns make of them.

A call is lowered as the body of the function in its place:

```
... -> entry -> other blocks ... -> after, where the results are read
```
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.control.control import read_slots, result_slot, update_slots
from triton_rvv.lowering.control.loop_carried import Slot
from triton_rvv.lowering.loops import materialise

__all__ = ["HANDLERS", "lower_body"]


def lower_body(context: Context, blocks: Sequence[Block]) -> None:
    """Lower the body of the kernel itself."""
    _Body(context, blocks, lambda _: context.builder.do("ret void")).lower()


def _call(context: Context, operation: Operation) -> None:
    blocks = context.callee(operation).regions[0].blocks
    for argument, value in zip(blocks[0].arguments, operation.operands, strict=True):
        context.bind(argument, context.lowered(value))
    if len(blocks) == 1:
        returned = context.lower_block(blocks[0])
        for result, value in zip(operation.results, returned, strict=True):
            context.bind(result, context.lowered(value))
        return
    slots = [result_slot(context, value.type) for value in operation.results]
    after = context.builder.fresh_label("after")

    def leave(values: Sequence[Value]) -> None:
        update_slots(context, slots, [context.lowered(value) for value in values])
        context.builder.branch(after)

    _Body(context, blocks, leave).lower()
    context.builder.label(after)
    read_slots(context, operation.results, slots)


class _Body:
    """The blocks of a function; control only flows forward from one to another."""

    def __init__(
        self, context: Context, blocks: Sequence[Block], leave: Callable[[Sequence[Value]], None]
    ) -> None:
        self._context = context
        self._blocks = blocks
        self._leave = leave
        self._labels = {block.label: context.builder.fresh_label("block") for block in blocks}
        self._slots: Mapping[str, Sequence[Slot]] = {
            block.label: [result_slot(context, argument.type) for argument in block.arguments]
            for block in blocks[1:]
        }

    def lower(self) -> None:
        entry, *others = self._blocks
        self._context.lower_block(entry)
        self._end(entry.operations[-1])
        for block in others:
            self._context.builder.label(self._labels[block.label])
            with self._context.region():
                read_slots(self._context, block.arguments, self._slots[block.label])
                self._context.lower_block(block)
                self._end(block.operations[-1])

    def _end(self, terminator: Operation) -> None:
        """Loads that later blocks use are carried out while memory is as it was."""
        materialise.materialise_loads(self._context)
        if not terminator.successors:
            self._leave(terminator.operands)
            return
        edges = [functools.partial(self._follow, *edge) for edge in terminator.edges]
        if len(edges) == 1:
            edges[0]()
            return
        builder = self._context.builder
        sides = [builder.fresh_label(hint) for hint in ("then", "else")]
        builder.branch_if(self._context.scalar(terminator.operands[0]), sides[0], sides[1])
        for side, edge in zip(sides, edges, strict=True):
            builder.label(side)
            edge()

    def _follow(self, label: str, values: Sequence[Value]) -> None:
        lowered = [self._context.lowered(value) for value in values]
        with self._context.region():
            update_slots(self._context, self._slots[label], lowered)
        self._context.builder.branch(self._labels[label])


HANDLERS: Mapping[str, Handler] = {"tt.call": _call}
