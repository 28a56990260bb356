"""Where what is stored with a trial stands: short values in plain view, long ones aside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial

from engine.study.journal import CrashSafeStorage

__all__ = ["all_attributes", "set_attributes", "split_attributes"]

# optuna-dashboard shows every user attribute as a column of its table of trials. These are too long
# for one; they are system attributes, which it does not show. Trials that were stored before have
# them among their user attributes.
_LONG = frozenset(
    {
        "build_stages_s",
        "conditions",
        "counters",
        "elf_path",
        "elf_sha256",
        "notes_mark",
        "owner",
        "reason",
        "run_command",
        "sampler_notes",
        "shapes",
        "spans",
        "times_s",
    }
)
_PREFIX = "tuner:"  # Optuna and its dashboard have system attributes of their own


def all_attributes(trial: FrozenTrial) -> dict[str, object]:
    """What is stored with a trial, wherever it stands."""
    hidden = {
        name.removeprefix(_PREFIX): value
        for name, value in trial.system_attrs.items()
        if name.startswith(_PREFIX)
    }
    return {**trial.user_attrs, **hidden}


def split_attributes(
    attributes: Mapping[str, object],
) -> tuple[dict[str, object], dict[str, object]]:
    """User attributes and system attributes for `create_trial`."""
    short = {name: value for name, value in attributes.items() if name not in _LONG}
    return short, {f"{_PREFIX}{name}": attributes[name] for name in _LONG & attributes.keys()}


def set_attributes(storage: BaseStorage, trial_id: int, attributes: Mapping[str, object]) -> None:
    """Store JSON values with a trial that is not finished."""
    short, long = split_attributes(attributes)
    if isinstance(storage, CrashSafeStorage):
        storage.set_trial_attributes(trial_id, short, long)
        return
    for name, value in short.items():
        storage.set_trial_user_attr(trial_id, name, value)
    for name, value in long.items():
        storage.set_trial_system_attr(trial_id, name, cast(Any, value))
