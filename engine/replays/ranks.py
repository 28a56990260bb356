"""Whether one search is better than another: ranks over spaces, and a paired bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from engine.replays.recorded_space import Floats
from engine.replays.scores import Scores

__all__ = ["Difference", "Ranks", "differences", "ranks_of"]

_DRAWS = 4000
_LEVEL = 0.95
_INTERVAL = (2.5, 97.5)  # percent


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of searches over spaces; 1 is the best.

    Args:
        mean: by search.
        p: of Friedman's test that all are equal.
        critical_difference: of Nemenyi's test: two mean ranks that differ by less may be equal, at
            the level .05 (Demsar, "Statistical comparisons of classifiers over multiple data sets",
            JMLR 2006).
    """

    mean: Mapping[str, float]
    p: float
    critical_difference: float


def ranks_of(scores: Sequence[Scores], spaces: Sequence[str], budget: int) -> Ranks | None:
    """Ranks by P@budget; None for fewer than three searches or spaces, too few for the tests."""
    count = len(scores)
    if count < 3 or len(spaces) < 3:
        return None
    table = np.array([[one.at(budget, space).mean() for one in scores] for space in spaces])
    mean = rankdata(-table, axis=1).mean(axis=0)
    p = 1.0 if np.ptp(table, axis=1).max() == 0 else friedmanchisquare(*table.T).pvalue
    quantile = studentized_range.ppf(_LEVEL, count, np.inf) / np.sqrt(2)
    critical = quantile * np.sqrt(count * (count + 1) / (6 * len(spaces)))
    names = [one.search for one in scores]
    return Ranks(dict(zip(names, mean.tolist(), strict=True)), float(p), float(critical))


@dataclass(frozen=True)
class Difference:
    """By how much one search is better than another.

    Args:
        search, other: their names.
        mean: of P@budget, over spaces.
        low, high: its 95% interval.
    """

    search: str
    other: str
    mean: float
    low: float
    high: float

    @property
    def is_significant(self) -> bool:
        """Whether 0 is outside the interval."""
        return self.low > 0 or self.high < 0


def differences(scores: Sequence[Scores], spaces: Sequence[str], budget: int) -> list[Difference]:
    """The first search against each other one, by a paired bootstrap over spaces and seeds.

    Spaces are drawn with replacement, and so are the seeds of each; both searches are read at the
    same draws. So the interval is about spaces like these, not about these alone.
    """
    first = scores[0]
    found = []
    for other in scores[1:]:
        pairs = [first.at(budget, space) - other.at(budget, space) for space in spaces]
        means = _bootstrapped(pairs)
        low, high = np.percentile(means, _INTERVAL)
        mean = float(np.mean([pair.mean() for pair in pairs]))
        found.append(Difference(first.search, other.search, mean, float(low), float(high)))
    return found


def _bootstrapped(pairs: Sequence[Floats]) -> Floats:
    """Shape (draws,), the mean over drawn spaces of the mean over drawn seeds."""
    rng = np.random.default_rng(0)
    places = rng.integers(len(pairs), size=(_DRAWS, len(pairs)))
    means = np.empty((_DRAWS, len(pairs)))
    for number, pair in enumerate(pairs):
        chosen = places == number
        draws = rng.integers(len(pair), size=(int(chosen.sum()), len(pair)))
        means[chosen] = pair[draws].mean(axis=1)
    result: Floats = means.mean(axis=1)
    return result
