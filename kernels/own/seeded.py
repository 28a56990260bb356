"""Torch's random numbers from a seed, for what a user's file draws."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

__all__ = ["seeded"]


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within the block torch draws from `seed`; the processor's own state is back behind it."""
    with torch.random.fork_rng(devices=[]):
        if torch.cuda.is_available():
            torch.manual_seed(seed)
        else:
            # The same without milliseconds for each kind of device that is not there: torch notes
            # where in the program each would have been seeded.
            torch.default_generator.manual_seed(seed)
        yield
