"""The stored trials of one study, as the search reads and writes them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast, get_args

import optuna
from optuna.artifacts import FileSystemArtifactStore, upload_artifact
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning, UpdateFinishedTrialError
from optuna.samplers import RandomSampler
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from engine.study.attributes import set_attributes, split_attributes
from engine.study.distributions import distributions_for
from engine.study.heartbeat import Heartbeat
from engine.study.journal import CrashSafeStorage, as_one_write
from engine.study.notes import save_note
from engine.study.objectives import TIME_S
from engine.study.owner import Owner
from engine.study.sampler_notes import notes_attributes
from engine.study.stored_trial import MET_AT, StoredTrial, stored_trial
from foundation.config import Config
from rvv_runner.measurement import Status
from search_spaces.space import Rule, SearchSpace

__all__ = ["StoredTrials", "make_study"]

# Optuna logs every study and trial that it creates; users see the progress of the run instead.
optuna.logging.set_verbosity(optuna.logging.WARNING)


class StoredTrials:
    """Reads and writes the trials of one Optuna study.

    Several processes may work on one study: each sees the others' trials in `changes`.

    Args:
        study: the study; every direction of it is "minimize", and the first is the time's.
        storage: the storage that holds it.
        artifacts_dir: folder of the files that belong to trials.
    """

    def __init__(self, study: optuna.Study, storage: BaseStorage, artifacts_dir: Path) -> None:
        # The search proposes; Optuna's default, TPE, would read every trial for nothing.
        study.sampler = RandomSampler(seed=0)
        self._study = study
        self._storage = storage
        self._study_id = storage.get_study_id_from_name(study.study_name)
        self._objectives = tuple(study.metric_names or (TIME_S,))
        self._artifacts_dir = artifacts_dir
        self._owner = Owner.this_process()
        self._unfinished: set[int] = set()
        self._seen = 0
        self._heartbeat = Heartbeat(storage, self._study_id, self._owner)
        self._stored_axes: tuple[SearchSpace, dict[str, BaseDistribution]] | None = None

    @classmethod
    def in_memory(cls, objectives: Sequence[str] = (TIME_S,)) -> StoredTrials:
        """An empty study that ends with the process."""
        storage = InMemoryStorage()
        return cls(make_study(storage, None, objectives), storage, Path())

    @property
    def objectives(self) -> tuple[str, ...]:
        """Names of the objectives to minimise, the time first."""
        return self._objectives

    @property
    def study_name(self) -> str:
        """The study's name in its storage."""
        return self._study.study_name

    def attribute(self, name: str) -> object:
        """What `set_attribute` stored with the study under this name, or None."""
        return self._study.user_attrs.get(name)

    def set_attribute(self, name: str, value: object) -> None:
        """Store a JSON value with the study."""
        self._study.set_user_attr(name, value)

    @property
    def is_empty(self) -> bool:
        """Whether the study has no trials."""
        return self._storage.get_n_trials(self._study_id) == 0

    def other_studies(self) -> list[tuple[str, Mapping[str, object]]]:
        """Name and attributes of every other study in the same storage."""
        return [
            (study.study_name, study.user_attrs)
            for study in self._storage.get_all_studies()
            if study.study_name != self.study_name
        ]

    def trials_of(self, study_name: str) -> list[StoredTrial]:
        """All trials of a study in the same storage."""
        study_id = self._storage.get_study_id_from_name(study_name)
        return [stored_trial(t) for t in self._storage.get_all_trials(study_id, deepcopy=False)]

    def changes(self) -> Iterator[StoredTrial]:
        """Trials that are new or have ended since the last call, in order of number."""
        count, trial = self._trials_now()
        asked = {number: trial(number) for number in [*self._unfinished, *range(self._seen, count)]}
        told = [n for n, now in asked.items() if n >= self._seen or now.state.is_finished()]
        self._unfinished = {n for n, now in asked.items() if not now.state.is_finished()}
        self._seen = count
        return (stored_trial(asked[number]) for number in sorted(told))

    def _trials_now(self) -> tuple[int, Callable[[int], FrozenTrial]]:
        """How many trials there are, and what gives each by its number."""
        # A journal gives single trials quickly, if not as quickly as all.
        if self._seen and isinstance(self._storage, CrashSafeStorage):
            get, ids = self._storage.get_trial, self._storage.trial_ids(self._study_id)
            return len(ids), lambda number: get(ids[number])
        trials = self._study.get_trials(deepcopy=False)
        return len(trials), trials.__getitem__

    def forbid(self, config: Config, rule: Rule, space: SearchSpace, met_at: int = 0) -> int:
        """Record a combination that the sampler proposed and a rule forbids; the trial's number.

        Args:
            config, rule, space: the combination, what forbids it, and where.
            met_at: how many configurations were taken before the proposal that met it.
        """
        attributes: dict[str, object] = {
            "status": "constraint",
            "constraint": rule.name,
            "reason": rule.reason,
            MET_AT: met_at,
        }
        number = self._add(config, space, TrialState.PRUNED, attributes)
        self._save_note(self._trial_id(number), _note("pruned", f"{rule.name}: {rule.reason}"))
        return number

    def start(self, config: Config, space: SearchSpace, notes: Mapping[str, object]) -> int:
        """Record that this process tries a configuration; the trial's number.

        Args:
            config: the configuration.
            space: its search space.
            notes: the sampler's notes; JSON values only.
        """
        attributes = {"owner": self._owner.to_json(), **notes_attributes(notes)}
        self.keep_alive()
        # With the power, whoever measures it is lost too.
        with as_one_write(self._storage, on_disk=False):
            return self._add(config, space, TrialState.RUNNING, attributes)

    def finish(
        self,
        number: int,
        time_s: float | None,
        status: Status,
        attributes: Mapping[str, object],
        *,
        note: str = "",
        files: Sequence[Path] = (),
    ) -> int:
        """Record the outcome of a trial that `start` opened; its number, which may be a new one.

        The outcome stands in the storage once this returns; a process killed before that leaves
        the trial running, for the next to sweep.

        Args:
            number: what `start` gave.
            time_s: in seconds, for the status "correct".
            status: how it ended.
            attributes: stored with it, further objectives among them; JSON values only.
            note: Markdown that optuna-dashboard shows with the trial; if there is none, of one
                without a time, its status and reason.
            files: copied to the artifacts, where optuna-dashboard offers them.
        """
        values = None
        if time_s is not None:
            values = [time_s, *(cast(float, attributes[name]) for name in self._objectives[1:])]
        if not note and time_s is None:
            note = _note(status, str(attributes.get("reason", "")))
        with as_one_write(self._storage):
            trial_id = self._running(number)
            set_attributes(self._storage, trial_id, {**attributes, "status": status})
            self._save_note(trial_id, note)
            for file in files:
                self._keep(file, trial_id)
            self._storage.set_trial_state_values(trial_id, _STATES[status], values)
            return self._storage.get_trial_number_from_id(trial_id)

    def keep_alive(self) -> None:
        """Once a minute, tell others that this process lives, and give back what dead ones left.

        Call it often while trials are open.
        """
        if self._heartbeat.beat():
            self.sweep()

    def sweep(self) -> int:
        """Give back the trials of dead processes; how many there were."""
        running = self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        dead = [trial for trial in running if self._heartbeat.has_stopped_for(trial)]
        for trial in dead:
            trial_id = self._trial_id(trial.number)
            reason = "its process died"
            # Another process that opens the study now may be faster. A journal shows that under its
            # lock; later, Optuna would refuse each line that was written, one at each look.
            with suppress(UpdateFinishedTrialError), as_one_write(self._storage):
                if self._storage.get_trial(trial_id).state.is_finished():
                    continue
                set_attributes(self._storage, trial_id, {"status": "board", "reason": reason})
                self._save_note(trial_id, _note("board", reason))
                self._storage.set_trial_state_values(trial_id, TrialState.FAIL)
        return len(dead)

    def _trial_id(self, number: int) -> int:
        """Optuna's id of a trial, which differs from its number if there are several studies."""
        return self._storage.get_trial_id_from_study_id_trial_number(self._study_id, number)

    def _running(self, number: int) -> int:
        """The id of a trial that `start` opened.

        Where another machine took this process for dead and gave the trial back, it is begun again
        under a new number, so that its outcome still counts.
        """
        trial_id = self._trial_id(number)
        trial = self._storage.get_trial(trial_id)
        if trial.state == TrialState.RUNNING:
            return trial_id
        again = create_trial(
            state=TrialState.RUNNING,
            params=trial.params,
            distributions=trial.distributions,
            system_attrs=split_attributes({"owner": self._owner.to_json()})[1],
        )
        return self._storage.create_new_trial(self._study_id, again)

    def _add(
        self,
        config: Config,
        space: SearchSpace,
        state: TrialState,
        attributes: Mapping[str, object],
    ) -> int:
        short, long = split_attributes(attributes)
        trial = create_trial(
            state=state,
            params=dict(config),
            distributions=self._distributions(space),
            user_attrs=short,
            system_attrs=long,
        )
        trial_id = self._storage.create_new_trial(self._study_id, trial)
        return self._storage.get_trial_number_from_id(trial_id)

    def _distributions(self, space: SearchSpace) -> dict[str, BaseDistribution]:
        """Those that the study has stored; until it has a trial, another process may choose."""
        if self._stored_axes is None or self._stored_axes[0] is not space:
            trials = self._study.get_trials(deepcopy=False)
            axes = distributions_for(space, trials)
            if not any(trial.distributions for trial in trials):
                return axes
            self._stored_axes = space, axes
        return self._stored_axes[1]

    def _save_note(self, trial_id: int, note: str) -> None:
        if note and not isinstance(self._storage, InMemoryStorage):  # which nobody looks into
            save_note(self._storage, self._study_id, trial_id, note)

    def _keep(self, file: Path, trial_id: int) -> None:
        """Copy a file to the artifacts of a trial."""
        self._artifacts_dir.mkdir(parents=True, exist_ok=True)
        upload_artifact(
            artifact_store=FileSystemArtifactStore(self._artifacts_dir),
            file_path=str(file),
            study_or_trial=self._storage.get_trial(trial_id),
            storage=self._storage,
        )


def make_study(storage: BaseStorage, name: str | None, objectives: Sequence[str]) -> optuna.Study:
    """A study with these objectives: a new one, or the existing one of this name."""
    directions = [StudyDirection.MINIMIZE] * len(objectives)
    study = optuna.create_study(
        storage=storage, study_name=name, directions=directions, load_if_exists=True
    )
    if study.metric_names is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            study.set_metric_names(list(objectives))
    return study


_STATES: Mapping[Status, TrialState] = dict.fromkeys(get_args(Status), TrialState.FAIL) | {
    "correct": TrialState.COMPLETE,
    "constraint": TrialState.PRUNED,
}


def _note(status: str, reason: str) -> str:
    """Markdown for a trial without a time."""
    return f"**{status}** {reason}".strip()
