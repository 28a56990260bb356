"""Inputs of linear attention: `[batch, time, heads, width]` for vectors, one less for scalars."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from agreement import randn

__all__ = [
    "BATCH",
    "HEADS",
    "TIME",
    "WIDTH",
    "decay",
    "halves",
    "heads_first",
    "rate",
    "unit",
    "vector",
]

# Time is one chunk of 64 and a part of the next.
BATCH, TIME, HEADS, WIDTH = 2, 70, 2, 32


def vector(seed: int, width: int = WIDTH) -> torch.Tensor:
    """Queries, keys or values."""
    return randn(BATCH, TIME, HEADS, width, seed=seed)


def unit(seed: int) -> torch.Tensor:
    """Vectors of length 1, as delta rules need their keys."""
    return F.normalize(vector(seed), dim=-1)


def rate(seed: int) -> torch.Tensor:
    """A number between 0 and 1 for each time and head."""
    return randn(BATCH, TIME, HEADS, seed=seed).sigmoid()


def decay(seed: int, *width: int) -> torch.Tensor:
    """The logarithm of a factor between 0 and 1 for each time and head, or element too."""
    return F.logsigmoid(randn(BATCH, TIME, HEADS, *width, seed=seed) + 2)


def heads_first(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """The tensors as `[batch, heads, time, ...]`, and back."""
    return [tensor.transpose(1, 2) for tensor in tensors]


def halves(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """The tensors in fp16, for operators that take no others."""
    return [tensor.half() for tensor in tensors]
