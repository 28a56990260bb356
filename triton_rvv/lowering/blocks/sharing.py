"""Which recipes a sink shares with others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.blocks.tensors import Tensor

__all__ = ["asked_by_others", "at_same_places", "reachable", "readers", "replaced"]


def reachable(
    roots: Sequence[Tensor], candidates: Collection[Tensor]
) -> tuple[list[Tensor], set[Tensor], list[Tensor]]:
    """All recipes under `roots`, operands first; those that nothing else uses; those to be kept.

    A recipe is exclusive where every use of it that is not over is below these roots, by way of
    exclusive ones, or of those that are kept: the `candidates` among the others.
    """
    order = _operands_first(roots)
    found = Counter(roots)
    exclusive: set[Tensor] = set()
    kept: list[Tensor] = []
    for tensor in reversed(order):
        # A recipe without uses in the kernel is a part of one other.
        if found[tensor] + tensor.finished >= max(tensor.uses, 1):
            exclusive.add(tensor)
        elif tensor in candidates:
            kept.append(tensor)
        else:
            continue
        found.update(tensor.operands)
    return order, exclusive, kept


def _operands_first(roots: Sequence[Tensor]) -> list[Tensor]:
    """All recipes under `roots`, each once and behind what it is made from."""
    order: list[Tensor] = []
    seen: set[Tensor] = set()

    def visit(tensor: Tensor) -> None:
        if tensor not in seen:
            seen.add(tensor)
            for operand in tensor.operands:
                visit(operand)
            order.append(tensor)

    for root in roots:
        visit(root)
    return order


def asked_by_others(order: Sequence[Tensor], candidates: Collection[Tensor]) -> list[Tensor]:
    """Of the candidates, those that not only others of them ask for, operands first.

    The rest is computed on the way to those, at the same places.

    Args:
        order: recipes, operands first.
    """
    asked: Counter[Tensor] = Counter()
    found: list[Tensor] = []
    for tensor in reversed(order):
        is_part = asked[tensor] > 0 and asked[tensor] + tensor.finished >= tensor.uses
        if tensor in candidates and not is_part:
            found.append(tensor)
        elif not is_part:
            continue
        if isinstance(tensor, Elementwise):
            asked.update(tensor.operands)
    return found[::-1]


def readers(roots: Sequence[Tensor], loads: Collection[Tensor]) -> set[Tensor]:
    """The recipes under `roots` that are made from one of these loads; not the loads themselves."""
    found: set[Tensor] = set()
    for tensor in _operands_first(roots):
        if tensor not in loads and any(each in loads or each in found for each in tensor.operands):
            found.add(tensor)
    return found


def at_same_places(roots: Sequence[Tensor]) -> set[Tensor]:
    """The recipes whose elements are asked for one by one, each where the roots' element is."""
    found: set[Tensor] = set()
    waiting = list(roots)
    while waiting:
        tensor = waiting.pop()
        if tensor not in found and tensor.materialised is None:
            found.add(tensor)
            if isinstance(tensor, Elementwise):
                waiting.extend(tensor.operands)
    return found


def replaced(tensor: Tensor, part: Tensor, other: Tensor) -> Tensor:
    """The same function, element by element, of `other` in place of a part of it."""
    if tensor is part:
        return other
    if not isinstance(tensor, Elementwise) or part not in tensor.walk():
        return tensor
    return tensor.on(tensor.type, [replaced(each, part, other) for each in tensor.operands])
