"""Whether one search is better than another: ranks over spaces, and a paired bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.replays.recorded_space import Floats
from engine.replays.scores import Scores

__all__ = ["FEWEST_RANKED", "FEWEST_SPACES", "Difference", "Ranks", "differences", "ranks_of"]

_DRAWS = 20000
_LEVEL = 0.95

# No mean of drawn spaces lies outside of them, and n spaces lie on one side of the median of all in
# 2 / 2**n of cases: of four, the widest interval holds 87.5% where seeds make no difference.
FEWEST_SPACES = 5
FEWEST_RANKED = 3  # searches


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
    """Ranks by P@budget; None for fewer than three searches, or too few spaces for an interval."""
    # Each process of a comparison imports this file, and this takes half of its start.
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    count = len(scores)
    if count < FEWEST_RANKED or len(spaces) < FEWEST_SPACES:
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
        low, high: its 95% interval; None for too few spaces.
    """

    search: str
    other: str
    mean: float
    low: float | None
    high: float | None

    @property
    def is_significant(self) -> bool:
        """Whether there is an interval, and 0 is outside it."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def differences(scores: Sequence[Scores], spaces: Sequence[str], budget: int) -> list[Difference]:
    """The first search against each other one, by a paired bootstrap over spaces and seeds.

    Spaces are drawn with replacement, and so are the seeds of each; both searches are read at the
    same draws. So the interval is about spaces like these, not about these alone.
    """
    first = scores[0]
    found = []
    for other in scores[1:]:
        pairs = [first.at(budget, space) - other.at(budget, space) for space in spaces]
        mean = float(np.mean([pair.mean() for pair in pairs]))
        low = high = None
        if len(pairs) >= FEWEST_SPACES:
            low, high = np.percentile(_bootstrapped(pairs), _percentiles(len(pairs))).tolist()
        found.append(Difference(first.search, other.search, mean, low, high))
    return found


def _percentiles(count: int) -> tuple[float, float]:
    """Which percentiles of the bootstrap over so many spaces are the ends of the interval.

    The 2.5th and the 97.5th hold 80% to 87% with five spaces. So they are moved out, until a normal
    distribution would give Student's interval (Hesterberg, "What teachers should know about the
    bootstrap", The American Statistician 2015: the expanded percentile interval).
    """
    from scipy.stats import norm, t

    student = t.ppf((1 + _LEVEL) / 2, count - 1)
    low = 100 * float(norm.cdf(-student * np.sqrt(count / (count - 1))))
    return low, 100 - low


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
