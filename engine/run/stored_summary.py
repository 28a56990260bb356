"""The summary of a study that is stored, as the end of its run printed it."""

from __future__ import annotations

from collections.abc import Sequence

from engine.repeats.comparison import COMPARISON, kept_comparison
from engine.run.summary import Summary, summarise
from engine.study.robust import ROBUST, robust_of
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from rvv_runner.event_costs import event_costs

__all__ = ["stored_summary"]


def stored_summary(stored: StoredTrials, trials: Sequence[StoredTrial]) -> Summary:
    """Sum up a stored study.

    Args:
        stored: the study.
        trials: those of it that have an outcome.
    """
    # Of the default alone it is stored how long its measurement took.
    default = next((trial.config for trial in trials if "wall_s" in trial.attributes), None)
    comparison = kept_comparison(stored.attribute(COMPARISON), trials)
    costs = event_costs(str(stored.attribute("device")))
    robust = robust_of(stored.attribute(ROBUST))
    return summarise(trials, default, comparison, costs, robust)
