"""Finds stores that follow one another, and stores that may wait for the end of a turn.

Either may be written in one walk then: with one another, or with the blocks that a loop carries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.aliasing import Aliases
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.operation_kinds import WITHOUT_MEMORY
from triton_rvv.lowering.ttir.rewriter import blocks_inside

__all__ = [
    "MAY_WAIT",
    "STORE_GROUP",
    "InterleavedStores",
    "group_stores",
    "interleaved_stores",
    "sink_stores",
]

# RVV's segment stores take up to eight, but runs of more than four leave no registers.
_MAX_STORES = 4

# The attribute of stores that may be written in one walk, as late as the last of them: the number
# of their group.
STORE_GROUP = "triton_rvv.store_group"

# For the last store of a group, those before it.
InterleavedStores = Mapping[Operation, Sequence[Operation]]


def group_stores(kernel: Kernel) -> int:
    """Groups stores that may be written in one walk.

    All stores of a group are of blocks of one shape, under one mask; their elements may be of
    several sizes. Between them nothing reads what they write: neither any memory, nor, where
    arguments are disjoint, that of their arguments.
    """
    number = 0
    for block in blocks_inside(kernel.module):
        for group in _groups_of(block.operations, kernel.aliases):
            if len(group) > 1:
                for store in group:
                    store.attributes[STORE_GROUP] = number
                number += 1
    return number


def interleaved_stores(module: Operation) -> InterleavedStores:
    """The groups that `group_stores` found."""
    groups: dict[int, list[Operation]] = {}
    for operation in module.walk():
        if STORE_GROUP in operation.attributes:
            groups.setdefault(operation.integer(STORE_GROUP), []).append(operation)
    return {last: tuple(earlier) for *earlier, last in groups.values()}


@dataclass
class _Growing:
    """A group so far, and the loads behind its last store."""

    stores: list[Operation] = field(default_factory=list)
    loads: list[Value] = field(default_factory=list)


def _groups_of(operations: Sequence[Operation], aliases: Aliases) -> Iterator[list[Operation]]:
    group = _Growing()
    for operation in operations:
        if operation.name == "tt.store":
            if not group.stores or not _joins(group, operation):
                yield group.stores
                group = _Growing([operation])
            else:
                for load in group.loads:
                    for store in group.stores:
                        aliases.rely_on_apart(load, store.operands[0], False)
                group = _Growing([*group.stores, operation])
        elif operation.name == "tt.load" and _is_apart(group, operation.operands[0], aliases):
            group.loads.append(operation.operands[0])
        elif not operation.name.startswith(WITHOUT_MEMORY):
            yield group.stores
            group = _Growing()
    yield group.stores


def _joins(group: _Growing, operation: Operation) -> bool:
    """Whether a store is of a block of the group's shape, under the group's mask."""
    (_, ours, *our_mask), (_, theirs, *their_mask) = group.stores[0].operands, operation.operands
    if not isinstance(ours.type, TensorType) or not isinstance(theirs.type, TensorType):
        return False
    is_alike = (ours.type.shape, our_mask) == (theirs.type.shape, their_mask)
    return is_alike and len(group.stores) < _MAX_STORES


def _is_apart(group: _Growing, load: Value, aliases: Aliases) -> bool:
    """Whether the group's stores may wait until something has been loaded."""
    return aliases.arguments_are_disjoint and not any(
        aliases.may_overlap(load, store.operands[0]) for store in group.stores
    )


# The attribute of a store that may wait.
MAY_WAIT = "triton_rvv.may_wait"
_NO_EFFECT = (*WITHOUT_MEMORY, "tt.reduce", "tt.reshape")


def sink_stores(kernel: Kernel) -> int:
    """Finds stores that may wait until the blocks that their loop carries change.

    They do not where the loop adds up parts of such blocks (`accumulators.py`): no walk writes
    both, so what is stored would be computed again or kept.
    A store that waits comes after loads of what a loop carries, so arguments have to be disjoint.
    """
    if not kernel.aliases.arguments_are_disjoint:
        return 0
    fired = 0
    for loop in kernel.operations:
        if loop.name == "scf.for":
            for operation in reversed(loop.regions[0].block.operations[:-1]):
                if operation.name.startswith(_NO_EFFECT):
                    continue
                if operation.name == "tt.store" and _may_share_walk(operation, loop):
                    operation.attributes[MAY_WAIT] = None
                    fired += 1
                break
    return fired


def _may_share_walk(store: Operation, loop: Operation) -> bool:
    """Whether a store is of a block, and its loop takes none of that size apart."""
    elements, operations = math.prod(store.operands[1].shape), loop.regions[0].block.operations
    taken_apart = [each.result.shape for each in operations if each.name == "tt.reshape"]
    return bool(store.operands[1].shape) and elements not in map(math.prod, taken_apart)
