"""Inputs that tell more than a file's own, for a kernel without a reference.

What is expected comes from Triton's interpreter then, which takes its time and knows of no input
that the kernel is not meant for. So a few changes are tried, of all floating-point inputs at once:
as far as the interpreter and the compiled default configuration agree in finite numbers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from foundation.errors import UserError
from foundation.scratch import scratch_folder
from kernels.own.accesses import Accesses
from kernels.own.changeable import changeable, is_one_number, same_launch
from kernels.own.changed_inputs import Change
from kernels.own.journal import Run
from kernels.own.launch import Launch
from kernels.own.telling import FLOATS, MOST_BYTES, Telling
from kernels.own.tried_changes import Tried

__all__ = ["without_reference"]

# From what tells most to what most kernels are defined for.
_CHANGES = (
    Change(row_scale=64.0, heavy=8.0, shift=4.0, signs=True, ties=True, far=True, zero_rows=True),
    Change(row_scale=4.0, heavy=2.0, shift=1.0, signs=True),
    Change(row_scale=1.5, heavy=1.25, shift=0.25),
)
# Fewer elements may be lengths, positions or scales.
_FEWEST_ELEMENTS = 16
# By the clock: nothing more is tried after so long.
_PATIENCE_S = 20.0


def without_reference(plain: Launch, tried: Tried) -> Telling:
    """The changes of a launch's inputs, by name, under which its default configuration is right.

    Args:
        plain: of the file's own inputs.
        tried: as for `telling_changes`.

    Raises:
        UserError: if the file's functions fail on its own inputs.
    """
    values = plain.values()
    names = _inputs(plain, tried.accesses, values)
    tensors = [value for value in values.values() if isinstance(value, torch.Tensor)]
    is_large = sum(int(tensor.nbytes) for tensor in tensors) > MOST_BYTES
    if not names or is_large or any(tensor.device.type != "cpu" for tensor in tensors):
        return Telling()
    if not same_launch(plain, values):
        return Telling()  # a note on the timed runs tells it
    end_s = time.monotonic() + _PATIENCE_S
    with scratch_folder("telling-") as folder:
        run = tried.run(folder)
        for change in _CHANGES:
            changes = dict.fromkeys(names, change)
            if _is_right(run, tried, changes):
                return Telling(changes)
            if run.gave_up or time.monotonic() > end_s:
                break
    return Telling(untried="without a reference, none were found on which the kernel is right")


def _inputs(launch: Launch, accesses: Accesses, values: Mapping[str, Any]) -> list[str]:
    """Those of floating-point numbers that the kernel only reads.

    Whole numbers stay as they are unless all are the same: they may be positions, counts or masks.
    """
    return [
        name
        for name in changeable(launch.kept_inputs, accesses, values, frozenset(), FLOATS)
        if name in accesses.constant
        and values[name].numel() >= _FEWEST_ELEMENTS
        and (is_one_number(values[name]) or bool((values[name] != values[name].round()).any()))
    ]


def _is_right(run: Run, tried: Tried, changes: Mapping[str, Change]) -> bool:
    try:
        given = tried.arguments(changes)
    except UserError:
        return False
    expected = [one.expected for one in given if one.expected is not None]
    floats = [array for array in expected if np.issubdtype(array.dtype, np.floating)]
    return all(np.isfinite(array).all() for array in floats) and run.is_right(given)
