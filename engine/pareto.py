"""Several objectives at once: what no trial beats, and one number of them for a sampler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

__all__ = ["CODE_BYTES", "TIME_S", "Values", "front", "scalarised"]

# Objectives by name, all to be made small. The time is always there, and the first.
TIME_S = "time_s"
CODE_BYTES = "code_bytes"

# The objectives of one trial, in the order of its study; all positive.
Values = tuple[float, ...]

# How much the sum of all objectives counts beside the worst of them: Knowles's value. It tells
# apart what the worst objective alone does not.
_RHO = 0.05


def front(points: Sequence[Values]) -> list[int]:
    """Places of the points that no other dominates: is at most as large in all, smaller in one."""
    values = np.array(points)
    return [
        place
        for place, point in enumerate(values)
        if not ((values <= point).all(axis=1) & (values < point).any(axis=1)).any()
    ]


def scalarised(
    outcomes: Mapping[int, Values | None], rng: np.random.Generator
) -> Mapping[int, float | None]:
    """One positive number for each outcome, which a sampler may take for a time in seconds.

    A single objective stays what it is. Several are joined as in Knowles, "ParEGO: a hybrid
    algorithm with on-line landscape approximation for expensive multiobjective optimization
    problems" (2006): with f the logarithms, normalised to [0, 1], and a random weight w, the
    logarithm of the number is the augmented Tchebycheff function max(w f) + 0.05 sum(w f).

    Args:
        outcomes: by candidate; None for a failure, which stays one.
        rng: the weight is drawn from it, evenly over all that add up to 1.
    """
    known = {number: values for number, values in outcomes.items() if values is not None}
    if all(len(values) == 1 for values in known.values()):
        return {number: None if v is None else v[0] for number, v in outcomes.items()}
    logarithms = np.log(list(known.values()))
    lowest = logarithms.min(axis=0)
    spans = logarithms.max(axis=0) - lowest
    normalised = (logarithms - lowest) / np.where(spans > 0, spans, 1)
    weighted = rng.dirichlet(np.ones(len(spans))) * normalised
    joined = np.exp(weighted.max(axis=1) + _RHO * weighted.sum(axis=1))
    numbers = dict(zip(known, joined.tolist(), strict=True))
    return {number: numbers.get(number) for number in outcomes}
