"""Which loads come before a store, since it changes what they would read later."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Value
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.memory_overlap import is_range
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.rules import no, rule
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.loops.vector_shape import vector_width
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.ttir.access import Access

__all__ = [
    "StorePart",
    "endangered_loads",
    "materialise_overlapping",
    "may_change",
    "read_on_the_way",
    "targets_are_apart",
]


@dataclass(frozen=True)
class StorePart:
    """What one store does: `value` goes to `addresses`, which come from the pointers `target`.

    `access` is what is known of them before code is written.
    """

    target: Value
    addresses: Affine
    value: Tensor
    access: Access | None


def materialise_overlapping(
    context: Context, loads: Sequence[Load], part: StorePart, at_once: Sequence[StorePart]
) -> list[Load]:
    """Carry out the loads of which a store would change what is read later.

    What it reads and changes element by element is not among them, if all stores of a walk happen
    `at_once`: otherwise the second one may read it again after the first one. Addresses, too, are
    computed when their store comes.

    Returns:
        Those that are left, since only run time tells whether the store changes them.
    """
    addresses = {tensor for each in at_once for tensor in each.addresses.walk()}
    left = []
    for load in loads:
        on_the_way = at_once and load.is_each_element_of(part.addresses) and load not in addresses
        if on_the_way or not context.aliases.may_overlap(load.source, part.target):
            continue
        if at_once and load not in addresses and _may_be_apart(context, load, part):
            left.append(load)
        else:
            materialise.materialise(context, load)
    return left


@rule("find-apart", no)
def _may_be_apart(context: Context, load: Load, part: StorePart) -> bool:
    """Whether it pays to find out at run time that a load is not changed by a store.

    Rows of one array lie between one another, so that blocks of several seldom seem apart.
    """
    is_long_row = load.type.elements == load.shape[-1] > vector_width(context, [load])
    return is_long_row and is_range(load.pointers) and is_range(part.addresses)


def may_change(context: Context, target: Value, load: Tensor) -> bool:
    """Whether what a load reads may be different after a store."""
    aliases = context.aliases
    if not aliases.arguments_are_disjoint or not isinstance(load, Load):
        return True
    return aliases.may_overlap(load.source, target)


def endangered_loads(
    context: Context, loads: Sequence[Load], part: StorePart, at_once: bool
) -> list[Load]:
    """The loads that are carried out while or after a store changes memory.

    Returns:
        Those that are wrong where two arguments of the kernel lead to the same memory; none where
        the code relies on that they do not.
    """
    aliases = context.aliases
    put_off = [load for load in loads if load.materialised is None]
    endangered = [load for load in put_off if not aliases.may_overlap(load.source, part.target)]
    if not aliases.arguments_are_disjoint:
        return endangered
    for load in endangered:
        on_the_way = at_once and load not in context.pending_loads
        parallel = load.is_parallel_to(part.addresses)
        aliases.rely_on_apart(load.source, part.target, on_the_way and parallel)
    return []


def read_on_the_way(context: Context, loads: Sequence[Load], part: StorePart) -> list[Load]:
    """The loads of what a store changes that are carried out in its walk, element by element.

    Or of what it changes where two arguments are the same array, on which the code then relies.
    """
    apart = context.aliases.arguments_are_disjoint
    return [
        load
        for load in loads
        if load.materialised is None
        and load not in context.pending_loads
        and load.is_parallel_to(part.addresses)
        and (apart or context.aliases.may_overlap(load.source, part.target))
    ]


def targets_are_apart(context: Context, parts: Sequence[StorePart]) -> bool:
    """Whether no part writes where another one does."""
    aliases = context.aliases
    return aliases.arguments_are_disjoint and not any(
        aliases.may_overlap(one.target, other.target)
        for one, other in itertools.combinations(parts, 2)
    )
