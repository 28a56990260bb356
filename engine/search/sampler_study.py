"""The study that Optuna's samplers read: in memory, and filled only once one of them is asked."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import optuna
from optuna.samplers import BaseSampler
from optuna.trial import TrialState, create_trial

from engine.search.samplers.encoding import Encoding
from foundation.config import Config, ParameterValue

__all__ = ["SamplerStudy"]


@dataclass
class _Entry:
    """A trial of the study; `number` is Optuna's once the study holds it."""

    config: Mapping[str, ParameterValue]
    notes: Mapping[str, object]
    state: TrialState = TrialState.RUNNING
    time_s: float | None = None
    number: int | None = None


@dataclass
class SamplerStudy:
    """Trials as Optuna's samplers see them.

    Optuna takes a quarter of a millisecond for each trial, which a study of thousands that is
    resumed with another sampler need not wait for. So trials are kept aside until `ask`.

    Args:
        encoding: of the search space.
    """

    encoding: Encoding
    _entries: list[_Entry] = field(default_factory=list)
    _stale: dict[int, _Entry] = field(default_factory=dict)  # not yet in the study as they are

    def __post_init__(self) -> None:
        self._distributions = self.encoding.distributions
        self._study = optuna.create_study(storage=None)

    def add(
        self,
        config: Mapping[str, ParameterValue],
        state: TrialState,
        notes: Mapping[str, object] | None = None,
    ) -> int:
        """Add a trial; returns what `finish` names it by."""
        key = len(self._entries)
        self._entries.append(_Entry(config, notes or {}, state))
        self._stale[key] = self._entries[key]
        return key

    def finish(self, key: int, state: TrialState, time_s: float | None = None) -> None:
        """End a trial, with its time in seconds if it is complete."""
        entry = self._entries[key]
        entry.state, entry.time_s = state, time_s
        self._stale[key] = entry

    def ask(self, sampler: BaseSampler) -> tuple[Config, Mapping[str, object]]:
        """The sampler's answer, valid or not, and its notes; JSON values only."""
        self._catch_up()
        self._study.sampler = sampler
        trial = self._study.ask(self._distributions)
        notes = self._study.get_trials(deepcopy=False)[trial.number].system_attrs
        with suppress(RuntimeError):  # A sampler that has seen everything may stop its study.
            self._study.tell(trial, state=TrialState.FAIL)
        return self.encoding.decode(trial.params), notes

    def _catch_up(self) -> None:
        size = len(self._study.get_trials(deepcopy=False))
        for entry in self._stale.values():
            if entry.number is not None:
                self._study.tell(entry.number, entry.time_s, entry.state)
                continue
            trial = create_trial(
                state=entry.state,
                value=entry.time_s,
                params=self.encoding.encode(entry.config),
                distributions=self._distributions,
                system_attrs=dict(entry.notes),
            )
            self._study.add_trial(trial)
            entry.number, size = size, size + 1
        self._stale.clear()
