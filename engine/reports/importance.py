"""How much each parameter decides whether a configuration is among the fastest."""

from __future__ import annotations

from collections.abc import Sequence

import optuna
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from engine.study.stored_trial import StoredTrial

__all__ = ["FEWEST_TRIALS", "importances"]

# Fewer say more about chance than about parameters.
FEWEST_TRIALS = 10


def importances(trials: Sequence[StoredTrial]) -> dict[str, float]:
    """The share of each parameter by PED-ANOVA (Watanabe et al., IJCAI 2023), largest first.

    Args:
        trials: of one study.

    Returns:
        Shares that add up to one; empty with fewer than ten correct trials, and if no parameter
        has two values among them.
    """
    correct = [trial for trial in trials if trial.time_s is not None]
    if len(correct) < FEWEST_TRIALS:
        return {}
    axes = {name: _Axis(name, correct) for name in correct[0].config}
    varied = [axis for axis in axes.values() if len(axis.values) > 1]
    if not varied:
        return {}
    # Where there is scikit-learn, Optuna imports it here, for another evaluator: two seconds.
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    study = optuna.create_study()
    study.add_trials(
        create_trial(
            state=TrialState.COMPLETE,
            value=trial.time_s,
            params={axis.name: axis.place(trial) for axis in varied},
            distributions={axis.name: axis.distribution for axis in varied},
        )
        for trial in correct
    )
    shares = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    return dict(sorted(shares.items(), key=lambda share: -share[1]))


class _Axis:
    """A parameter on the scale of its values' order, since sizes double from one to the next."""

    def __init__(self, name: str, trials: Sequence[StoredTrial]) -> None:
        self.name = name
        values = {trial.config[name] for trial in trials}
        self.is_ordered = all(isinstance(value, int | float) for value in values)
        self.values = sorted(values, key=lambda value: value if self.is_ordered else str(value))

    @property
    def distribution(self) -> IntDistribution | CategoricalDistribution:
        if self.is_ordered:
            return IntDistribution(0, len(self.values) - 1)
        return CategoricalDistribution([str(value) for value in self.values])

    def place(self, trial: StoredTrial) -> int | str:
        value = trial.config[self.name]
        return self.values.index(value) if self.is_ordered else str(value)
