"""For which inputs a file's `reference` is defined, and whether it takes them from the launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from foundation.errors import UserError
from kernels.own.changeable import Launched
from kernels.own.changed_inputs import Change, changed
from kernels.own.time_limit import time_limit
from kernels.own.tolerance import is_finite

__all__ = ["is_defined", "is_ignored", "makes_difference", "runs_on_processor"]

# By the clock: what it takes a reference on the file's own inputs at a load of 30, twice over. On
# others it may never end.
_REFERENCE_LIMIT_S = 60.0


def makes_difference(
    launch: Launched, values: Mapping[str, Any], changes: Mapping[str, Change]
) -> bool:
    """Whether the reference takes what changes from the launch, and has no copy of its own."""
    others = changed(values, changes)
    if not is_defined(launch, values, others):
        return False
    outputs, other = launch.reference(values) or {}, launch.reference(others) or {}
    pairs = ((tensor, other.get(name)) for name, tensor in outputs.items())
    return any(t is not None and o is not None and not torch.equal(t, o) for t, o in pairs)


def is_ignored(launch: Launched, values: Mapping[str, Any], name: str, marker: int) -> bool:
    """Whether the reference takes a marker among the elements of a tensor and refuses the number
    before it, as torch's losses do with a label that is to be ignored."""
    markers = (Change(marker=each) for each in (marker, marker - 1))
    taken = [runs_on_processor(launch, changed(values, {name: change})) for change in markers]
    return taken == [True, False]


def runs_on_processor(launch: Launched, values: Mapping[str, Any]) -> bool:
    """Whether a reference takes values on the processor, where an index that does not exist is an
    exception and no end of the process."""
    on_cpu = {n: v.cpu() if isinstance(v, torch.Tensor) else v for n, v in values.items()}
    try:
        with torch.device("cpu"), time_limit(_REFERENCE_LIMIT_S):
            launch.reference(on_cpu)
    except (UserError, TimeoutError):
        return False
    return True


def is_defined(
    launch: Launched, values: Mapping[str, Any], others: Mapping[str, Any], nans: float = 0.0
) -> bool:
    """Whether the reference gives finite numbers for other values, and the code stays as it is.

    Args:
        launch: of both.
        values, others: of its arguments.
        nans: the share of each output that may be NaN.
    """
    if launch.constants(others) != launch.constants(values):
        return False
    try:
        with time_limit(_REFERENCE_LIMIT_S):
            said = launch.reference(others) or {}
    except (UserError, TimeoutError):
        return False
    outputs = [t.to(values[name].dtype) for name, t in said.items() if t is not None]
    return all(_is_defined(tensor, nans) for tensor in outputs)


def _is_defined(tensor: torch.Tensor, nans: float) -> bool:
    is_nan = tensor.isnan()
    allowed = bool((is_finite(tensor) | is_nan).all()) and float(is_nan.double().mean()) <= nans
    return allowed or not tensor.numel()
