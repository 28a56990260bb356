"""What a kernel changes and its file's `reference` does not mention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from kernels.own.accesses import accesses_of
from kernels.own.changeable import is_one_number
from kernels.own.kernel_outputs import Run, rounding, same, starts_of
from kernels.own.launch import Launch
from kernels.own.reference_runs import RunFailed, runs, ways_of, widened

__all__ = ["LeftOut", "left_out"]


@dataclass(frozen=True)
class LeftOut:
    """What the default configuration, compiled, leaves in such tensors.

    Args:
        changed: names of those that it changes.
        found: what every configuration has to leave, after a run of the values and of each that
            was disturbed.
        rounded_to: the types to which it rounds these, where they are coarser than their own.
    """

    changed: frozenset[str] = frozenset()
    found: list[Run] = field(default_factory=list)
    rounded_to: Mapping[str, torch.dtype] = field(default_factory=dict)


def left_out(launch: Launch, said: Mapping[str, object], values: dict[str, Any]) -> LeftOut:
    """What it leaves in the tensors that a reference does not mention.

    Every configuration has to leave the same in those that it never reads, and in those that hold
    different numbers at the start. The others may be scratch memory, of which each configuration
    takes what it needs: sums from zero, `torch.empty`, counters.

    Args:
        launch: with the default configuration.
        said: what the reference gives, by name.
        values: of its arguments.
    """
    accesses = accesses_of(launch)
    names = accesses.written - said.keys()
    if not names:
        return LeftOut()
    starts = starts_of(launch, values)
    refilled = starts[1]
    kept = frozenset(
        n for n in names if n in accesses.only_stored or _holds_numbers(values[n], refilled[n])
    )
    for way in ways_of(values)[1:]:
        # An integer that is computed from rounded numbers cannot be had from others.
        is_exact = way.widens and len(ways_of(values)) > 2
        if is_exact and not all(values[name].is_floating_point() for name in kept):
            continue
        try:
            after = runs(launch, starts, way)
        except RunFailed:
            continue
        begun = [widened(start) if way.widens else start for start in starts[:2]]
        settled = [name for name in sorted(kept) if _is_settled(name, begun, after)]
        found = [{name: run[name] for name in settled} for run in (after[0], *after[2:])]
        changed = frozenset(n for n in names if not bool(same(begun[0][n], after[0][n]).all()))
        return LeftOut(changed, found, rounding(launch, values, way, found) if settled else {})
    return LeftOut(names)


def _holds_numbers(start: torch.Tensor, refilled: torch.Tensor) -> bool:
    """Whether a tensor holds different numbers, and none that happen to be there."""
    return bool(same(start, refilled).all()) and not is_one_number(start)


def _is_settled(name: str, begun: list[dict[str, Any]], after: list[Run]) -> bool:
    """Whether runs that begin with other contents of uninitialised memory leave the same."""
    (start, one), (refilled, other) = (
        (values[name], run[name]) for values, run in zip(begun, after, strict=False)
    )
    untouched = same(start, one) & same(refilled, other)
    return bool((untouched | same(one, other)).all()) and not bool(untouched.all())
