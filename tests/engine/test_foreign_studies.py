"""A study that others write to runs none of their code, and works without it."""

from __future__ import annotations

import argparse
import json
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest
from command_here import run_here
from optuna.storages import JournalStorage
from optuna.storages.journal import BaseJournalBackend
from optuna.storages.journal._base import BaseJournalSnapshot
from search_helpers import IDENTITY, SPACE, optuna_storage, run, search_in, time_of

from engine.by_hand.study_file import StudyFile, read_study_file, write_study_file
from engine.collect import _storage
from engine.study.storage import _WithoutSnapshots, open_study
from foundation import own_key
from foundation.errors import UserError

CMAES = "optuna.samplers.CmaEsSampler"


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    become(monkeypatch, tmp_path / "user")


def become(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """From now on, the user whose home this is."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    own_key._key.cache_clear()


class Hostile:
    """Unpickling it runs a command."""

    def __init__(self, ran: Path) -> None:
        self._ran = ran

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._ran),)


@pytest.mark.parametrize(
    "storage", ["journal", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)
def test_texts_that_a_stranger_left_for_a_sampler_are_not_unpickled(
    storage: str, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    notes = {"cma:optimizer:0": pickle.dumps(Hostile(ran)).hex(), "cma:generation": 0}
    list(run(search_in(storage, CMAES), 6))
    study = optuna.load_study(study_name=IDENTITY.name, storage=optuna_storage(storage))
    config = next(c for c in SPACE.valid_configs() if c not in [t.params for t in study.trials])
    trial = optuna.trial.create_trial(
        params=dict(config),
        distributions=study.trials[0].distributions,
        value=time_of(config),
        system_attrs={"tuner:sampler_notes": notes, "tuner:notes_mark": "0" * 64},
    )
    study.add_trial(trial)
    assert len(list(run(search_in(storage, CMAES), 16))) == 9
    assert not ran.exists()


def test_a_sampler_goes_on_with_its_own_texts_and_with_others_numbers(
    storage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trials = open_study(storage, IDENTITY, SPACE)
    notes = {"cma:optimizer:0": "80054b002e", "cma:generation": 3, "points": [0.5, 1]}
    for config in list(SPACE.valid_configs())[:2]:
        trials.finish(trials.start(config, SPACE, notes), time_of(config), "correct", {})
    mine = [trial.sampler_notes for trial in open_study(storage, IDENTITY, SPACE).changes()]
    assert mine == [notes, notes]
    become(monkeypatch, tmp_path / "another")
    theirs = [trial.sampler_notes for trial in open_study(storage, IDENTITY, SPACE).changes()]
    assert theirs == [{"cma:generation": 3, "points": [0.5, 1]}] * 2


@pytest.mark.parametrize(
    "storage", ["journal", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)
def test_two_users_share_a_study_of_a_sampler_that_pickles(
    storage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    list(run(search_in(storage, CMAES), 20))
    become(monkeypatch, tmp_path / "another")
    search = search_in(storage, CMAES)
    assert len(list(run(search, 40))) == 20
    assert search.tried == 40


def test_the_key_is_for_its_user_alone(tmp_path: Path) -> None:
    mark = own_key.mark_of({"b": 1, "a": [2]})
    assert own_key.is_own({"a": [2], "b": 1}, mark)
    assert not own_key.is_own({"a": [2], "b": 2}, mark)
    assert not own_key.is_own({"a": [2], "b": 1}, "é")
    (key,) = tmp_path.rglob("key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert [path.name for path in key.parent.iterdir()] == ["key"]
    key.chmod(0o644)
    own_key._key.cache_clear()
    with pytest.raises(UserError, match="is not a key that only you can read: remove it"):
        own_key.mark_of(1)


def test_many_processes_make_one_key(tmp_path: Path) -> None:
    script = "from foundation.own_key import mark_of; print(mark_of(1))"
    started = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert len({process.communicate(timeout=200)[0] for process in started}) == 1


class JournalWithSnapshot(BaseJournalBackend, BaseJournalSnapshot):
    """As Optuna's journal in Redis, with a snapshot that a stranger left there."""

    def __init__(self, snapshot: bytes) -> None:
        self._snapshot = snapshot

    def read_logs(self, log_number_from: int) -> list[dict[str, Any]]:
        return []

    def append_logs(self, logs: list[dict[str, Any]]) -> None: ...

    def save_snapshot(self, snapshot: bytes) -> None: ...

    def load_snapshot(self) -> bytes:
        return self._snapshot


def test_a_snapshot_of_a_journal_is_not_unpickled(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    journal = JournalWithSnapshot(pickle.dumps(Hostile(ran)))
    assert JournalStorage(_WithoutSnapshots(journal)).get_all_studies() == []
    assert not ran.exists()


def collect(folder: Path, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder.parent)  # as `python -m` does, and `rvv-tune` does not
        return run_here(
            folder.parent, "collect", str(folder), *arguments, XDG_CONFIG_HOME=str(home)
        )


@pytest.mark.parametrize(
    "kernel", [pytest.param("vector_add", marks=pytest.mark.long), "tree/hostile.py"]
)
def test_a_folder_of_another_user_names_no_code_that_runs(kernel: str, tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    ran = tmp_path / "ran"
    (folder / "hostile.py").write_text(f"open({str(ran)!r}, 'w')\n")
    study = {
        "kernel": kernel,
        "shape": {"N": 1000},
        "dtype": "fp32",
        "board": "jupiter",
        "sampler": "tree.hostile.Sampler",
        "storage": "studies/tuner.journal",
        "study": "mine",
        "made_with": {},
        "mark": "0" * 64,
    }
    (folder / "study.json").write_text(json.dumps(study))
    done = collect(folder, home=tmp_path / "user")
    assert done.returncode == 2
    assert not ran.exists()
    if kernel == "vector_add":
        assert "were made with another compiler" in done.stderr
        return
    assert f"if you trust it, add --kernel {kernel}" in done.stderr
    collect(folder, "--kernel", kernel, home=tmp_path / "user")
    assert ran.exists()


def test_a_folder_of_another_user_names_no_place_that_is_written_to(tmp_path: Path) -> None:
    mine = StudyFile("matmul", {"M": 64}, "fp32", "jupiter", "auto", "mine.db", "mine", {})
    write_study_file(tmp_path, mine)
    kept = read_study_file(tmp_path)
    given = argparse.Namespace(folder=tmp_path, storage=None)
    assert _storage(kept, given) == "mine.db"
    path = tmp_path / "study.json"
    path.write_text(path.read_text().replace("mine.db", "redis://stranger/0"))
    kept = read_study_file(tmp_path)
    with pytest.raises(UserError, match="if the results are to go there, add --storage redis"):
        _storage(kept, given)
    assert _storage(kept, argparse.Namespace(storage="my.db")) == "my.db"
