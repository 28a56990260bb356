"""A journal in fewer operations: each trial together with all that became of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from optuna.storages.journal._storage import JournalOperation as Operation
from optuna.trial import TrialState

__all__ = ["folded"]

Log = dict[str, Any]


def folded(logs: Iterator[Log]) -> Iterator[Log]:
    """Operations that lead to the same studies and trials, most of them one per trial.

    Optuna copies a trial for each attribute that is set, so a long study takes it seconds to read.
    Here the operations on a trial are made part of the one that creates it, which Optuna knows how
    to apply: a finished trial may be added to a study as a whole.

    Args:
        logs: of a journal, from its beginning.
    """
    trials: list[Log] = []
    studies: set[str] = set()
    for log in logs:
        operation = log["op_code"]
        if operation in _ON_A_TRIAL:
            known = 0 <= log["trial_id"] < len(trials) and _became(trials[log["trial_id"]], log)
        elif operation == Operation.CREATE_TRIAL:
            known = log["study_id"] < len(studies)
            if known:
                trials.append(log)
        elif operation in _OF_A_STUDY:
            if operation == Operation.CREATE_STUDY:
                studies.add(log["study_name"])
            yield log
            known = True
        else:
            known = False
        if not known:
            # What, say, a deleted study does to the numbers of later trials is for Optuna to know.
            yield from trials
            yield log
            yield from logs
            return
    yield from trials


_ON_A_TRIAL = frozenset(
    {
        Operation.SET_TRIAL_USER_ATTR,
        Operation.SET_TRIAL_SYSTEM_ATTR,
        Operation.SET_TRIAL_STATE_VALUES,
    }
)
_OF_A_STUDY = frozenset(
    {
        Operation.CREATE_STUDY,
        Operation.SET_STUDY_USER_ATTR,
        Operation.SET_STUDY_SYSTEM_ATTR,
        Operation.DISCARD_TRIALS,  # which Optuna passes over
    }
)
_FINISHED = frozenset(state for state in TrialState if state.is_finished())


def _became(trial: Log, log: Log) -> bool:
    """Make an operation on a trial part of its creation; False if there is no way to."""
    if trial.get("state") in _FINISHED:
        return True  # Optuna changes nothing on a finished trial
    if "user_attr" in log:
        trial.setdefault("user_attrs", {}).update(log["user_attr"])
    elif "system_attr" in log:
        trial.setdefault("system_attrs", {}).update(log["system_attr"])
    elif log["state"] in _FINISHED:
        trial["state"] = log["state"]
        if log["values"] is not None:
            trial["values"], trial["value"] = log["values"], None
        trial["datetime_complete"] = log["datetime_complete"]
    else:
        return False
    return True
