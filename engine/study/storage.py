"""Stored studies: create one, resume one, refuse one that is about something else."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import BaseStorage, JournalStorage, get_storage
from optuna.storages.journal import BaseJournalBackend, JournalRedisBackend

from engine.study.damage import DamagedJournalError, damaged_line
from engine.study.identity import (
    FORMAT_VERSION,
    KERNEL_FILE,
    OPTUNA_VERSION,
    VERSION,
    StudyIdentity,
)
from engine.study.journal import CrashSafeJournal, CrashSafeStorage
from engine.study.journal_start import unusable_storage
from engine.study.location import (
    artifacts_dir,
    is_url,
    sqlite_file,
    storage_file,
)
from engine.study.trials import StoredTrials, make_study
from foundation.errors import UserError, listed, nearest
from foundation.garbage import collecting_later
from foundation.programs import python_command
from foundation.shapes import shape_text
from foundation.version import project_version
from search_spaces.space import SearchSpace

__all__ = [
    "open_study",
    "read_studies",
    "study_named",
]

_SHOWN = 3


def open_study(
    storage: str, identity: StudyIdentity, space: SearchSpace, name: str | None = None
) -> StoredTrials:
    """Create a study, or resume the one of that name; trials of dead processes are given back.

    Args:
        storage: path of a journal file, or one of Optuna's URLs ("sqlite:///tuner.db",
            "mysql://...", "redis://...").
        identity: what the study is about.
        space: the search space; its fingerprint is stored for people to compare.
        name: the study's name; None for the identity's.

    Raises:
        UserError: if the storage cannot be opened, or its study of this name is from another
            version or about something else. Then nothing is changed.
    """
    with _as_user_error(storage):
        with _alone_in(storage):
            opened = _open_storage(storage)
        name = name or identity.name_among([s.study_name for s in opened.get_all_studies()])
        _check_is_ours(opened, name, identity)
        study = make_study(opened, name, identity.objectives)
        wanted = {**identity.attributes(), "space": _fingerprint(space)}
        if identity.kernel_file:
            wanted[KERNEL_FILE] = identity.kernel_file
        if opened.get_n_trials(study._study_id) == 0:  # else nobody knows: the study is an old one
            versions = {VERSION: project_version(), OPTUNA_VERSION: optuna.__version__}
            wanted |= {**identity.searched_by(), **versions}
        for key, value in wanted.items():
            if study.user_attrs.get(key) != value:
                study.set_user_attr(key, value)
        trials = StoredTrials(study, opened, artifacts_dir(storage))
        trials.sweep()
    return trials


def read_studies(storage: str) -> list[StoredTrials]:
    """Every study of this format in a storage, for reading; nothing is created.

    Raises:
        UserError: if the storage cannot be opened.
    """
    file = storage_file(storage)
    if file is not None and not file.exists():
        return []
    with _as_user_error(storage):
        with _alone_in(storage):
            opened = _open_storage(storage)
        return [
            StoredTrials(
                optuna.load_study(storage=opened, study_name=study.study_name),
                opened,
                artifacts_dir(storage),
            )
            for study in opened.get_all_studies()
            if study.user_attrs.get("format_version") == FORMAT_VERSION
        ]


def study_named(storage: str, name: str | None) -> StoredTrials:
    """One study of a storage, for reading.

    Args:
        storage: where it is.
        name: the study's name, or a part that no other study's name has: names of tasks are long.

    Raises:
        UserError: if the storage cannot be opened or has no study of that name, several names
            have that part, or no name is given; the sentence lists the studies.
    """
    studies = {stored.study_name: stored for stored in read_studies(storage)}
    if not studies:
        raise UserError("the storage holds no study: tune something first, or give --storage")
    if name is None:
        raise UserError(f"STUDY is missing: choose {_newest_first(studies.values())}")
    if name in studies:
        return studies[name]
    with_part = [study for study in studies if name and name in study]
    if len(with_part) == 1:
        return studies[with_part[0]]
    if with_part:
        those = listed([_told_apart(studies[study]) for study in sorted(with_part)], " or ")
        raise UserError(f"{name} is a part of {len(with_part)} names: give more of {those}")
    raise UserError(f"there is no study {name}: {_nearest_few(name, studies)}")


def _nearest_few(name: str, studies: Collection[str]) -> str:
    """The studies nearest to a name, to end a sentence; of many, a list of all would push the
    sentence off the screen."""
    if len(studies) <= _SHOWN:
        return nearest(name, studies)

    def likeness(study: str) -> float:
        parts = (study, study.partition("-")[0])
        return max(SequenceMatcher(None, name, part).ratio() for part in parts)

    few = sorted(studies, key=lambda study: (-likeness(study), study))[:_SHOWN]
    every = f"of {len(studies)}, which {python_command('engine.report')} lists"
    return f"{every}, the nearest are {listed(few, ', ')}"


def _newest_first(studies: Collection[StoredTrials]) -> str:
    """All of a storage's studies, to end a sentence; those without a measurement come last."""
    if len(studies) == 1:
        return next(iter(studies)).study_name
    lines = sorted((-max(_ends_s(one), default=0.0), _told_apart(one)) for one in studies)
    return f"one of these {len(lines)}, the newest first:\n  " + "\n  ".join(t for _, t in lines)


