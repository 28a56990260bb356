"""A trial in the storage, whichever program stored it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast, get_args

from optuna.trial import FrozenTrial, TrialState

from engine.study.attributes import all_attributes
from engine.study.objectives import CODE_BYTES, Values
from engine.study.sampler_notes import notes_from
from foundation.config import Config
from rvv_runner.measurement import OUTCOMES, Status

__all__ = ["MET_AT", "StoredTrial", "stored_trial"]

MET_AT = "met_at"  # the attribute that `StoredTrials.forbid` stores


@dataclass(frozen=True)
class StoredTrial:
    """A trial in the storage.

    Args:
        number: its place in the study, from 0.
        config: what was tried; parameters may be missing if another program made the trial.
        status: None while it is being measured. "constraint" marks a combination that the sampler
            proposed and a rule forbids; "board" a trial that was given back without an outcome.
        time_s: its time if the status is "correct".
        attributes: what was stored with it; JSON values only.
        values: all objectives of the study, the time first; empty unless the status is "correct".
    """

    number: int
    config: Config
    status: Status | None
    time_s: float | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)
    values: Values = ()

    @property
    def code_bytes(self) -> int | None:
        """Size of the kernel's machine code; None if unknown."""
        stored = self.attributes.get(CODE_BYTES)
        return stored if isinstance(stored, int) else None

    @property
    def times_s(self) -> tuple[float, ...]:
        """Its timed runs in seconds, in order; empty if none are stored."""
        stored = self.attributes.get("times_s")
        if not isinstance(stored, list | tuple):
            return ()
        return tuple(map(float, stored)) if all(map(_is_time, stored)) else ()

    @property
    def models_s(self) -> dict[str, float]:
        """Its time in seconds under each model of its board's family, by name; empty of others."""
        stored = self.attributes.get("models_s")
        if not isinstance(stored, Mapping) or not all(map(_is_time, stored.values())):
            return {}
        return {str(name): float(time_s) for name, time_s in stored.items()}

    @property
    def build_s(self) -> float | None:
        """How long its build took, in seconds; None if that is not stored."""
        stored = self.attributes.get("build_stages_s")
        stages_s = list(stored.values()) if isinstance(stored, Mapping) else []
        are_times = all(stage_s == 0 or _is_time(stage_s) for stage_s in stages_s)
        return sum(map(float, stages_s)) if stages_s and are_times else None

    @property
    def spans(self) -> tuple[tuple[str, str, float, float], ...]:
        """When it was built and measured: "build" or "measure", where, start, end.

        Start and end are seconds since the epoch; empty if none are stored.
        """
        stored = self.attributes.get("spans")
        rows = stored if isinstance(stored, list | tuple) else ()
        return tuple(
            (str(row[0]), str(row[1]), float(row[2]), float(row[3]))
            for row in rows
            if isinstance(row, list | tuple)
            and len(row) == 4
            and all(isinstance(at, int | float) for at in row[2:])
        )

    @property
    def begun_s(self) -> float | None:
        """When its build or measurement began, in seconds since the epoch; None if unknown."""
        return min((start for _, _, start, _ in self.spans), default=None)

    @property
    def ended_s(self) -> float | None:
        """When its measurement, or a build that failed, ended; None if unknown."""
        return max((end for _, _, _, end in self.spans), default=None)

    @property
    def sampler_notes(self) -> Mapping[str, object]:
        """The notes of the sampler that proposed it."""
        return notes_from(self.attributes)

    @property
    def met_at(self) -> int:
        """Of a forbidden combination, how many configurations were taken before it was met; 0 if
        an earlier version stored it."""
        stored = self.attributes.get(MET_AT)
        return stored if type(stored) is int else 0

    @property
    def has_outcome(self) -> bool:
        """Whether the configuration itself was judged: built and run, or found not to build."""
        return self.status in OUTCOMES

    @property
    def was_started(self) -> bool:
        """Whether a process started to measure it."""
        return "owner" in self.attributes


def stored_trial(trial: FrozenTrial) -> StoredTrial:
    """A trial as Optuna reads it, whichever program stored it."""
    status = _status(trial)
    return StoredTrial(
        number=trial.number,
        config=Config(trial.params),
        status=status,
        time_s=trial.values[0] if status == "correct" else None,
        attributes=all_attributes(trial),
        values=tuple(trial.values) if status == "correct" else (),
    )


def _is_time(value: object) -> bool:
    """Whether a stored value is one; another program may have stored anything."""
    return isinstance(value, int | float) and 0 < value < math.inf


def _status(trial: FrozenTrial) -> Status | None:
    match trial.state:
        case TrialState.COMPLETE:
            values: object = trial.values
            are_times = isinstance(values, list) and values and all(map(_is_time, values))
            return "correct" if are_times else "board"
        case TrialState.PRUNED:
            return "constraint"
        case TrialState.FAIL:
            # A trial that another program failed says nothing about its configuration.
            stored = trial.user_attrs.get("status")
            return cast(Status, stored) if stored in get_args(Status) else "board"
    return None
