"""Contents that are too large for a capture: what they were like, and others like them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foundation.errors import UserError

if TYPE_CHECKING:  # commands that read captures need no tensors; importing torch takes two seconds
    import torch

__all__ = ["ContentsError", "Drawn", "drawn_tensor"]


class ContentsError(UserError):
    """A kernel cannot be checked on some contents; where these were drawn, on others it may."""


@dataclass(frozen=True)
class Drawn:
    """Contents too large to be kept: what they were like, from which like ones are drawn.

    Args:
        seed: of the numbers drawn.
        mean, deviation: of the finite elements.
        low, high: the smallest and largest finite element.
        zeros: the share of elements that are zero.
    """

    seed: int
    mean: float
    deviation: float
    low: float
    high: float
    zeros: float = 0.0


def drawn_tensor(contents: Drawn, elements: int, dtype: torch.dtype) -> torch.Tensor:
    """As many elements of a type, in one dimension, on the CPU; the same ones each time."""
    import torch

    generator = torch.Generator().manual_seed(contents.seed)
    if not dtype.is_floating_point:
        low, high = int(contents.low), int(contents.high)
        drawn = torch.randint(low, high + 1, (elements,), generator=generator)
        return drawn.to(dtype)
    values = torch.randn(elements, generator=generator)
    values = values.mul_(contents.deviation).add_(contents.mean)
    values = values.clamp_(contents.low, contents.high)
    if contents.zeros:
        values[torch.rand(elements, generator=generator) < contents.zeros] = 0
    return values.to(dtype)
