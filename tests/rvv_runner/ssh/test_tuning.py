"""Tuning on boards over SSH: a winner through broken links, boards of one kind and of several."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ssh_cases import WRAPPER, processes_with
from ssh_server import Proxy, SshServer

import engine.tune as tune_command
from foundation.errors import UserError
from rvv_runner.board import BoardError
from rvv_runner.board_file import user_board_folder

LIMIT_S = 280
PROBLEM = ["matmul", "--shape", "M=24,N=40,K=16", "--jobs", "1"]


@pytest.fixture
def boards(server: SshServer, tmp_path: Path) -> Iterator[dict[str, Proxy]]:
    """Two boards, each with a link that can be cut, in board files of the user's."""
    user_board_folder().mkdir(parents=True)
    proxies = {}
    for name in ("one", "two"):
        proxies[name] = Proxy(server.port)
        server.trust(proxies[name].port)
        (user_board_folder() / f"{name}.toml").write_text(
            f'kind = "x60"\nevents = {{}}\n[ssh]\nhost = "127.0.0.1"\nport = {proxies[name].port}\n'
            f'folder = "{tmp_path / name}"\nlock = "{tmp_path / name}.lock"\nbusy_cores = 1000.0\n'
            f"wrapper = {json.dumps(WRAPPER)}\n"
        )
    yield proxies
    for proxy in proxies.values():
        proxy.close()


class Tuning:
    """A tuning command that runs, and the lines that it prints about trials and boards."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.lines: list[str] = []

    def wait_for(self, what: Callable[[str], bool], count: int = 1) -> None:
        assert self._process.stderr is not None
        while sum(map(what, self.lines)) < count:
            line = self._process.stderr.readline()
            assert line, self.lines
            self.lines.append(line)

    def record(self) -> dict[str, Any]:
        """What the command printed at its end."""
        out, rest = self._process.communicate(timeout=LIMIT_S)
        self.lines += rest.splitlines(keepends=True)
        assert self._process.returncode == 0, self.lines
        record: dict[str, Any] = json.loads(out)
        return record


@contextmanager
def tuning(folder: Path, *arguments: str) -> Iterator[Tuning]:
    process = subprocess.Popen(
        [sys.executable, "-m", "engine.tune", *PROBLEM, "--json", "--seed", "1", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Tuning(process)
    finally:
        process.kill()
        process.communicate()


def is_trial(line: str) -> bool:
    return line.startswith("trial=")


@pytest.mark.long
def test_boards_of_one_kind_share_a_study_through_every_fault(boards, server, tmp_path):
    """One link is cut for three seconds, then the server is killed with every connection."""
    with tuning(tmp_path, "--trials", "12", "--device", "one,two") as run:
        run.wait_for(is_trial, 2)
        boards["one"].cut()
        time.sleep(3)
        boards["one"].mend()
        run.wait_for(is_trial, 6)
        server.stop()
        time.sleep(1)
        server.start()
        record = run.record()
    assert record["tried"] == 12
    assert record["statuses"] == {"correct": 12}
    assert record["device"] == "x60-under-qemu-riscv64"
    assert {line["board"] for line in record["boards"]} == {"one", "two"}
    assert min(line["measured"] for line in record["boards"]) > 0
    assert processes_with(str(tmp_path / "one")) == processes_with(str(tmp_path / "two")) == []


@pytest.mark.long
def test_a_link_cut_for_a_minute_loses_no_trial(boards, tmp_path):
    with tuning(tmp_path, "--trials", "12", "--device", "one") as run:
        run.wait_for(is_trial, 3)
        boards["one"].cut()
        time.sleep(60)
        boards["one"].mend()
        record = run.record()
    assert record["statuses"] == {"correct": 12}
    assert "event=out" in "".join(run.lines)
    assert "event=back" in "".join(run.lines)


@pytest.mark.long
def test_mixed_boards_give_a_result_for_each_kind(boards, tmp_path):
    with tuning(tmp_path, "--trials", "2", "--device", "emulated,two", "--mixed") as run:
        emulated, real = run.record()["results"]
    assert (emulated["device"], real["device"]) == ("emulated:x60", "x60-under-qemu-riscv64")
    assert emulated["study"] != real["study"]
    assert emulated["winner"]["estimated"] is True
    assert real["winner"]["estimated"] is False
    assert real["winner"]["board"] == "two"


def test_boards_of_different_kinds_do_not_share_a_study(boards):
    with pytest.raises(
        UserError, match=r"^the boards are of different kinds \(emulated:x60: "
    ) as e:
        tune_command.main(["vector_add", "--device", "emulated,one,two"])
    assert "x60-under-qemu-riscv64: one, two" in str(e.value)
    assert str(e.value).endswith("name boards of one kind, or add --mixed for one result per kind")


def test_what_cannot_be_a_pool_is_refused(boards):
    with pytest.raises(BoardError, match=r"^the board one is named twice: name each board once$"):
        tune_command.main(["vector_add", "--device", "one,one"])
    with pytest.raises(UserError, match=r"^--mixed makes a study for each kind of board"):
        tune_command.main(["vector_add", "--device", "one,two", "--mixed", "--study", "mine"])
    with (user_board_folder() / "two.toml").open("r+") as file:
        text = file.read()
        file.seek(0)
        file.write(f"vlen_bits = 512\n{text}")
    with pytest.raises(BoardError, match="two and one are both of the kind x60-under-qemu-riscv64"):
        tune_command.main(["vector_add", "--device", "one,two"])
