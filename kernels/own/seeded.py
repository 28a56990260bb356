"""Random numbers from a seed, for what a user's file draws by torch, NumPy or Python."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import numpy as np
import torch

__all__ = ["seeded"]


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within the block torch, `numpy.random` and `random` draw from `seed`; the states of those
    that the processor has are back behind it."""
    numbers, legacy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        random.seed(seed)
        np.random.seed(seed)
        if torch.cuda.is_available():
            torch.manual_seed(seed)
        else:
            # The same without milliseconds for each kind of device that is not there: torch notes
            # where in the program each would have been seeded.
            torch.default_generator.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(numbers)
            np.random.set_state(legacy)
