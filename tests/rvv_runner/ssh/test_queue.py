"""Tuners that want one board over SSH: each in its turn, whoever is killed, and what is told."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from queue_cases import LIMIT_S, Rivals, until
from ssh_cases import SCALE, TIMEOUT_S, doubled

from rvv_runner.board_file import SshSettings, read_board_file
from rvv_runner.board_queue import parse_queue, this_tuner
from rvv_runner.measurement import ElfArtifact
from rvv_runner.preflight import Preflight
from rvv_runner.ssh.board import SshBoard
from rvv_runner.ssh.job import JOB_SCRIPT

# So that root, too, may not read what its owner forbids.
CANNOT_OVERRIDE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
AS_ANY_USER = CANNOT_OVERRIDE if os.geteuid() == 0 else []
KEEPS_IT = 'echo "$1" >>log; until [ -e "$1.done" ]; do sleep 0.01; done'


@pytest.fixture
def rivals(tmp_path: Path) -> Iterator[Rivals]:
    """Jobs of the script that boards run, without a link."""
    for folder in ("files", "jobs", "sys"):
        (tmp_path / folder).mkdir()
    script = shutil.copy(JOB_SCRIPT, tmp_path / "files")

    def start(name: str) -> subprocess.Popen[bytes]:
        # On a busy machine a board is opened and looked at for longer than a run usually may take.
        limit_s = f"{LIMIT_S:.0f}"
        patience_s = "1" if name == "eve" else limit_s
        lock, system = str(tmp_path / "lock"), str(tmp_path / "sys")
        options = [lock, patience_s, limit_s, limit_s, "", "", system, ""]
        keeps = ["sh", "-c", f"cd {tmp_path}; {KEEPS_IT}", "sh", name]
        told = {"TRITON_RVV_TUNER": f"{name}@lab", "TRITON_RVV_COOL": "", "TRITON_RVV_ENTER": ""}
        return subprocess.Popen(
            [*AS_ANY_USER, "sh", script, "run", f"{name}1", *options, "--", *keeps],
            env={**os.environ, **told, "TRITON_RVV_JOB": f"{name}1"},
            stdout=(tmp_path / f"{name}.out").open("wb"),
        )

    started = Rivals(tmp_path, start)
    yield started
    for name in started.processes:
        (tmp_path / f"{name}.done").touch()
    started.end()


def test_they_are_served_in_the_order_they_came_though_one_is_killed(rivals: Rivals) -> None:
    rivals.check_order()
    told = [parse_queue((rivals.folder / f"{name}.out").read_text()) for name in ("ann", "dan")]
    assert told[0] is None
    assert told[1] is not None
    assert told[1].user == "ann@lab"
    assert [who for who, _ in told[1].waiting] == ["bob@lab", "cyd@lab"]


def test_whoever_loses_patience_leaves_the_queue(rivals: Rivals) -> None:
    for name in ("ann", "eve", "bob"):
        rivals.come(name)
    assert rivals.processes["eve"].wait(timeout=200) == 0
    assert "end busy" in (rivals.folder / "eve.out").read_text()
    assert rivals.tickets == 1
    rivals.let_go("ann")
    rivals.let_go("bob")
    assert rivals.served == ["ann", "bob"]


def test_a_file_that_cannot_be_read_does_not_stand_in_the_queue(rivals: Rivals) -> None:
    rivals.come("ann")
    queue = rivals.folder / "lock.queue"
    queue.mkdir(exist_ok=True)
    unreadable = queue / "0-of-somebody-else"
    unreadable.touch(mode=0)
    rivals.come("bob")
    rivals.let_go("ann")
    rivals.let_go("bob")
    assert rivals.served == ["ann", "bob"]
    assert unreadable.exists()


def test_a_tuner_and_the_preflight_say_who_has_the_board(
    rivals: Rivals,
    open_board: Callable[..., SshBoard],
    build_kernel: Callable[..., ElfArtifact],
    settings: SshSettings,
) -> None:
    assert settings.lock == str(rivals.lock)
    board, artifact = open_board(), build_kernel(SCALE, doubled())
    rivals.come("ann")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(board.measure, artifact, 1, TIMEOUT_S)
        until(lambda: rivals.tickets == 1 and "next" in rivals.lock.read_text())
        preflight = Preflight("test", settings, read_board_file("x60"))
        finding = next(one for one in preflight.findings() if one.step == "lock")
        rivals.let_go("ann")
        measurement = waiting.result(TIMEOUT_S)
    assert finding.level == "note"
    assert f"{settings.lock}: ann@lab has had it for" in finding.text
    assert f"next is {this_tuner()}, who has waited for" in finding.text
    assert measurement.status == "correct"
    assert str(measurement.conditions["queue"]).startswith("ann@lab has had it for")
