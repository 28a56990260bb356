"""Whether outputs are right, and whether they are so before the kernel runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kernels.own.expected import ExpectedOutput
from kernels.own.tolerance import is_finite, within

__all__ = ["first_wrong", "hold_already", "holds"]


def hold_already(values: Mapping[str, Any], expected: Mapping[str, ExpectedOutput]) -> bool:
    """Whether all outputs hold what is expected of them, some of it finite.

    Args:
        values: of the arguments, before a run.
        expected: by the name of an output.
    """
    filled = {name: output for name, output in expected.items() if output.tensor.numel() > 0}
    return any(bool(is_finite(each.tensor).any()) for each in filled.values()) and all(
        holds(values[name], output) for name, output in filled.items()
    )


def holds(tensor: torch.Tensor, output: ExpectedOutput) -> bool:
    """Whether a tensor is what is expected of an output, within its tolerance."""
    if output.slack is None:
        return torch.equal(tensor, output.tensor)
    return bool(within(tensor, output.tensor, output.slack, output.rounded_to).all())


def first_wrong(name: str, tensor: torch.Tensor, output: ExpectedOutput) -> str:
    """The first element that is not what is expected, as "y[3, 4] is 1 and should be 2"."""
    if output.slack is None:
        right = tensor == output.tensor
    else:
        right = within(tensor, output.tensor, output.slack, output.rounded_to)
    place = tuple((~right).nonzero()[0].tolist())
    found, expected = (_in_words(one[place].item()) for one in (tensor, output.tensor))
    at = f"[{', '.join(map(str, place))}]" if place else ""
    return f"{name}{at} is {found} and should be {expected}"


def _in_words(number: float) -> str:
    return f"{number:.6g}" if isinstance(number, float) else str(number)
