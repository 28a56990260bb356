"""Runs a program on a board reached by hand: alone, within limits, with no process left behind."""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from foundation.printing import say
from rvv_runner.board_queue import in_turn
from rvv_runner.cpu_time import children_cpu_s
from rvv_runner.verdict import OUTPUT_LIMIT_BYTES, Ending

__all__ = ["Outcome", "board_lock", "run_alone"]

_MARK = "TRITON_RVV_RUN"
_SWEEPS = 50
_SWEEP_PAUSE_S = 0.02


@dataclass(frozen=True)
class Outcome:
    """A run of a program.

    Args:
        ending: how it ended.
        took_s: seconds from its start to its end.
    """

    ending: Ending
    took_s: float


@contextlib.contextmanager
def board_lock(path: str) -> Iterator[None]:
    """Keep every other tuner off the board, in turn; prints a line if it must wait for one."""
    mask = os.umask(0)
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o666))
    finally:
        os.umask(mask)
    with in_turn(Path(path), tell=lambda queue: say(f"waiting for the board: {queue}", flush=True)):
        yield


def run_alone(
    command: Sequence[str],
    limit_s: float,
    core: int | None = None,
    file_bytes: int = OUTPUT_LIMIT_BYTES,
) -> Outcome:
    """Run a program with a minimal environment and no input; its child processes end with it.

    Args:
        command: the program and its arguments.
        limit_s: seconds after which it is killed.
        core: the processor to run on; None for any.
        file_bytes: the most it may write to a file, its output included.

    Raises:
        OSError: if it cannot be started.
    """
    mark = secrets.token_hex(8)
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", _MARK: mark}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start_s, start_cpu_s = time.monotonic(), children_cpu_s()
        process = subprocess.Popen(
            list(command),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        timed_out = True
        try:
            _limit(process.pid, file_bytes, core)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(limit_s)
                timed_out = False
        finally:
            took_s = time.monotonic() - start_s
            left_behind = _sweep(mark, process.pid)
            returncode = process.wait()
        ending = Ending(
            returncode,
            stdout=_contents(out),
            stderr=_contents(err),
            timed_out=timed_out,
            cpu_s=children_cpu_s() - start_cpu_s,
            flooded=returncode == -signal.SIGXFSZ,
            left_behind=left_behind,
        )
    return Outcome(ending, took_s)


def _limit(pid: int, file_bytes: int, core: int | None) -> None:
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        if core is not None:
            os.sched_setaffinity(pid, {core})


def _contents(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(OUTPUT_LIMIT_BYTES).decode(errors="replace")


def _sweep(mark: str, leader: int) -> int:
    """Kill all processes with the mark; return how many there were besides the leader."""
    first = _marked(mark)
    left = first
    for _ in range(_SWEEPS):
        if not left:
            break
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_SWEEP_PAUSE_S)
        left = _marked(mark)
    return len([pid for pid in first if pid != leader])


def _marked(mark: str) -> list[int]:
    """Processes with the mark in their environment, which children inherit; no dead ones."""
    found = []
    wanted = f"{_MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found
