"""Checks that the IR is whole: values are defined before use, blocks end, types fit, uses count.

A rewrite that breaks one of these is a bug of that rewrite; tests verify after every pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from triton_rvv.frontend.ttir import Block, Operation, Region, Value
from triton_rvv.frontend.ttir_signatures import TERMINATORS, problem_of

__all__ = ["InvalidIRError", "verify"]


class InvalidIRError(Exception):
    """The IR breaks one of its own rules; the message says which operation and how."""


def verify(module: Operation) -> None:
    """Check a module, or any operation that uses nothing from outside.

    Raises:
        InvalidIRError: for the first thing that is wrong.
    """
    _Verifier().operation(module, frozenset())
    _check_uses(module)


class _Verifier:
    """Goes through operations in order, with the values that each may use."""

    def __init__(self) -> None:
        self._defined: set[Value] = set()

    def operation(self, operation: Operation, visible: frozenset[Value]) -> None:
        """Check one operation and what is inside."""
        for operand in operation.operands:
            if operand not in visible:
                raise _invalid(operation, f"{operand.name} is not defined before this use")
        self._define(operation, operation.results, visible)
        is_isolated = operation.name in ("tt.func", "builtin.module")
        for region in operation.regions:
            self._region(operation, region, frozenset() if is_isolated else visible)
        if problem := problem_of(operation):
            raise _invalid(operation, problem)

    def _region(self, parent: Operation, region: Region, outer: frozenset[Value]) -> None:
        for block in region.blocks:
            self._define(parent, block.arguments, outer)
            self._check_end(parent, block)
        dominators = _dominators(region.blocks)
        made = {block.label: _made_in(block) for block in region.blocks}
        for block in region.blocks:
            above = (made[label] for label in dominators[block.label] if label != block.label)
            self._block(block, outer.union(*above))

    def _block(self, block: Block, visible: frozenset[Value]) -> None:
        visible = visible.union(block.arguments)
        for operation in block.operations:
            self.operation(operation, visible)
            visible = visible.union(operation.results)

    def _define(
        self, operation: Operation, values: Iterable[Value], visible: frozenset[Value]
    ) -> None:
        """Note new values; the text would not tell one from another of its name that is visible."""
        names = {value.name for value in visible}
        for value in values:
            if value in self._defined or value.name in names:
                raise _invalid(operation, f"{value.name} is defined twice")
            self._defined.add(value)
            names.add(value.name)

    def _check_end(self, parent: Operation, block: Block) -> None:
        if parent.name == "builtin.module":
            return
        if not block.operations or block.operations[-1].name not in TERMINATORS:
            raise _invalid(parent, f"block ^{block.label} has no terminator")
        for operation in block.operations[:-1]:
            if operation.name in TERMINATORS:
                raise _invalid(operation, "a terminator stands inside a block")


def _dominators(blocks: list[Block]) -> Mapping[str, set[str]]:
    """For each block, the labels of those on every way to it, by the usual fixed point.

    A block that is never reached is dominated by all, as MLIR has it.
    """
    labels = {block.label for block in blocks}
    found = {block.label: set(labels) for block in blocks}
    if blocks:
        found[blocks[0].label] = {blocks[0].label}
    before: dict[str, list[str]] = {label: [] for label in labels}
    for block in blocks:
        for successor in block.operations[-1].successors if block.operations else ():
            before[successor].append(block.label)
    changed = True
    while changed:
        changed = False
        for block in blocks[1:]:
            ways = [found[label] for label in before[block.label]]
            now = {block.label} | (set.intersection(*ways) if ways else labels)
            changed |= now != found[block.label]
            found[block.label] = now
    return found


def _made_in(block: Block) -> frozenset[Value]:
    results = (result for operation in block.operations for result in operation.results)
    return frozenset([*block.arguments, *results])


def _check_uses(module: Operation) -> None:
    """Each value's count of uses is how often it is an operand."""
    used = Counter(operand for operation in module.walk() for operand in operation.operands)
    for operation in module.walk():
        blocks = (block for region in operation.regions for block in region.blocks)
        for value in [*operation.results, *(a for block in blocks for a in block.arguments)]:
            if value.uses != used[value]:
                count = f"{value.name} counts {value.uses} uses and has {used[value]}"
                raise _invalid(operation, count)


def _invalid(operation: Operation, problem: str) -> InvalidIRError:
    results = ", ".join(value.name for value in operation.results)
    place = f"{results} = {operation.name}" if results else operation.name
    return InvalidIRError(f"{place}: {problem}")
