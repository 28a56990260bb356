"""Within ten seconds of a `kill -9`, no process and no file of a tuner is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.workers.session_guard import guarded

LIMIT_S = 200.0

TUNER = """
from pathlib import Path
from engine.workers.artifacts import ARTIFACT_FOLDER
from engine.workers.ray_session import ray_session
from engine.workers.worker import Blueprint
from engine.workers.worker_pool import WorkerPool
from killed_worker import Worker

with ray_session(cpus=1):
    pool = WorkerPool([Blueprint(Worker, (ARTIFACT_FOLDER.resolve(),))])
    with pool.lend() as worker:
        worker.call("work", timeout_s=600)
"""

WORKER = """
import os, subprocess
from pathlib import Path
from foundation.scratch import UNFINISHED, scratch_folder
from rvv_runner.process import run_bounded

class Worker:
    def __init__(self, builds):
        self._builds = builds

    def open(self):
        pass

    def work(self):
        self._builds.mkdir(parents=True, exist_ok=True)
        (self._builds / "data").mkdir()
        (self._builds / "matmul" / "16-abc").mkdir(parents=True)
        # As zig does, with the environment; and as QEMU does, without one.
        subprocess.Popen(["sleep", "601"], start_new_session=True)
        with (
            scratch_folder(UNFINISHED, self._builds),
            scratch_folder(UNFINISHED, self._builds / "data"),
            scratch_folder(UNFINISHED, self._builds / "matmul" / "16-abc"),  # for its assembly
            scratch_folder("emulated-") as folder,
        ):
            run_bounded(["sleep", "602"], folder=folder, timeout_s=600, output_limit_bytes=1)
"""


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """For temporary files; Ray's sockets need a short path."""
    with tempfile.TemporaryDirectory(prefix="k") as folder:
        yield Path(folder)


def parents() -> dict[int, int]:
    """The parent of every process that has not ended."""
    found = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                found[int(entry.name)] = int(fields[1])
    return found


def descendants(pid: int) -> Iterator[int]:
    of = parents()
    for child, parent in of.items():
        if parent == pid:
            yield child
            yield from descendants(child)


def commands(pids: set[int]) -> dict[int, str]:
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            found[pid] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


def wait_until(condition, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.long
def test_nothing_is_left(tmp_path: Path, short_folder: Path) -> None:
    temporary = short_folder
    (tmp_path / "killed_worker.py").write_text(WORKER)
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    tuner = subprocess.Popen(
        [sys.executable, "-c", TUNER],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths, "TMPDIR": str(temporary)},
    )
    try:
        assert wait_until(
            lambda: any("sleep 602" in c for c in commands({*descendants(tuner.pid)}).values()), 60
        )
        processes = {*descendants(tuner.pid)}
        files = [*temporary.rglob("emulated-*"), *tmp_path.glob("studies/builds/**/.new-*")]
        assert len(files) == 4
    finally:
        tuner.send_signal(signal.SIGKILL)
        tuner.wait(timeout=200)
    wait_until(lambda: not processes & {*parents()} and not any(map(Path.exists, files)), LIMIT_S)
    assert commands(processes & {*parents()}) == {}
    assert [*temporary.iterdir(), *tmp_path.glob("studies/builds/**/.new-*")] == []


def test_without_its_guard_a_tuner_clears_up_itself(tmp_path: Path) -> None:
    session, builds = tmp_path / "session", tmp_path / "builds"
    unfinished = builds / "kernel" / ".new-1"
    unfinished.mkdir(parents=True)
    session.mkdir()

    def guards() -> list[int]:
        running = commands({*descendants(os.getpid())})
        return [pid for pid, command in running.items() if str(session) in command]

    with guarded(session, builds):
        assert wait_until(guards, 10)  # a process that has just begun may have no command yet
        (guard,) = guards()
        os.kill(guard, signal.SIGKILL)
        assert session.exists()
    assert not session.exists()
    assert [*builds.rglob(".new-*")] == []
