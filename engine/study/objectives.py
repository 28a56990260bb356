"""Several objectives at once: their names, and what no trial beats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["CODE_BYTES", "TIME_S", "Values", "front"]

# Objectives by name, all to be made small. The time is always there, and the first.
TIME_S = "time_s"
CODE_BYTES = "code_bytes"

# The objectives of one trial, in the order of its study; all positive.
Values = tuple[float, ...]


def front(points: Sequence[Values]) -> list[int]:
    """Places of the points that no other dominates: is at most as large in all, smaller in one."""
    values = np.array(points)
    return [
        place
        for place, point in enumerate(values)
        if not ((values <= point).all(axis=1) & (values < point).any(axis=1)).any()
    ]
