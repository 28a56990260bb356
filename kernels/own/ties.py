"""Which of equal elements a kernel chooses: a tie, where its reference chooses another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

__all__ = ["is_place", "on_tie", "tied_input"]

_INTEGER = re.compile(r"(\w+)\[(\d+)\] is (\d+) and should be (\d+)(?=$|;|,)")


def is_place(mismatch: str) -> bool:
    """Whether the first wrong element may be the place of an element in a row."""
    return _INTEGER.match(mismatch) is not None


def tied_input(mismatch: str, values: Mapping[str, Any], inputs: Iterable[str]) -> str:
    """The name of an input that is the same at both places, where the first wrong element is the
    place of an element in a row; else "".

    Args:
        mismatch: as `Outcome` has it.
        values: of the arguments.
        inputs: names of those that may be it.
    """
    found = _INTEGER.match(mismatch)
    if found is None or found[1] not in values:
        return ""
    output = values[found[1]]
    if not isinstance(output, torch.Tensor) or output.is_floating_point():
        return ""
    index, chosen, expected = (int(found[part]) for part in (2, 3, 4))
    tensors = ((n, values[n]) for n in inputs if isinstance(values[n], torch.Tensor))
    rows = ((name, row) for name, tensor in tensors for row in _rows(tensor, output, index))
    return next((name for name, row in rows if _is_same(row, chosen, expected)), "")


def _rows(tensor: torch.Tensor, output: torch.Tensor, index: int) -> list[torch.Tensor]:
    """The rows of a tensor of which an element of the output may be a place, as argmax and topk
    give it."""
    if not tensor.is_floating_point() or index >= output.numel():
        return []
    place = [int(number) for number in np.unravel_index(index, tuple(output.shape))]
    rows = []
    for dimension in range(tensor.dim()):
        others = _without(tensor.shape, dimension)
        turned = tensor.movedim(dimension, -1)
        if tuple(output.shape) == others:
            rows.append(turned[tuple(place)])
        elif output.dim() == tensor.dim() and _without(output.shape, dimension) == others:
            rows.append(turned[_without(place, dimension)])
    return rows


def _without(sizes: Sequence[int], dimension: int) -> tuple[int, ...]:
    return (*sizes[:dimension], *sizes[dimension + 1 :])


def _is_same(row: torch.Tensor, chosen: int, expected: int) -> bool:
    return max(chosen, expected) < len(row) and bool(row[chosen] == row[expected])


def on_tie(name: str, mismatch: str) -> str:
    """That of equal elements of an input the kernel chooses others than its reference."""
    return (
        f"where elements of {name} are equal, the default configuration chooses another of them "
        f"than reference, as at the first of these: {mismatch}; what it chooses is as large, so "
        "the check leaves out such ties"
    )
