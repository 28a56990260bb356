"""Loads whose masked-off lanes are dead, so that they need not be filled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from triton_rvv.lowering.addresses.masks import TRUE, Mask
from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.memory.load_recipe import Load

__all__ = ["without_dead_lanes"]


@contextmanager
def without_dead_lanes(
    values: Sequence[Tensor], others: Sequence[Tensor], where: Mask | None
) -> Iterator[None]:
    """Inside the `with`, loads give anything in lanes that are left out and not stored either.

    Args:
        values: what is stored.
        others: all else that the walk asks for, such as addresses.
        where: the mask of the stores.
    """
    loads = [] if where is None else _dead_where_masked(values, others, where)
    for load in loads:
        load.fills = False
    try:
        yield
    finally:
        for load in loads:
            load.fills = True


def _dead_where_masked(
    values: Sequence[Tensor], others: Sequence[Tensor], where: Mask
) -> list[Load]:
    """The loads under the mask of a store whose lanes stay in place until they are stored."""
    seen, found = [where, *others], dict[Load, None]()
    waiting, known = list(values), set[Tensor]()
    while waiting:
        tensor = waiting.pop()
        if tensor in known:
            continue
        known.add(tensor)
        if tensor.materialised is not None:
            continue
        if isinstance(tensor, Elementwise) and tensor.filling is None:
            waiting += tensor.operands
        elif isinstance(tensor, Load) and tensor.filling is None and _is_under(tensor, where):
            found[tensor] = None
            seen += tensor.operands
        else:
            seen.append(tensor)
    below = {tensor for root in seen for tensor in root.walk()}
    return [load for load in found if load not in below]


def _is_under(load: Load, where: Mask) -> bool:
    """Whether a store's mask is false wherever that of a load is."""
    mask = load.mask
    return (
        mask is not None
        and all(term in where.terms for term in mask.terms)
        and all(other in where.operands for other in mask.operands)
        and mask.uniform in (TRUE, where.uniform)
    )
