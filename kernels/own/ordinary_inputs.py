"""Ordinary inputs on which a kernel's default configuration is far from its reference.

A kernel that fails on elements 512 times as large may not be meant for them. One that fails on rows
that lie above or below zero, as logits do, is probably wrong, as by a padding of 0 in a maximum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from kernels.own.changed_inputs import Change
from kernels.own.tolerance import is_finite
from kernels.spec import PROBABLY_WRONG
from launchers.arguments import Argument

__all__ = ["loosened", "on_probably_wrong", "ordinary_changes"]

# In units of the tensor's size. The strongest change of the check shifts rows as far, and has
# elements 512 times as large besides.
_SHIFT = 4.0
_HEAVY = 1.25  # the largest of each row, and no other is as large

# How many times its tolerance an element is off that no rounding explains.
_FAR_OFF = 16.0


def ordinary_changes(
    values: Mapping[str, Any], along: Mapping[str, int | None]
) -> dict[str, Change]:
    """Changes by which rows of inputs lie above and below zero.

    Only of tensors with fractions of both signs: others may be masks, places, probabilities or
    scales, for which no other sign or range is ordinary.

    Args:
        values: of the arguments.
        along: of tensors of floats, the dimension along which their rows lie, as in `Change`.
    """
    return {
        name: Change(shift=_SHIFT, heavy=_HEAVY, signs=True, along=rows)
        for name, rows in along.items()
        if _has_fractions_of_both_signs(values[name])
    }


def _has_fractions_of_both_signs(tensor: torch.Tensor) -> bool:
    numbers = tensor[is_finite(tensor)].double()
    is_fraction = numbers != numbers.floor()
    return bool(is_fraction.any() and (numbers < 0).any() and (numbers > 0).any())


def loosened(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """The arguments with tolerances that only what is far off exceeds; integers, of which one more
    may be a rounding and another place a tie, are not compared."""
    return tuple(
        replace(
            one,
            expected=one.expected if "f" in one.element_type else None,
            atol=_FAR_OFF * one.atol,
            rtol=_FAR_OFF * one.rtol,
            slack=None if one.slack is None else _FAR_OFF * one.slack,
        )
        for one in arguments
    )


def on_probably_wrong(changes: Mapping[str, Change], mismatch: str) -> str:
    """That the default configuration is far off under such changes.

    Args:
        changes: by tensor.
        mismatch: the first element that is.
    """
    return (
        f"{PROBABLY_WRONG} inputs such as {', '.join(changes)} with rows that lie {_SHIFT:g} times "
        f"as far above or below zero as elements are large: there {mismatch}"
    )
