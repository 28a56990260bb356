"""An argument of a user's kernel, as the launcher gets it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from foundation.errors import UserError
from foundation.strides import has_shared_elements, memory_of, view_of
from kernels.own.expected import ExpectedOutput
from kernels.own.tolerance import tolerance
from kernels.values import input_array, output_array
from launchers.arguments import Argument, Described

__all__ = ["argument_of", "described_as"]

_SMALLEST_I64 = 2**31


def argument_of(
    path: Path, name: str, value: Any, expected: ExpectedOutput | None = None
) -> Argument:
    """One argument of a kernel.

    Args:
        path: of the file, for messages.
        name: of the parameter.
        value: a tensor or a number.
        expected: of an output.

    Raises:
        UserError: if an output's elements share places in memory.
    """
    if isinstance(value, torch.Tensor):
        memory = memory_of(value)
        if expected is None:
            return input_array(name, memory)
        after = _placed(path, name, expected.tensor, value, memory)
        output = output_array(name, after, tolerance(expected.rounded_to), start=memory)
        if expected.slack is None:
            return output
        nothing = torch.zeros_like(memory, dtype=torch.float32)
        slack = _placed(path, name, expected.slack, value, nothing)
        return replace(output, slack=slack.contiguous().cpu().numpy())
    if isinstance(value, bool):
        return Argument(name, "i1", int(value))
    if isinstance(value, int):
        fits = -_SMALLEST_I64 <= value < _SMALLEST_I64
        return Argument(name, "i32" if fits else "i64", value)
    return Argument(name, "fp32", value)


def _placed(
    path: Path, name: str, elements: torch.Tensor, like: torch.Tensor, memory: torch.Tensor
) -> torch.Tensor:
    """A copy of `memory` with the elements where those of `like` are in its memory."""
    if like.is_contiguous():
        return elements
    if has_shared_elements(like):
        raise UserError(
            f"{path}: {name} is an output whose elements share places in memory, "
            f"with the strides {like.stride()}"
        )
    placed = memory.clone()
    view_of(placed, like).copy_(elements)
    return placed


def described_as(descriptor: TensorDescriptor) -> Described:
    """What a launch passes of a descriptor besides its tensor."""
    shape, strides = map(int, descriptor.shape), map(int, descriptor.strides)
    return Described(tuple(shape), tuple(strides), descriptor.padding)
