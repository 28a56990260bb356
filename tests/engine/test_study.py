"""Studies in real storages: killed processes, torn files, strangers' files, several writers."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
import search_helpers
from optuna.trial import FrozenTrial
from search_helpers import IDENTITY, SPACE, optuna_storage, run, search_in

from engine.search import Search
from engine.study.heartbeat import Heartbeat
from engine.study.storage import open_study
from foundation.errors import UserError

VALID = frozenset(SPACE.valid_configs())
_LONG_ENOUGH = 20  # lines: samplers have begun to learn
FOREIGN = (
    "optuna.samplers.NSGAIISampler",
    "optuna.samplers.GPSampler",
    "optuna.samplers.TPESampler",
)


def tuner(storage: str, sampler: str = "random", in_flight: int = 3) -> subprocess.Popen[str]:
    """A process that asks and tells, and prints what it has told."""
    script = [sys.executable, search_helpers.__file__, storage, sampler, str(in_flight)]
    return subprocess.Popen(script, stdout=subprocess.PIPE, text=True)


def lines_until_killed(process: subprocess.Popen[str], count: int) -> list[str]:
    """What the process printed until it was killed, which is after `count` lines."""
    assert process.stdout is not None
    try:
        first = [process.stdout.readline().strip() for _ in range(count)]
    finally:
        process.send_signal(signal.SIGKILL)
        rest = process.communicate(timeout=200)[0]
    return [*first, *rest.split("\n")[:-1]]


def test_outcomes_come_back_with_all_that_was_stored(storage: str) -> None:
    search = search_in(storage)
    first, second = search.ask(), search.ask()
    kept = {"counters": {"cycles": 12.0}, "board": "emulated:x60", "estimated": True}
    search.tell(first, 0.5, attributes=kept)
    search.tell(second, None, status="timeout", attributes={"reason": "no end after 10 s"})
    again = search_in(storage)
    told, failed = again.trials()
    assert (told.config, told.status, told.time_s) == (first, "correct", 0.5)
    assert kept.items() <= told.attributes.items()
    assert (failed.config, failed.status, failed.time_s) == (second, "timeout", None)
    assert failed.attributes["reason"] == "no end after 10 s"


@pytest.mark.parametrize(
    "storage", ["journal", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)
@pytest.mark.parametrize("rounds", [2, pytest.param(6, marks=pytest.mark.long)])
def test_killed_tuners_lose_nothing_and_repeat_nothing(storage: str, rounds: int) -> None:
    told: list[str] = []
    for count in range(3, 3 + 4 * rounds, 4):
        process = tuner(storage)
        printed = lines_until_killed(process, count)
        told += [line for line in printed if line != "open"]
    search = search_in(storage)
    assert len(told) == len(set(told)) > 3 * rounds
    stored = {str(trial.config) for trial in search.trials()}
    assert stored >= set(told)
    # Whatever was under way in a killed process is tried by the next.
    assert {str(config) for config in run(search, 10_000)} == set(map(str, VALID)) - stored


@pytest.mark.parametrize(
    "sampler",
    [
        "auto",
        "tpe",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("gp", "cmaes", "ga", "random", "spread", "grid", *FOREIGN)
        ),
    ],
)
def test_a_study_that_was_killed_goes_on_as_one_that_was_not(sampler: str, tmp_path: Path) -> None:
    whole = lines_until_killed(tuner(str(tmp_path / "whole.journal"), sampler), _LONG_ENOUGH)
    storage = str(tmp_path / "killed.journal")
    lines_until_killed(tuner(storage, sampler), 4)
    # As Ctrl-C does: what is open is given back.
    search = Search(SPACE, sampler, 0, open_study(storage, IDENTITY, SPACE), in_flight=3)
    for config in search.ask(3):
        search.tell(config, None, status="board")
    lines_until_killed(tuner(storage, sampler), _LONG_ENOUGH)
    asked = [str(trial.config) for trial in search_in(storage).trials()]
    count = min(len(whole) - 1, len(asked))
    assert count >= _LONG_ENOUGH - 1
    assert asked[:count] == whole[1:][:count]


def test_a_journal_cut_anywhere_in_its_last_lines_goes_on(tmp_path: Path) -> None:
    whole = tmp_path / "whole.journal"
    search = search_in(str(whole))
    list(run(search, 5))
    content = whole.read_bytes()
    lines_end = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for cut in range(lines_end[-4], len(content), 47):
        torn = tmp_path / f"cut{cut}.journal"
        torn.write_bytes(content[:cut])
        resumed = search_in(str(torn))
        assert resumed.tried == 4
        list(run(resumed, 7))
        assert search_in(str(torn)).tried == 7
        assert optuna.storages.JournalStorage(
            optuna.storages.journal.JournalFileBackend(str(torn))
        ).get_all_studies()


def test_a_line_torn_while_others_write_is_cut_off(tmp_path: Path) -> None:
    """The process that was killed in the middle of a line was not the only one."""
    path = tmp_path / "t.journal"
    search = search_in(str(path))
    list(run(search, 3))
    with path.open("ab") as file:
        file.write(b'{"op_code":9,"worker_id":"dead","trial_')
    list(run(search, 6))
    assert search_in(str(path)).tried == 6


def test_optunas_lock_left_behind_delays_nobody(tmp_path: Path) -> None:
    path = tmp_path / "t.journal"
    list(run(search_in(str(path)), 3))
    lock = Path(f"{path}.lock")
    lock.symlink_to(path)
    search = search_in(str(path))
    list(run(search, 6))
    assert search.tried == 6
    assert lock.is_symlink()  # Optuna would wait for 30 s, and remove it


@pytest.mark.long
@pytest.mark.parametrize(
    "storage", ["journal", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)
def test_a_trial_of_a_living_process_is_left_alone(storage: str) -> None:
    process = tuner(storage, in_flight=3)
    assert process.stdout is not None
    try:
        for _ in range(5):
            process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        search = search_in(storage)
        mine = set(map(str, iter(search.ask, None)))
        theirs = {str(trial.config) for trial in search.trials()}
        # Up to three are open there; while it lives nobody else may have them.
        assert len(VALID) - 4 <= len(mine) + len(theirs) < len(VALID)
    finally:
        process.kill()
        process.communicate(timeout=200)
    search = search_in(storage)
    assert len(set(map(str, iter(search.ask, None))) | mine | theirs) == len(VALID)


@pytest.mark.parametrize(
    "storage", ["journal", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)
def test_two_tuners_at_once_share_a_study(storage: str) -> None:
    processes = [tuner(storage, "grid"), tuner(storage, "grid")]
    told = [line for process in processes for line in process.communicate(timeout=200)[0].split()]
    configs = [line for line in told if line != "open"]
    assert sorted(configs) == sorted(map(str, VALID))
    assert search_in(storage).tried == len(VALID)


def test_an_outcome_counts_though_the_trial_was_given_back(storage: str) -> None:
    """Another machine took this process for dead."""
    search = search_in(storage)
    config = search.ask()
    study = optuna.load_study(study_name=IDENTITY.name, storage=optuna_storage(storage))
    study.tell(0, state=optuna.trial.TrialState.FAIL)
    assert search.ask() != config
    search.tell(config, 0.125)
    assert search.default_time_s == 0.125
    assert search_in(storage).default_time_s == 0.125


def test_two_tuners_give_back_a_dead_ones_trials_at_once(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them sees that the trials are open, and the other is faster."""
    dead = search_in(storage)
    dead.ask(3)
    first, second = (open_study(storage, IDENTITY, SPACE) for _ in range(2))
    monkeypatch.setattr(Heartbeat, "has_stopped_for", lambda self, trial: True)

    def others_first(trial: FrozenTrial) -> bool:
        second.sweep()
        return True

    monkeypatch.setattr(first._heartbeat, "has_stopped_for", others_first)
    first.sweep()
    for stored in (first, second):
        trials = list(stored.changes())
        assert [trial.status for trial in trials] == ["board"] * 3
        reasons = {str(trial.attributes["reason"]) for trial in trials}
        assert reasons == {"its process died"}


