"""What a user's kernel has to give: from its reference, or from Triton's interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from foundation.errors import UserError
from kernels.own.interpreter import interpreted
from kernels.own.launch import Launch
from kernels.own.tolerance import DRAWS, disturbed, share_of, slack
from kernels.values import current_data_set

__all__ = ["ExpectedOutput", "expected_output", "expected_outputs"]


@dataclass(frozen=True)
class ExpectedOutput:
    """The contents of one output after a run.

    Args:
        tensor: of the output's own type.
        slack: fp32, how far each element may be off besides the relative tolerance; None for a
            type that has to be exact.
    """

    tensor: torch.Tensor
    slack: torch.Tensor | None


def expected_outputs(launch: Launch) -> dict[str, ExpectedOutput]:
    """The outputs that the file's `reference` names; without one, those that the kernel changes.

    Raises:
        UserError: if the reference or the interpreter fails; if the kernel changes nothing in the
            interpreter, or uses memory there that `arguments` leaves uninitialised.
    """
    values = launch.values()
    draws = [disturbed(values, draw) for draw in range(DRAWS)]
    outputs = launch.reference(values)
    if outputs is None:
        outputs, *others = _from_interpreter(launch, values, draws)
    else:
        has_floats = any(values[name].is_floating_point() for name in outputs)
        others = [_known(launch.reference(draw)) for draw in draws] if has_floats else []
    share = share_of(values)
    return {
        name: expected_output(tensor, [other[name] for other in others], share, values[name].dtype)
        for name, tensor in outputs.items()
    }


def _known(outputs: dict[str, torch.Tensor] | None) -> dict[str, torch.Tensor]:
    assert outputs is not None
    return outputs


def expected_output(
    tensor: torch.Tensor, draws: list[torch.Tensor], share: float, dtype: torch.dtype
) -> ExpectedOutput:
    """One output from what a reference gives.

    Args:
        tensor: of the values that are passed, in any type.
        draws: of values that were disturbed; at least one for floating-point numbers.
        share: by which they were disturbed.
        dtype: of the output.
    """
    allowed = slack(tensor, draws, share, dtype) if dtype.is_floating_point else None
    return ExpectedOutput(tensor.to(dtype), allowed)


def _from_interpreter(
    launch: Launch, values: Mapping[str, Any], draws: list[dict[str, Any]]
) -> list[dict[str, torch.Tensor]]:
    """The tensors that the kernel changes after a run on `values`, and after one on each draw."""
    refilled = launch.values(fill=1 - current_data_set())
    after, after_refilled, *others = interpreted(launch, [dict(values), refilled, *draws])
    changed = [name for name in after if not bool(_same(values[name], after[name]).all())]
    path = launch.file.path
    if not changed:
        raise UserError(f"{path}: in Triton's interpreter the kernel changes none of its arguments")
    for name in changed:
        untouched = _same(values[name], after[name]) & _same(refilled[name], after_refilled[name])
        if not bool((untouched | _same(after[name], after_refilled[name])).all()):
            raise UserError(
                f"{path}: {name} depends on memory that {launch.file.maker().__name__} leaves "
                "uninitialised: use torch.zeros, or what the kernel expects there, in place of "
                "torch.empty"
            )
    return [{name: run[name] for name in changed} for run in (after, *others)]


def _same(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """For each element whether the two have the same bits; NaN is equal to itself."""
    rows = [tensor.contiguous().flatten() for tensor in (one, other)]
    flat = [row.view(torch.uint8).view(row.numel(), -1) for row in rows]
    return (flat[0] == flat[1]).all(dim=1)
