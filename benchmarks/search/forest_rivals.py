"""Searches by random forests, as other tuners make them, to compare with.

They need scikit-learn, which comes with the extra `bench`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from engine.search.model.acquisition import log_expected_improvement
from engine.search.model.candidates import Candidates
from foundation.config import Config
from search_spaces.space import SearchSpace

__all__ = ["ForestSearch", "NeighbourSearch"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

_RANDOM_TRIALS = 10
_TREES = 50
_LEADERS = 10

# A random proposal is mixed in each so many, as SMAC does by default.
_RANDOM_EVERY = 8

# Helion's search calls this part of the trials good, and looks at the neighbours of the best.
_GOOD_PART = 0.25
_POOL = 1000


class _OverCandidates(ABC):
    """What both keep: candidates as one-hot rows, what was tried, and a start at random."""

    def __init__(self, space: SearchSpace, seed: int) -> None:
        self._candidates = Candidates(space)
        self._rng = np.random.default_rng(seed)
        self._free = np.ones(len(self._candidates), dtype=bool)
        self._tried: list[int] = []
        self._times: list[float | None] = []

    def ask(self) -> Config | None:
        """The next configuration; None once all were tried."""
        if not self._free.any():
            return None
        known = sum(time_s is not None for time_s in self._times)
        few = len(self._tried) < _RANDOM_TRIALS or known < 2
        number = self._random() if few else self._propose()
        self._free[number] = False
        self._tried.append(number)
        return self._candidates.config(number)

    def tell(self, config: Mapping[str, object], time_s: float | None) -> None:
        """The outcome of the last proposal."""
        self._times.append(time_s)

    def _random(self) -> int:
        return int(self._rng.choice(np.flatnonzero(self._free)))

    @abstractmethod
    def _propose(self) -> int: ...

    def _targets(self) -> Floats:
        """Logarithms of the times; a failure counts as the slowest."""
        worst = max(time_s for time_s in self._times if time_s is not None)
        return np.log([worst if time_s is None else time_s for time_s in self._times])

    def _leaders(self) -> list[int]:
        order = np.argsort(self._targets(), kind="stable")[:_LEADERS]
        return [self._tried[place] for place in order]

    def _near(self, numbers: list[int]) -> Numbers:
        """Free candidates that differ in one parameter from some."""
        near = np.unique(np.concatenate([self._candidates.neighbours(n) for n in numbers]))
        return near[self._free[near]]


class ForestSearch(_OverCandidates):
    """A random forest with expected improvement, climbed by local search, in the manner of SMAC.

    See Hutter, Hoos and Leyton-Brown, "Sequential model-based optimization for general algorithm
    configuration" (LION 2011).
    """

    def _propose(self) -> int:
        from sklearn.ensemble import RandomForestRegressor

        if len(self._tried) % _RANDOM_EVERY == 0:
            return self._random()
        forest = RandomForestRegressor(
            _TREES, max_features=5 / 6, random_state=int(self._rng.integers(2**31))
        )
        targets = self._targets()
        ranks = self._candidates.ranks
        forest.fit(ranks[self._tried], targets)

        def gains(numbers: Numbers) -> Floats:
            votes = np.array([tree.predict(ranks[numbers]) for tree in forest.estimators_])
            deviation = np.maximum(votes.std(axis=0), 1e-6)
            return log_expected_improvement(votes.mean(axis=0), deviation, float(targets.min()))

        free = np.flatnonzero(self._free)
        sample = self._rng.choice(free, size=min(_POOL, len(free)), replace=False)
        pool = np.union1d(sample, self._near(self._leaders()))
        gain = gains(pool)
        best, best_gain = int(pool[gain.argmax()]), float(gain.max())
        while len(near := self._near([best])):
            near_gain = gains(near)
            if near_gain.max() <= best_gain:
                break
            best, best_gain = int(near[near_gain.argmax()]), float(near_gain.max())
        return best


class NeighbourSearch(_OverCandidates):
    """A classifier of good trials, asked about neighbours of the best, in the manner of Helion.

    Likelihood-free Bayesian optimisation (Song et al., "A general recipe for likelihood-free
    Bayesian optimization", ICML 2022): a random forest tells the best trials, weighted by their
    gain, from the others; its probability is the acquisition.
    """

    def _propose(self) -> int:
        from sklearn.ensemble import RandomForestClassifier

        targets = self._targets()
        bound = np.quantile(targets, _GOOD_PART)
        good = targets <= bound
        weights = np.where(good, np.maximum(bound - targets, 0.0) + 0.1, 1.0)
        weights[good] *= (~good).sum() / max(weights[good].sum(), 1e-9)
        forest = RandomForestClassifier(_TREES, random_state=int(self._rng.integers(2**31)))
        ranks = self._candidates.ranks
        if good.all():
            return self._random()
        forest.fit(ranks[self._tried], good, sample_weight=weights)
        pool = self._near(self._leaders()[:5])
        if len(pool) == 0:
            return self._random()
        second = self._near(self._rng.choice(pool, size=min(5, len(pool)), replace=False).tolist())
        pool = np.union1d(pool, second)
        chance = forest.predict_proba(ranks[pool])[:, 1] + 1e-9 * self._rng.random(len(pool))
        return int(pool[chance.argmax()])
