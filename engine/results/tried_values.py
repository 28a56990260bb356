"""The values of a parameter that a study tried: a study stores no others."""

from __future__ import annotations

from collections.abc import Iterable

from engine.study.stored_trial import StoredTrial
from foundation.config import ParameterValue

__all__ = ["tried_values"]


def tried_values(trials: Iterable[StoredTrial], name: str) -> list[ParameterValue]:
    """Each value once: numbers by size, anything else by its text."""
    values = {trial.config[name] for trial in trials if name in trial.config}
    if all(isinstance(value, int | float) for value in values):
        return sorted(values)
    return sorted(values, key=str)
