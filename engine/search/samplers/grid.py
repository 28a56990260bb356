"""Grid search: every valid configuration in the order of the space."""

from __future__ import annotations

import numpy as np

from engine.search.model.search_state import SearchState

__all__ = ["grid"]


def grid(state: SearchState) -> int:
    """The first free candidate; the last parameter varies fastest."""
    return int(np.flatnonzero(state.free)[0])
