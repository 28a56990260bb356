"""Databases on servers: tuners that begin at once, and a server that restarts under a tuner."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import optuna
import pytest
import search_helpers
from database_servers import DatabaseServer
from search_helpers import IDENTITY, SPACE, run, search_in
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from engine.study import database
from engine.study.database import PatientDatabase
from engine.study.storage import open_study
from foundation.config import Config
from foundation.errors import UserError

AWAY_S = 5.0


def server(request: pytest.FixtureRequest) -> Iterator[DatabaseServer]:
    make: Callable[[], AbstractContextManager[DatabaseServer]] = request.param
    with make() as running:
        yield running


def tuner(url: str) -> subprocess.Popen[str]:
    command = [sys.executable, search_helpers.__file__, url, "grid", "3"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def lines_of(process: subprocess.Popen[str], count: int) -> list[str]:
    """Its next lines, after which it is killed; it must have said nothing else."""
    assert process.stdout is not None
    assert process.stderr is not None
    lines = [process.stdout.readline().strip() for _ in range(count)]
    process.kill()
    assert process.stderr.read() == ""
    process.wait(timeout=200)
    return lines


@pytest.mark.long
def test_tuners_begin_at_once_in_an_empty_database(server: DatabaseServer) -> None:
    tuners = [tuner(server.url) for _ in range(3)]
    told = [line for process in tuners for line in lines_of(process, 6)[1:]]
    assert len(set(told)) == len(told) == 15


@pytest.mark.long
def test_a_restart_loses_and_repeats_nothing(server: DatabaseServer) -> None:
    """Each configuration is told once, though the server was away for a while in the middle."""
    optuna.delete_study(study_name=IDENTITY.name, storage=server.url)
    process = tuner(server.url)
    assert process.stdout is not None
    try:
        first = [process.stdout.readline().strip() for _ in range(6)]
        server.stop()
        time.sleep(AWAY_S)
        assert process.poll() is None
        server.start()
        told = [*first[1:], *lines_of(process, 12)]
    finally:
        process.kill()
    assert len(set(told)) == len(told) == 17
    trials = optuna.load_study(study_name=IDENTITY.name, storage=server.url).trials
    stored = [str(Config(trial.params)) for trial in trials]
    assert len(set(stored)) == len(stored)
    assert set(told) <= set(stored)


@pytest.mark.long
def test_a_server_that_stays_away_ends_in_a_sentence(
    server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE_S", 1.0)
    search = search_in(server.url)
    server.stop()
    try:
        with pytest.raises(UserError, match=r"has not answered for 1 s \(.*run the same command"):
            list(run(search, 10_000))
        monkeypatch.setattr(database, "PATIENCE_S", 10_000.0)
        with pytest.raises(UserError, match="has not answered"):
            list(run(search, 10_000))  # it does not wait again
    finally:
        server.start()


class _Away(Exception):
    """What a driver raises."""


def lose_the_answer(
    storage: PatientDatabase, monkeypatch: pytest.MonkeyPatch, commits: int
) -> threading.Event:
    """The next commits reach the database, and their answers do not come back."""
    lost = threading.Event()
    session_class = type(storage.scoped_session())
    commit = session_class.commit
    left = [commits]

    def commit_and_fail(self: Session) -> None:
        commit(self)
        if left[0]:
            left[0] -= 1
            lost.set()
            raise OperationalError("commit", {}, _Away("server closed the connection"))

    monkeypatch.setattr(session_class, "commit", commit_and_fail)
    return lost


@pytest.mark.parametrize("commits", [1, 7])  # Optuna itself tries five times
def test_a_lost_answer_creates_and_finishes_one_trial(
    commits: int, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With SQLite in the place of a server, which every machine has."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    url = f"sqlite:///{tmp_path / 't.db'}"
    open_study(url, IDENTITY, SPACE)
    storage = PatientDatabase(url)
    study_id = storage.get_study_id_from_name(IDENTITY.name)
    template = optuna.trial.create_trial(state=optuna.trial.TrialState.RUNNING)
    lost = lose_the_answer(storage, monkeypatch, commits)
    trial_id = storage.create_new_trial(study_id, template)
    assert lost.is_set()
    assert [trial._trial_id for trial in storage.get_all_trials(study_id)] == [trial_id]
    monkeypatch.undo()
    lost = lose_the_answer(storage, monkeypatch, 1)
    assert storage.set_trial_state_values(trial_id, optuna.trial.TrialState.COMPLETE, [0.5])
    assert lost.is_set()
    with pytest.raises(optuna.exceptions.UpdateFinishedTrialError):
        storage.set_trial_state_values(trial_id, optuna.trial.TrialState.COMPLETE, [0.5])
