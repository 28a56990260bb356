"""How near estimates are to published figures: shares, rank correlations, pairs, error bands."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.optimize import isotonic_regression

__all__ = ["Comparison", "Score", "band", "score", "tied_below"]

_CLEARLY_DIFFERENT = 1.05
_BAND_SHARE = 0.8
_RIGHT_SHARE = 0.9


@dataclass(frozen=True)
class Comparison:
    """A published time beside its estimate, in one unit.

    Args:
        group: those that a tuner would choose between: one routine at one size, one GEMM tile.
        name: within the group.
        published, estimated: times.
        kind: class of the program, as its counters tell it; "" if that does not matter.
    """

    group: str
    name: str
    published: float
    estimated: float
    kind: str = ""

    @property
    def log_error(self) -> float:
        """Natural logarithm of estimated over published."""
        return math.log(self.estimated / self.published)


@dataclass(frozen=True)
class Score:
    """Sums up comparisons.

    Args:
        count: how many.
        within_quarter, within_twice: shares within 25% and within 2 times.
        bias: geometric mean of estimated over published.
        rank_correlation: Spearman's, the mean over groups of three and more; NaN without one.
        pairs, pairs_right: pairs within groups whose published times differ by more than 5%, and
            those of them that the estimates order alike.
    """

    count: int
    within_quarter: float
    within_twice: float
    bias: float
    rank_correlation: float
    pairs: int
    pairs_right: int


def score(comparisons: Sequence[Comparison]) -> Score:
    """Sum up at least one comparison."""
    errors = [abs(item.log_error) for item in comparisons]
    bias = math.exp(sum(item.log_error for item in comparisons) / len(comparisons))
    pairs = _different_pairs(comparisons)
    return Score(
        len(comparisons),
        sum(error <= math.log(1.25) for error in errors) / len(errors),
        sum(error <= math.log(2) for error in errors) / len(errors),
        bias,
        _rank_correlation(comparisons),
        len(pairs),
        sum(_alike(first, second) for first, second in pairs),
    )


def band(comparisons: Sequence[Comparison]) -> float:
    """The relative error that 80% of the comparisons do not exceed."""
    errors = sorted(abs(item.log_error) for item in comparisons)
    return math.exp(errors[math.ceil(_BAND_SHARE * len(errors)) - 1]) - 1


def tied_below(comparisons: Sequence[Comparison]) -> float:
    """The relative difference of two estimates from which their order can be trusted.

    The share of pairs within groups that are published in the estimated order is taken to rise with
    the difference (isotonic regression); it is the least difference at which 90% are. Pairs that
    are published within 5% of each other do not count: whichever one takes, little is lost.
    """
    pairs = sorted(
        (
            (_ratio(a.estimated, b.estimated) - 1, _alike(a, b))
            for a, b in _different_pairs(comparisons)
        ),
        key=lambda pair: (pair[0], not pair[1]),  # so that equal differences have one share
    )
    shares = isotonic_regression([float(right) for _, right in pairs]).x
    trusted = (
        difference
        for (difference, _), share in zip(pairs, shares, strict=True)
        if share >= _RIGHT_SHARE
    )
    return next(trusted, math.inf)


def _groups(comparisons: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    groups = defaultdict(list)
    for item in comparisons:
        groups[item.group].append(item)
    return groups


def _pairs(comparisons: Iterable[Comparison]) -> list[tuple[Comparison, Comparison]]:
    groups = _groups(comparisons).values()
    return [pair for group in groups for pair in itertools.combinations(group, 2)]


def _different_pairs(comparisons: Iterable[Comparison]) -> list[tuple[Comparison, Comparison]]:
    """The pairs whose published times differ clearly."""
    return [
        (first, second)
        for first, second in _pairs(comparisons)
        if _ratio(first.published, second.published) > _CLEARLY_DIFFERENT
    ]


def _alike(first: Comparison, second: Comparison) -> bool:
    return (first.published > second.published) == (first.estimated > second.estimated)


def _ratio(first: float, second: float) -> float:
    return max(first, second) / min(first, second)


def _rank_correlation(comparisons: Sequence[Comparison]) -> float:
    from scipy.stats import spearmanr  # half a second, which tests of the rest would wait for

    groups = [group for group in _groups(comparisons).values() if len(group) > 2]
    found = [
        float(spearmanr([item.published for item in group], [item.estimated for item in group])[0])
        for group in groups
        if len({item.published for item in group}) > 1
        and len({item.estimated for item in group}) > 1
    ]
    return sum(found) / len(found) if found else math.nan