@pytest.mark.parametrize(
    "content",
    [b"bread, milk, eggs", b"one line\nand another", b"SQLite format 3\0 and so on", b'{"a": 1}'],
)
def test_a_strangers_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"notes\.txt cannot be used"):
        open_study(str(path), IDENTITY, SPACE)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_no_journal(tmp_path: Path) -> None:
    """Nobody would ever write to it."""
    pipe = tmp_path / "pipe.journal"
    os.mkfifo(pipe)
    with pytest.raises(UserError, match=r"pipe\.journal is not a file"):
        open_study(str(pipe), IDENTITY, SPACE)


def test_a_damaged_journal_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "t.journal"
    list(run(search_in(str(path)), 3))
    content = path.read_bytes().replace(b'"study_name"', b'"study\xff"\n')
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"line 1 of .* is damaged"):
        open_study(str(path), IDENTITY, SPACE)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "storage",
    [
        "sqlite:////nowhere/at/all.db",
        "/proc/nowhere/t.journal",
        "/",
        "nosuchdatabase://host/name",
        "redis://127.0.0.1:1/0",
    ],
)
def test_a_storage_that_cannot_be_opened_is_one_sentence(storage: str) -> None:
    with pytest.raises(UserError, match="cannot be used") as caught:
        open_study(storage, IDENTITY, SPACE)
    assert storage in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_that_is_not_one(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(b"not a database, whatever its name says" * 100)
    with pytest.raises(UserError, match="cannot be used"):
        open_study(f"sqlite:///{path}", IDENTITY, SPACE)
    assert path.read_bytes().startswith(b"not a database")


@pytest.mark.parametrize(
    "storage", ["journal", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)
@pytest.mark.parametrize(
    ("attribute", "value", "sentence"),
    [
        ("format_version", 99, "another version .format 99."),
        ("format_version", None, "another program"),
        ("kernel", "softmax", "about kernel softmax, not matmul"),
        ("shape", {"M": 1, "N": 32}, "about shape M=1,N=32, not M=64,N=32"),
        ("device", "host", "about device host"),
        ("made_with", {"compiler": "0123"}, "made with another board model, so its times cannot"),
        (
            "made_with",
            {"board model": "other", "compiler": "other"},
            "made with another board model and another compiler, so its times cannot",
        ),
    ],
)
def test_a_study_about_something_else_is_refused(
    storage: str, attribute: str, value: object, sentence: str
) -> None:
    list(run(search_in(storage), 2))
    study = optuna.load_study(study_name=IDENTITY.name, storage=optuna_storage(storage))
    study.set_user_attr(attribute, value)
    before = _content(storage)
    with pytest.raises(UserError, match=sentence):
        open_study(storage, IDENTITY, SPACE)
    assert _content(storage) == before


def test_studies_in_one_storage_do_not_mix(storage: str) -> None:
    list(run(search_in(storage), 3))
    other = replace(IDENTITY, kernel="softmax")
    assert Search(SPACE, "tpe", 0, open_study(storage, other, SPACE)).tried == 0
    assert Search(SPACE, "tpe", 0, open_study(storage, IDENTITY, SPACE, name="mine")).tried == 0
    assert search_in(storage).tried == 3


@pytest.mark.parametrize(
    "storage", ["journal", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)
@pytest.mark.parametrize("what", ["board model", "compiler"])
def test_another_compiler_or_board_model_begins_a_study_of_its_own(storage: str, what: str) -> None:
    list(run(search_in(storage), 3))
    other = replace(IDENTITY, made_with={**IDENTITY.made_with, what: "another"})
    assert re.fullmatch(r"matmul-M64-N32-fp32-emulated-x60-tpe-[0-9a-f]{8}", other.name)
    assert IDENTITY.other_parts(other.name, other.attributes()) == (what,)
    assert IDENTITY.other_parts(IDENTITY.name, IDENTITY.attributes()) == ()
    of_grid = replace(other, sampler="grid")
    assert IDENTITY.other_parts(of_grid.name, of_grid.attributes()) == ()
    assert Search(SPACE, "tpe", 0, open_study(storage, other, SPACE)).tried == 0
    assert search_in(storage).tried == 3


@pytest.mark.parametrize(
    "attempt", [0, *(pytest.param(attempt, marks=pytest.mark.long) for attempt in range(1, 5))]
)
def test_many_at_once_open_a_new_database(tmp_path: Path, attempt: int) -> None:
    start = threading.Barrier(4)

    def opened() -> str:
        start.wait(timeout=200)
        return open_study(f"sqlite:///{tmp_path / 't.db'}", IDENTITY, SPACE).study_name

    with ThreadPoolExecutor(4) as threads:
        futures = [threads.submit(opened) for _ in range(4)]
        assert {future.result(timeout=200) for future in futures} == {IDENTITY.name}


def test_opening_twice_says_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        list(run(search_in(str(tmp_path / "t.journal")), 12))
    assert capfd.readouterr() == ("", "")


def _content(storage: str) -> object:
    """Everything in a storage, to see that nothing has changed."""
    if "://" not in storage:
        return Path(storage).read_bytes()
    with sqlite3.connect(storage.removeprefix("sqlite:///")) as database:
        return list(database.iterdump())


@pytest.mark.parametrize(("silent_s", "is_given_back"), [(30, False), (600, True), (None, False)])
def test_a_trial_of_another_machine_is_given_back_when_its_heartbeat_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent_s: float | None, is_given_back: bool
) -> None:
    storage = str(tmp_path / "t.journal")
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    if silent_s is None:  # as versions did that had no heartbeat
        monkeypatch.setattr("engine.study.heartbeat.Heartbeat.beat", lambda _: False)
    else:
        began_s = time.time() - silent_s
        monkeypatch.setattr("engine.study.heartbeat.time.time", lambda: began_s)
    left = search_in(storage).ask()
    monkeypatch.undo()
    assert search_in(storage).take(left) == is_given_back
