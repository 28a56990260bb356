"""Whether outputs are right before the kernel runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kernels.own.expected import ExpectedOutput
from kernels.own.tolerance import relative_tolerance

__all__ = ["hold_already"]


def hold_already(values: Mapping[str, Any], expected: Mapping[str, ExpectedOutput]) -> bool:
    """Whether all outputs hold what is expected of them, some of it finite.

    Args:
        values: of the arguments, before a run.
        expected: by the name of an output.
    """
    filled = {name: output for name, output in expected.items() if output.tensor.numel() > 0}
    return any(bool(each.tensor.isfinite().any()) for each in filled.values()) and all(
        _holds(values[name], output) for name, output in filled.items()
    )


def _holds(tensor: torch.Tensor, output: ExpectedOutput) -> bool:
    if output.slack is None:
        return torch.equal(tensor, output.tensor)
    found, right = tensor.double(), output.tensor.double()
    allowed = relative_tolerance(output.rounded_to) * right.abs() + output.slack
    is_right = (found == right) | (found.isnan() & right.isnan())
    return bool((is_right | ((found - right).abs() <= allowed) & right.isfinite()).all())
