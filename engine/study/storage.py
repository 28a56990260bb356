"""A study that outlives the process: opening it, going on with it, refusing what is not ours."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import BaseStorage, JournalStorage, get_storage
from optuna.storages.journal import JournalRedisBackend

from engine.study.journal import CrashSafeJournal
from engine.study.location import artifacts_dir, is_url, sqlite_file, storage_file
from engine.study.objectives import TIME_S
from engine.study.trials import StoredTrials, make_study
from foundation.errors import UserError
from foundation.shapes import shape_text
from search_spaces.space import SearchSpace

__all__ = [
    "FORMAT_VERSION",
    "StudyIdentity",
    "open_study",
    "read_studies",
]

# One file for all studies, so that one optuna-dashboard shows them side by side.
# Of what is stored with studies and trials; a change that older code would misread raises it.
FORMAT_VERSION = 2


@dataclass(frozen=True)
class StudyIdentity:
    """What a study is about; times of two studies that differ here are never mixed.

    Args:
        kernel: the kernel's name.
        shape: size of each dimension.
        dtype: element type.
        device: what measures.
        sampler: name of the sampler; only for the study's own name, since what one sampler
            measured serves another as well.
        made_with: what else decides the times, by what people call it ("board model", "compiler");
            short texts that change where it does.
        more_shapes: other shapes, where the study is about one configuration for all of them.
        objectives: names of what is to be made small, the time first.
    """

    kernel: str
    shape: Mapping[str, int]
    dtype: str
    device: str
    sampler: str
    made_with: Mapping[str, str]
    more_shapes: tuple[Mapping[str, int], ...] = ()
    objectives: tuple[str, ...] = (TIME_S,)

    @property
    def shapes(self) -> tuple[Mapping[str, int], ...]:
        """Every shape that it is about."""
        return (self.shape, *self.more_shapes)

    @property
    def name(self) -> str:
        """The study's name where the user gives none: "matmul-M256-fp32-emulated:x60-tpe-1f0c2a9b".

        It ends in a digest of `made_with`: with another compiler or board model a new study begins
        beside the old one.
        """
        made_with = hashlib.sha256(json.dumps(dict(self.made_with), sort_keys=True).encode())
        return f"{self._stem}-{made_with.hexdigest()[:8]}"

    def has_other_toolchain(self, name: str) -> bool:
        """Whether a study of that name differs from this one in `made_with` only."""
        return name != self.name and bool(
            re.fullmatch(rf"{re.escape(self._stem)}(-[0-9a-f]{{8}})?", name)
        )

    @property
    def _stem(self) -> str:
        sizes = [f"{name}{size}" for name, size in self.shape.items()]
        if self.more_shapes:  # all their sizes would make a name too long for a file
            shapes = json.dumps([dict(shape) for shape in self.shapes])
            digest = hashlib.sha256(shapes.encode()).hexdigest()[:8]
            sizes = [str(len(self.shapes)), "shapes", digest]
        several = self.objectives if len(self.objectives) > 1 else ()
        return "-".join((self.kernel, *sizes, self.dtype, self.device, self.sampler, *several))

    def attributes(self) -> dict[str, object]:
        """What is stored with the study, and has to be the same to go on with it.

        Of several shapes it is a list, which is how a reader sees that times are of all of them.
        """
        shapes = [dict(shape) for shape in self.shapes]
        return {
            "format_version": FORMAT_VERSION,
            "kernel": self.kernel,
            "shape": shapes if self.more_shapes else shapes[0],
            "dtype": self.dtype,
            "device": self.device,
            "made_with": dict(self.made_with),
        }


def open_study(
    storage: str, identity: StudyIdentity, space: SearchSpace, name: str | None = None
) -> StoredTrials:
    """Create a study, or go on with the one of that name; trials of dead processes are given back.

    Args:
        storage: path of a journal file, or one of Optuna's URLs ("sqlite:///tuner.db",
            "mysql://...", "redis://...").
        identity: what the study is about.
        space: what it searches; a fingerprint is stored, for people.
        name: the study's name, where it is not to be the identity's.

    Raises:
        UserError: where the storage cannot be opened, or holds under this name something that
            another version or another command made; nothing has been changed then.
    """
    with _as_user_error(storage):
        with _alone_in(storage):
            opened = _open_storage(storage)
        name = name or identity.name
        _check_is_ours(opened, name, identity)
        study = make_study(opened, name, identity.objectives)
        wanted = {**identity.attributes(), "space": _fingerprint(space)}
        for key, value in wanted.items():
            if study.user_attrs.get(key) != value:
                study.set_user_attr(key, value)
        trials = StoredTrials(study, opened, artifacts_dir(storage))
        trials.sweep()
    return trials


def read_studies(storage: str) -> list[StoredTrials]:
    """Every study of this format in a storage, to be read; nothing is made where there is none.

    Raises:
        UserError: where the storage cannot be opened.
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


def _open_storage(storage: str) -> BaseStorage:
    if storage.startswith("redis"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            return JournalStorage(JournalRedisBackend(storage))
    if is_url(storage):
        return get_storage(storage)
    return JournalStorage(CrashSafeJournal(Path(storage)))


@contextmanager
def _alone_in(storage: str) -> Iterator[None]:
    """Keep other processes from opening a SQLite file: two would make the same tables in it.

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
    """Turn what goes wrong with a storage into one sentence."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        # Each database driver has exceptions of its own, so there is no shorter list of types.
        reason = (str(error).splitlines() or [type(error).__name__])[0].strip().rstrip(".")
        raise UserError(
            f"the storage {storage} cannot be used ({reason}): give --storage the path of a "
            "journal file, which is made where there is none, or a URL of Optuna's"
        ) from error


def _check_is_ours(storage: BaseStorage, name: str, identity: StudyIdentity) -> None:
    """Refuse a study of this name that another version, or a command for another problem, made."""
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


def _other_toolchain(name: str, stored: Mapping[str, str], current: Mapping[str, str]) -> str:
    names = sorted({*stored, *current})
    changed = [what for what in names if stored.get(what) != current.get(what)]
    return (
        f"the study {name} was made with another {' and another '.join(changed)}, "
        "so its times cannot be compared with new ones: give --study a new name"
    )


def _spelt(value: object) -> str:
    """A value as the user would have written it: "M=256,N=512"."""
    if isinstance(value, list):
        return " and ".join(map(_spelt, value))
    return shape_text(value) if isinstance(value, Mapping) else str(value)


def _fingerprint(space: SearchSpace) -> str:
    """Changes where parameters, their values or the names of rules do."""
    described = {
        "parameters": {parameter.name: parameter.values for parameter in space.parameters},
        "rules": [rule.name for rule in space.rules],
        "members": sorted(map(str, space.members)) if space.members is not None else None,
    }
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]
