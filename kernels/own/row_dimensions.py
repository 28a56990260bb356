"""Along which dimension of inputs elements meet: they are the rows in which the check changes them.

A batch norm sums columns: a small row among larger ones tells nothing of its epsilon, and a small
column does. What meets is found by the reference: two elements meet if both change one element of
an output.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from foundation.errors import UserError
from foundation.strides import copied, memory_of
from kernels.own.changeable import Launched
from kernels.own.time_limit import time_limit

__all__ = ["row_dimensions"]

# Processor time; of tensors that are not reached in it, rows lie along the last dimension.
_PATIENCE_S = 1.0
_LIMIT_S = 60.0  # by the clock, for one call of a reference
_Outputs = Mapping[str, torch.Tensor | None]


def row_dimensions(
    launch: Launched, values: Mapping[str, Any], names: Iterable[str]
) -> dict[str, int | None]:
    """Of each tensor, the last dimension along which its elements meet; None for the last of all,
    where they meet along none, and where the reference does not tell.

    Args:
        launch: has a reference.
        values: of its arguments.
        names: of tensors of floats.
    """
    end_s = time.process_time() + _PATIENCE_S
    return {name: _row_dimension(launch, values, name, end_s) for name in names}


def _row_dimension(
    launch: Launched, values: Mapping[str, Any], name: str, end_s: float
) -> int | None:
    tensor = values[name]
    if tensor.dim() < 2 or memory_of(tensor).numel() != tensor.numel():
        return None
    place = [size // 2 for size in tensor.shape]
    try:
        plain = _expected(launch, values)
        here = _reached(launch, values, name, place, plain)
        for dimension in reversed(range(tensor.dim())):
            if tensor.shape[dimension] == 1 or time.process_time() > end_s:
                continue
            beside = list(place)
            beside[dimension] -= 1
            there = _reached(launch, values, name, beside, plain)
            if any(bool((here[output] & there[output]).any()) for output in here):
                is_usual = dimension == tensor.dim() - 1 and tensor.is_contiguous()
                return None if is_usual else dimension
    except (UserError, TimeoutError):
        pass
    return None


def _reached(
    launch: Launched, values: Mapping[str, Any], name: str, place: list[int], plain: _Outputs
) -> dict[str, torch.Tensor]:
    """Which elements of the outputs change where one element of a tensor is NaN."""
    other = copied(values[name])
    other[tuple(place)] = torch.nan
    found = _expected(launch, {**values, name: other})
    return {
        output: ~((tensor == found[output]) | (tensor.isnan() & found[output].isnan()))
        for output, tensor in plain.items()
        if tensor is not None and found[output] is not None
    }


def _expected(launch: Launched, values: Mapping[str, Any]) -> Any:
    with time_limit(_LIMIT_S):
        return launch.reference(values) or {}
