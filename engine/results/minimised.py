"""What a study minimises, and each trial's value of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.study.objectives import TIME_S
from engine.study.robust import ROBUST, model_regrets, order_of, rank_of, robust_of
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials

__all__ = ["Minimised", "minimised"]


@dataclass(frozen=True)
class Minimised:
    """What a study minimises.

    Args:
        names: of the objectives, as in "time" or "weighted_mean_loss".
        losses: of the correct trials by number, where the first objective is a loss over the models
            of a board: how much slower than the fastest trials of the study. Empty for a time.
    """

    names: Sequence[str]
    losses: Mapping[int, float]


def minimised(study: StoredTrials) -> Minimised:
    """What orders the trials of a study now."""
    correct = [t for t in study.trials_of(study.study_name) if t.time_s is not None]
    robust, regrets = robust_of(study.attribute(ROBUST)), model_regrets(correct)
    order = order_of(regrets, robust)

    def loss(trial: StoredTrial) -> float:
        return rank_of(regrets, robust, trial)

    losses = {} if order == "time" else {trial.number: loss(trial) for trial in correct}
    further = [name for name in study.objectives if name != TIME_S]
    return Minimised([order, *further], losses)
