"""What a file's `reference` returns, checked against the values that the kernel gets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from foundation.errors import UserError, nearest

__all__ = ["checked_outputs"]


def checked_outputs(
    path: Path, maker: str, given: object, values: Mapping[str, Any]
) -> dict[str, torch.Tensor | None]:
    """The expected contents of the outputs by name, None for those that are not checked.

    Args:
        path: of the file.
        maker: the name of its function that gives the values.
        given: what `reference` returned.
        values: what the kernel gets, by name.

    Raises:
        UserError: if it is not a dictionary with an ordinary tensor of real numbers, of the right
            shape, for each output that it names.
    """
    if not isinstance(given, Mapping) or not given:
        raise UserError(
            f"{path}: reference must return a dictionary from the names of outputs to tensors"
        )
    for name, tensor in given.items():
        output = values.get(name)
        if not isinstance(output, torch.Tensor):
            raise UserError(_no_output(path, maker, str(name), values))
        if tensor is None:
            continue
        if not isinstance(tensor, torch.Tensor):
            kind = type(tensor).__name__
            raise UserError(f"{path}: reference gives {name} as {kind}: return a tensor")
        if kind := _no_ordinary(tensor):
            raise UserError(
                f"{path}: reference gives {name} as a tensor {kind}: return an ordinary one of "
                "real numbers"
            )
        one_number = tensor.numel() == output.numel() == 1
        if tensor.shape != output.shape and not one_number:
            raise UserError(
                f"{path}: reference gives {name} the shape {tuple(tensor.shape)}, "
                f"but {maker} {tuple(output.shape)}"
            )
    return {n: t if t is None else _shaped(t, values[n]) for n, t in given.items()}


def _shaped(tensor: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """The tensor alone, without what a gradient would need, in the shape of the output."""
    return tensor.detach().reshape(output.shape)


def _no_ordinary(tensor: torch.Tensor) -> str:
    """Why a tensor has no numbers to compare with; "" if it has."""
    kinds = {
        "of complex numbers": tensor.is_complex(),
        "that is sparse": tensor.layout is not torch.strided,
        "that is quantized": tensor.is_quantized,
        "without contents": tensor.is_meta,
    }
    return next((kind for kind, holds in kinds.items() if holds), "")


def _no_output(path: Path, maker: str, name: str, values: Mapping[str, Any]) -> str:
    """Why a reference cannot give `name`, and the names that it can give."""
    tensors = [known for known, value in values.items() if isinstance(value, torch.Tensor)]
    if not tensors:
        return f"{path}: reference gives {name}, and {maker} gives no tensor: let it give one"
    why = "that is not a tensor" if name in values else "the kernel has no parameter of that name"
    return f"{path}: reference gives {name}, but {why}: {nearest(name, tensors)}"
