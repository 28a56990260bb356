"""Objectives: their names, and the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

__all__ = ["CODE_BYTES", "TIME_S", "Robust", "Values", "front"]

# Objectives by name, all minimised. The time is always the first.
TIME_S = "time_s"
CODE_BYTES = "code_bytes"

# Of times under several models: their mean regret (`ModelRegrets.weighted_mean`), the worst one,
# or the default model's time.
Robust = Literal["mean", "worst", "off"]

# The objectives of one trial in the order of its study, all positive.
Values = tuple[float, ...]


def front(points: Sequence[Values]) -> list[int]:
    """Places of the points on the Pareto front: no other is as small in all and smaller in one."""
    values = np.array(points)
    return [
        place
        for place, point in enumerate(values)
        if not ((values <= point).all(axis=1) & (values < point).any(axis=1)).any()
    ]