def _ends_s(stored: StoredTrials) -> list[float]:
    """When the measurements of a study ended, in seconds since the epoch."""
    trials = stored.trials_of(stored.study_name)
    return [end_s for trial in trials for *_, end_s in trial.spans]


def _told_apart(stored: StoredTrials) -> str:
    """A study's name, and what tells it from those that differ from it in their digest alone."""
    trials = stored.trials_of(stored.study_name)
    ends_s = _ends_s(stored)
    correct = sum(trial.status == "correct" for trial in trials)
    known = [
        *([Path(str(file)).name] if (file := stored.attribute(KERNEL_FILE)) else []),
        *([f"{datetime.fromtimestamp(max(ends_s)):%Y-%m-%d %H:%M}"] if ends_s else []),
        f"{correct} of {len(trials)} correct",
    ]
    return f"{stored.study_name} ({', '.join(known)})"


@collecting_later()
def _open_storage(storage: str) -> BaseStorage:
    if storage.startswith("redis"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            return JournalStorage(_WithoutSnapshots(JournalRedisBackend(storage)))
    if is_url(storage):
        if sqlite_file(storage) is not None:
            return get_storage(storage)
        from engine.study.database import PatientDatabase  # SQLAlchemy takes a while to import

        return get_storage(PatientDatabase(storage))
    journal = CrashSafeJournal(Path(storage))
    try:
        return CrashSafeStorage(journal)
    except (OSError, UserError):
        raise
    except Exception as error:  # Optuna takes the values apart in many ways
        line = damaged_line(Path(storage))
        if line is None:
            raise
        raise DamagedJournalError(Path(storage), line) from error


class _WithoutSnapshots(BaseJournalBackend):
    """A journal that is read as lines of JSON only; Optuna would unpickle its snapshots."""

    def __init__(self, journal: BaseJournalBackend) -> None:
        self._journal = journal

    def read_logs(self, log_number_from: int) -> Iterable[dict[str, Any]]:
        return self._journal.read_logs(log_number_from)

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        self._journal.append_logs(logs)


@contextmanager
def _alone_in(storage: str) -> Iterator[None]:
    """Keep other processes from opening a SQLite file, since two would create the same tables.

    The lock is on its folder, so that no file is left behind.
    """
    file = sqlite_file(storage)
    if file is None or not file.parent.is_dir():
        yield
        return
    descriptor = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _as_user_error(storage: str) -> Iterator[None]:
    """Turn any error of a storage into one sentence."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        # Each database driver has its own exceptions, so there is no shorter list of types.
        raise unusable_storage(storage, error) from error


def _check_is_ours(storage: BaseStorage, name: str, identity: StudyIdentity) -> None:
    """Refuse a study of this name that is from another version or about something else."""
    study = next((s for s in storage.get_all_studies() if s.study_name == name), None)
    if study is None:
        return
    if len(study.directions) != len(identity.objectives):
        raise UserError(
            f"the study {name} has {len(study.directions)} objectives, not "
            f"{len(identity.objectives)} ({', '.join(identity.objectives)}): "
            "give --study a new name"
        )
    stored = study.user_attrs
    if not stored and storage.get_n_trials(study._study_id) == 0:
        return  # Its maker was killed before it could write more.
    version = stored.get("format_version")
    if version != FORMAT_VERSION:
        made_by = "another program" if version is None else f"another version (format {version})"
        raise UserError(
            f"the study {name} was made by {made_by} and this one reads format {FORMAT_VERSION}: "
            "give --study a new name, or --storage a new place"
        )
    for key, value in identity.attributes().items():
        if key in stored and stored[key] != value:
            if key == "made_with":
                raise UserError(_other_toolchain(name, stored[key], identity.made_with))
            raise UserError(
                f"the study {name} is about {key} {_spelt(stored[key])}, not {_spelt(value)}: "
                "give --study a new name"
            )
    by = {key: stored.get(key, value) for key, value in identity.searched_by().items()}
    if by != identity.searched_by():
        raise UserError(
            f"the trials of the study {name} are by {_options(by)}, not "
            f"{_options(identity.searched_by())}: give these, or --study a new name"
        )


def _options(values: Mapping[str, object]) -> str:
    """Options as users write them: "--sampler auto --seed 1"."""
    return " ".join(f"--{name} {value}" for name, value in values.items())


def _other_toolchain(name: str, stored: Mapping[str, str], current: Mapping[str, str]) -> str:
    names = sorted({*stored, *current})
    changed = [what for what in names if stored.get(what) != current.get(what)]
    return (
        f"the study {name} was made with another {' and another '.join(changed)}, "
        "so its times cannot be compared with new ones: give --study a new name"
    )


def _spelt(value: object) -> str:
    """A value as users write it: "M=256,N=512"."""
    if isinstance(value, list):
        return " and ".join(map(_spelt, value))
    return shape_text(value) if isinstance(value, Mapping) else str(value)


def _fingerprint(space: SearchSpace) -> str:
    """A digest of the parameters, their values and the names of the rules."""
    described = {
        "parameters": {parameter.name: parameter.values for parameter in space.parameters},
        "rules": [rule.name for rule in space.rules],
        "members": sorted(map(str, space.members)) if space.members is not None else None,
    }
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]
