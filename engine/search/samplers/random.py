"""Random search: every valid configuration is equally likely."""

from __future__ import annotations

import numpy as np

from engine.search.model.search_state import SearchState

__all__ = ["random"]


def random(state: SearchState) -> int:
    """A free candidate, drawn uniformly."""
    free = np.flatnonzero(state.free)
    return int(state.rng.choice(free))
