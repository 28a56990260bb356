"""Which of a kernel's pointers are loaded from, and which are stored to, by its TTIR."""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.memory.atomics import is_atomic_for_all
from triton_rvv.lowering.ttir.aliasing import Aliases

__all__ = ["ReachedArguments", "reached_arguments", "unwatched_arguments"]

# By operation, the operands that lead to memory.
_LOADS = frozenset({"tt.load", "tt.descriptor_load", "tt.descriptor_gather"})
_STORES = frozenset({"tt.store", "tt.descriptor_store", "tt.descriptor_scatter"})
_ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce"})

_SHIFTS = frozenset({"arith.shli", "arith.shrsi", "arith.shrui"})

_EXCHANGE = 10  # of Triton's enumeration of updates


@dataclass(frozen=True)
class ReachedArguments:
    """Positions of a function's arguments, which are those that are no constants.

    Args:
        loaded: those that a load may read, atomic operations included.
        stored: those that a store may write, atomic operations included.
        only_updated: those that atomic operations alone reach, all of one kind, which come to the
            same in any order, and tell their programs nothing: no result of theirs is used.
        has_while: whether it has a loop that ends by a condition, which some data may never meet.
        shifted_by: those that are loaded from for how far a shift goes, which is defined for fewer
            numbers than others: machines differ beyond the width of what is shifted.
    """

    loaded: frozenset[int]
    stored: frozenset[int]
    only_updated: frozenset[int]
    has_while: bool
    shifted_by: frozenset[int]

    @property
    def shared(self) -> frozenset[int]:
        """Those by which a program may learn what another wrote."""
        return (self.loaded & self.stored) - self.only_updated


def reached_arguments(module: Operation) -> ReachedArguments | None:
    """What a kernel's loads and stores may reach; None where that cannot be followed.

    Args:
        module: the kernel's TTIR, parsed.
    """
    (block,) = module.regions[0].blocks
    functions = [op for op in block.operations if op.name == "tt.func"]
    if len(functions) != 1:
        return None  # pointers may be passed on to the others
    aliases = Aliases(functions[0], arguments_are_disjoint=True)
    amounts = _amounts(functions[0])
    loaded, stored, otherwise, shifted_by = set[int](), set[int](), set[int](), set[int]()
    updates: dict[int, set[int]] = {}
    has_while = False
    for operation in functions[0].walk():
        has_while |= operation.name == "scf.while"
        if operation.name not in _LOADS | _STORES | _ATOMICS:
            continue
        reached = aliases.arguments_of(operation.operands[0])
        if reached is None:
            return None
        if operation.name in _LOADS | _ATOMICS:
            loaded |= reached
        if operation in amounts:
            shifted_by |= reached
        if operation.name in _STORES | _ATOMICS:
            stored |= reached
        if not _only_updates(operation):
            otherwise |= reached
            continue
        for number in reached:
            updates.setdefault(number, set()).add(operation.integer("atomic_rmw_op"))
    alike = {number for number, kinds in updates.items() if len(kinds) == 1}
    return ReachedArguments(
        *(frozenset(loaded), frozenset(stored), frozenset(alike - otherwise)),
        has_while,
        frozenset(shifted_by),
    )


def _amounts(function: Operation) -> set[Operation]:
    """The loads whose values tell how far a shift goes, carried values of loops aside."""
    makers = {result: one for one in function.walk() for result in one.results}
    shifts = (one for one in function.walk() if one.name in _SHIFTS)
    left, found = [one.operands[1] for one in shifts], set[Operation]()
    while left:
        maker = makers.pop(left.pop(), None)
        if maker is None:
            continue
        if maker.name in _LOADS:
            found.add(maker)
        else:
            left += maker.operands
    return found


def _only_updates(operation: Operation) -> bool:
    """Whether it is atomic for the whole grid, in any order the same, and tells nothing."""
    return (
        operation.name == "tt.atomic_rmw"
        and operation.integer("atomic_rmw_op") != _EXCHANGE
        and is_atomic_for_all(operation)
        and not operation.result.uses
    )


def unwatched_arguments(reached: ReachedArguments | None) -> frozenset[int]:
    """The arguments through which no race can show, if each has memory of its own.

    No store or atomic operation writes to them, or all programs only update them, and learn nothing
    from one another elsewhere either.
    """
    if reached is None:
        return frozenset()
    updated = frozenset[int]() if reached.shared else reached.only_updated
    return (reached.loaded - reached.stored) | updated
