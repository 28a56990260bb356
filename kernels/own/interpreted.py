"""Runs the default configuration of a kernel without a reference in Triton's interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from kernels.own.accesses import accesses_of
from kernels.own.launch import Launch
from kernels.own.reference_runs import RunFailed, Way, runs
from kernels.own.tolerance import is_finite, is_near, relative_tolerance, share_of

__all__ = ["interpreted"]

_Run = dict[str, torch.Tensor]


def interpreted(
    launch: Launch, starts: Sequence[dict[str, Any]], way: Way, compiled: Way
) -> tuple[_Run, list[_Run]]:
    """The tensors after runs from each of several values; only the first is interpreted where the
    compiled kernel agrees, since the others tell no more than how its outputs change.

    Args:
        launch: with the default configuration.
        starts: the values; the second fill uninitialised memory in another way, and the others are
            the first, disturbed.
        way: interprets.
        compiled: the same without.

    Returns:
        After the first, by the interpreter; and after each of them, all by one way.

    Raises:
        RunFailed: if the interpreter fails or takes too long.
    """
    (first,) = runs(launch, starts[:1], way)
    if len(starts) == 1:
        return first, [first]
    try:
        after = runs(launch, starts, compiled)
    except RunFailed:
        return first, runs(launch, starts, way)
    share, rounded_to = share_of(starts[0]), accesses_of(launch).rounded_to
    for name, tensor in first.items():
        draws = [one[name] for one in after[2:]]
        if not _agree(tensor, after[0][name], draws, share, rounded_to):
            return first, runs(launch, starts, way)
    return first, after


def _agree(
    tensor: torch.Tensor,
    compiled: torch.Tensor,
    draws: list[torch.Tensor],
    share: float,
    rounded_to: torch.dtype | None,
) -> bool:
    """Whether the compiled kernel left what the interpreter did.

    Args:
        tensor, compiled: by either.
        draws: of values that were disturbed, compiled.
        share: by which they were.
        rounded_to: a type to which the kernel converts.
    """
    if not tensor.is_floating_point():
        return torch.equal(tensor, compiled)
    kinds = [tensor.dtype, *([rounded_to] if rounded_to else [])]
    return torch.equal(is_finite(tensor), is_finite(compiled)) and is_near(
        tensor, compiled, draws, share, max(kinds, key=relative_tolerance)
    )
