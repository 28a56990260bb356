"""Tuners that want this machine's processor or its GPU: each in its turn, whoever is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from queue_cases import Rivals

from rvv_runner.board_queue import BoardQueue, Turn, in_turn, parse_queue, this_tuner

WANTS_IT = """
import sys, time
from pathlib import Path
from rvv_runner.board_queue import in_turn
folder, name = Path(sys.argv[1]), sys.argv[2]
with in_turn(folder / "lock", 60.0) as turn:
    with (folder / "log").open("a") as log:
        log.write(name + chr(10))
    (folder / name).write_text(str(turn.found))
    while not (folder / f"{name}.done").exists():
        time.sleep(0.01)
"""


@pytest.fixture
def rivals(tmp_path: Path) -> Iterator[Rivals]:
    def start(name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", WANTS_IT, str(tmp_path), name]
        environment = {**os.environ, "LOGNAME": name, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen(command, env=environment)

    started = Rivals(tmp_path, start)
    yield started
    started.end()


def test_they_are_served_in_the_order_they_came_though_one_is_killed(rivals: Rivals) -> None:
    rivals.check_order()
    told = [(rivals.folder / name).read_text() for name in ("ann", "bob", "dan")]
    assert told[0] == "None"
    assert told[1].startswith("ann@")
    assert told[1].endswith(" s, and nobody else waits")
    assert "; next is bob@" in told[2]
    assert ", then cyd@" in told[2]


def test_a_holder_that_is_killed_is_followed_at_once(rivals: Rivals) -> None:
    rivals.come("ann")
    rivals.come("bob")
    rivals.processes["ann"].kill()
    rivals.processes["ann"].wait()
    rivals.let_go("bob")
    assert rivals.served == ["ann", "bob"]
    with in_turn(rivals.lock, 60.0) as turn:
        assert turn == Turn()  # nothing is left of either


def test_a_holder_that_hangs_is_not_waited_for_and_keeps_its_name(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with in_turn(lock, 0.1):
        text = lock.read_text()
        with in_turn(lock, 0.1) as turn:
            assert turn.found is not None
            assert turn.conditions["used_by"] == turn.found.user
            assert turn.conditions["waited_for_others_s"] >= 0.1
        assert lock.read_text().startswith(text)


def test_a_lock_names_who_has_the_board_and_nobody_afterwards(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with in_turn(lock):
        assert lock.read_text().endswith(f" {this_tuner()}\n")
    assert lock.read_text() == ""


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert this_tuner().startswith(f"uid-{os.getuid()}@")


def test_a_queue_is_one_sentence() -> None:
    assert parse_queue("free") is None
    assert str(parse_queue("held")) == "another program has it, and nobody else waits"
    queue = parse_queue("held\nholder 250 me@desk\nwaiting 90 a@b\nwaiting 5 c@d\nholder x y\n")
    assert queue == BoardQueue(("me@desk", 2.5), (("a@b", 0.9), ("c@d", 0.05)))
    assert str(queue) == (
        "me@desk has had it for 2.5 s; next is a@b, who has waited for 0.9 s, then c@d"
    )
