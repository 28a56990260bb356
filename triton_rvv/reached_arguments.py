"""Which of a kernel's pointers are loaded from, and which are stored to, by its TTIR."""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.ttir.aliasing import Aliases

__all__ = ["ReachedArguments", "reached_arguments", "unwritten_arguments"]

# By operation, the operands that lead to memory.
_LOADS = frozenset({"tt.load", "tt.descriptor_load", "tt.descriptor_gather"})
_STORES = frozenset({"tt.store", "tt.descriptor_store", "tt.descriptor_scatter"})
_ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce"})


@dataclass(frozen=True)
class ReachedArguments:
    """Positions of a function's arguments, which are those that are no constants.

    Args:
        loaded: those that a load may read, atomic operations included.
        stored: those that a store may write, atomic operations included.
        has_while: whether it has a loop that ends by a condition, which some data may never meet.
    """

    loaded: frozenset[int]
    stored: frozenset[int]
    has_while: bool


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
    loaded, stored = set[int](), set[int]()
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
        if operation.name in _STORES | _ATOMICS:
            stored |= reached
    return ReachedArguments(frozenset(loaded), frozenset(stored), has_while)


def unwritten_arguments(module: Operation) -> frozenset[int]:
    """The arguments that no store or atomic operation writes to, if each has memory of its own."""
    reached = reached_arguments(module)
    return frozenset() if reached is None else reached.loaded - reached.stored
