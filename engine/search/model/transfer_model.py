"""The transfer model: what the trials of another study predict for each candidate."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from engine.search.model.blas_threads import one_blas_thread
from engine.search.model.candidates import Candidates
from engine.search.model.fit import MAX_FITTED_ROWS, fit
from engine.search.model.gaussian_process import MAX_ROWS, GaussianProcess, Inputs
from engine.search.model.targets import Scale, scaled
from engine.search.model.warm_start import History
from search_spaces.space import SearchSpace

__all__ = ["TransferModel", "transfer_model"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

# The fewest times in a history that make a transfer model; with fewer, only the fastest are tried.
_FEWEST_TIMES = 20

_CANDIDATES_AT_ONCE = 2000  # bounds the memory that a prediction takes


@dataclass(frozen=True)
class TransferModel:
    """Predictions from a history for each candidate.

    Args:
        expected: shape (candidates,), in standard deviations of its targets; lower is faster.
        scale: of its logarithms.
    """

    expected: Floats
    scale: Scale


def transfer_model(candidates: Candidates, history: History) -> TransferModel | None:
    """A Gaussian process over a history, or None if the history is too short.

    A configuration trains the candidate that corresponds to it; its shortest time counts. Of
    parameters that the history does not name, as of another kernel's, nothing is known: candidates
    that differ in these alone are expected to be equally fast.
    """
    history = list(history)
    part, places = _part_named(candidates, {name for config, _ in history for name in config})
    known: dict[int, float | None] = {}
    for config, time_s in history:
        number = part.counterpart(config)
        if number is not None:
            times_s = [t for t in (known.get(number), time_s) if t is not None]
            known[number] = min(times_s, default=None)
    values, scale = scaled(list(known.values()))
    times = sum(time_s is not None for time_s in known.values())
    if times < _FEWEST_TIMES or scale.deviation == 0:
        return None
    kept = _kept(values)
    numbers = np.array(list(known))[kept]
    return TransferModel(_expected(part, numbers, values[kept])[places], scale)


def _part_named(candidates: Candidates, names: Collection[str]) -> tuple[Candidates, Numbers]:
    """The candidates without the parameters of other names, and the place of each among these.

    A parameter with a single value stays.
    """
    parameters = candidates.space.parameters
    kept = [p.name in names or len(p.values) == 1 for p in parameters]
    if all(kept):
        return candidates, np.arange(len(candidates))
    rows, places = np.unique(candidates.ranks[:, kept], axis=0, return_inverse=True)
    # What may be combined is listed, so no condition on another parameter has to hold.
    left = tuple(replace(p, only_if=None) for p, keep in zip(parameters, kept, strict=True) if keep)
    listed = SearchSpace(left)
    members = frozenset(map(listed.config_of, rows.tolist()))
    return Candidates(replace(listed, members=members)), places


def _kept(values: Floats) -> npt.NDArray[np.int64]:
    """Places of the rows in the training set: the fastest half and a random sample of the others.

    Their order is random and always the same; hyperparameters are fitted to the first ones.
    """
    rng = np.random.default_rng(0)
    order = np.argsort(values, kind="stable")
    fastest, others = np.split(order, [MAX_ROWS // 2])
    drawn = rng.permutation(others)[: MAX_ROWS - len(fastest)]
    return rng.permutation(np.concatenate([fastest, drawn]))


def _expected(candidates: Candidates, numbers: npt.NDArray[np.int64], values: Floats) -> Floats:
    """The mean of a process through these values at each candidate."""
    levels, rows = candidates.levels, candidates.indicators(numbers.tolist())
    starts = range(0, len(candidates), _CANDIDATES_AT_ONCE)
    with one_blas_thread():
        fitted = Inputs(rows[:MAX_FITTED_ROWS])
        hyperparameters = fit(levels, fitted, values[:MAX_FITTED_ROWS])
        process = GaussianProcess(levels, Inputs(rows), values, hyperparameters)
        every = np.split(np.arange(len(candidates)), starts[1:])
        means = [process.mean(Inputs(candidates.indicators(part.tolist()))) for part in every]
    return np.concatenate(means)
