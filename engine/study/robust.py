"""What a configuration loses under each model of a board's family, and the score that follows.

Names: the models' own, such as "default" and "prefetch-ignored". Trials of real boards have no
models: their times are times, and all of this leaves them alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from engine.study.objectives import Robust
from engine.study.stored_trial import StoredTrial

__all__ = [
    "ROBUST",
    "WORST_COUNTS",
    "ModelRegrets",
    "model_regrets",
    "order_of",
    "rank_of",
    "robust_of",
    "score_s",
]

ROBUST = "robust"  # name of the study's attribute

# For the mean regret, the worst of a configuration's regrets counts so many times: a mean of eight
# says little of the one model that makes a winner slow. Twice and three times do alike on recorded
# spaces, and more costs under the other models (docs/notes/robust_winners.md).
WORST_COUNTS = 3


def robust_of(stored: object) -> Robust:
    """What a study minimises, from its attribute; the mean where it has none."""
    return cast(Robust, stored) if stored in get_args(Robust) else "mean"


@dataclass(frozen=True)
class ModelRegrets:
    """The least times of a study by model, which regrets are over.

    Args:
        best: the fastest trial under each model, by the model's name, the default first.
    """

    best: Mapping[str, StoredTrial]

    def of(self, trial: StoredTrial) -> dict[str, float]:
        """How much slower than the fastest it is under each model: 0.25 is 25% slower."""
        return {
            name: trial.models_s[name] / best.models_s[name] - 1 for name, best in self.best.items()
        }

    def mean(self, trial: StoredTrial) -> float:
        """The geometric mean over the models of 1 + regret, minus 1, as between boards."""
        logs = [math.log1p(regret) for regret in self.of(trial).values()]
        return math.expm1(math.fsum(logs) / len(logs))

    def weighted_mean(self, trial: StoredTrial) -> float:
        """The same with the worst regret counted `WORST_COUNTS` times."""
        logs = [math.log1p(regret) for regret in self.of(trial).values()]
        more = WORST_COUNTS - 1
        return math.expm1((math.fsum(logs) + more * max(logs)) / (len(logs) + more))

    def worst(self, trial: StoredTrial) -> float:
        """The greatest regret under any model."""
        return max(self.of(trial).values())


def model_regrets(trials: Sequence[StoredTrial]) -> ModelRegrets | None:
    """The regrets of a study; None unless all its correct trials have the same several models."""
    correct = [trial for trial in trials if trial.time_s is not None]
    names = list(correct[0].models_s) if correct else []
    if len(names) < 2 or any(set(trial.models_s) != set(names) for trial in correct):
        return None
    return ModelRegrets(
        {name: min(correct, key=lambda trial: trial.models_s[name]) for name in names}
    )


def rank_of(regrets: ModelRegrets | None, robust: Robust, trial: StoredTrial) -> float:
    """What the correct trials of a study are ordered by, the least first."""
    if regrets is None or robust == "off":
        return trial.time_s or math.inf
    return regrets.weighted_mean(trial) if robust == "mean" else regrets.worst(trial)


def order_of(regrets: ModelRegrets | None, robust: Robust) -> str:
    """What `rank_of` gives, in a word for the user."""
    words = {"mean": "weighted_mean_loss", "worst": "worst_loss", "off": "time"}
    return "time" if regrets is None else words[robust]


def score_s(trial: StoredTrial, robust: Robust, reference: Mapping[str, float]) -> float | None:
    """What a search minimises while trials arrive, in seconds; None for a failure.

    Regrets depend on the least times, which are not known yet. Their plain mean orders
    configurations as the geometric mean of the times does, whatever the least times are: the
    logarithms of those only shift all scores. For the worst regret, the times of a reference stand
    in. `auto` and `gp` follow the least times so far instead (`mean_regret.py` and
    `worst_regret.py` in `engine/search/model/`). Once the trials are there, they are ordered by
    their regrets (`rank_of`).

    Args:
        trial: a finished one.
        robust: what the study minimises.
        reference: times in seconds by model, of the default configuration or any other.
    """
    times_s = trial.models_s
    if trial.time_s is None or robust == "off" or not times_s:
        return trial.time_s
    if robust == "mean":
        return math.exp(math.fsum(map(math.log, times_s.values())) / len(times_s))
    if set(times_s) != set(reference):
        return trial.time_s
    ratio = max(time_s / reference[name] for name, time_s in times_s.items())
    return ratio * next(iter(reference.values()))
