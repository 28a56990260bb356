"""Answers what runs tell in a process of its own, which a kernel or a reference may end.

On a GPU, an address or an index that does not exist leaves a process without a GPU. A callable may
do as it likes with its process, and so may a reference that calls C: it gets inputs that its author
never made, such as other offsets. So the process that runs them tells of each run before and
after it; where it ends, the run counts as wrong, and another process goes on behind it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

import torch

from foundation.parent import end_with_parent
from kernels.own.host_run import get_ready
from kernels.own.journal import Journal, Outcome

__all__ = ["found_apart", "tell_of"]

_SEARCHER = "kernels.own.searcher"
# Processes that runs may end.
_MOST_PROCESSES = 10
# By the clock. Each process imports torch, opens its GPU and computes references before its first
# run; a run takes as long as a reference five times over, and a compilation.
_START_LIMIT_S, _RUN_LIMIT_S, _TOTAL_S = 120.0, 30.0, 150.0
# As many times as long where runs end by themselves: other programs hold them up.
_PATIENCE = 8

_BEGINS = "begins"


def tell_of(find: Callable[[Journal], Any], known: list[Any], out: TextIO) -> None:
    """Answer in this process, which ends with the one that started it.

    Args:
        find: as for `found_apart`.
        known: outcomes of runs in earlier processes, as JSON has them.
        out: gets a line of JSON for each step.
    """
    end_with_parent()

    def write(step: object) -> None:
        print(json.dumps(step), file=out, flush=True)

    journal = Journal(
        (Outcome(**fields) for fields in known),
        lambda: write(_BEGINS),
        lambda outcome: write(dataclasses.asdict(outcome)),
    )
    write({"found": find(journal)})


def found_apart(
    find: Callable[[Journal], Any], job: Mapping[str, Any], *, is_bounded: bool = False
) -> Any:
    """What `find` gives in a process of its own; None if that ends beside a run, or takes too long.

    Args:
        find: makes runs, and gives what JSON has.
        job: the same for a process that cannot be a fork of this one, as where this one has a GPU:
            the kernel, its shape and element type, torch's name of the device, the question and
            the configurations that it is about.
        is_bounded: whether runs end by themselves, unless a reference hangs: those of `HostRun`.
    """
    if is_bounded:
        get_ready()
    patience = _PATIENCE if is_bounded else 1
    end_s = time.monotonic() + patience * _TOTAL_S
    outcomes: list[Outcome] = []
    for _ in range(_MOST_PROCESSES):
        known = [dataclasses.asdict(outcome) for outcome in outcomes]
        is_fork = job["device"] == "cpu"
        searcher = _forked(find, known) if is_fork else _started({**job, "known": known})
        try:
            found, pending = _followed(searcher, outcomes, patience * _RUN_LIMIT_S, end_s)
        finally:
            searcher.end()
        if found is not None:
            return found
        if pending is None or time.monotonic() > end_s:
            break
        outcomes.append(pending)
    return None


@dataclass(frozen=True)
class _Searcher:
    """A process that answers.

    Args:
        lines: from it, as a file descriptor.
        kill: ends it, and waits for its end.
    """

    lines: int
    kill: Callable[[], object]

    def end(self) -> None:
        """End it, whatever it does."""
        self.kill()
        os.close(self.lines)

    def steps(self, limit_s: Callable[[], float]) -> Iterator[Any]:
        """What it tells; None where it tells nothing within a limit, which is the last.

        Args:
            limit_s: gives the limit of the next step.
        """
        rest = b""
        while True:
            if not select.select([self.lines], [], [], limit_s())[0]:
                yield None
                return
            piece = os.read(self.lines, 1 << 16)
            if not piece:
                return
            *lines, rest = (rest + piece).split(b"\n")
            yield from map(json.loads, lines)


def _followed(
    searcher: _Searcher, outcomes: list[Outcome], run_limit_s: float, end_s: float
) -> tuple[Any, Outcome | None]:
    """What it has found, or else the outcome of the run that ended it; None without one."""
    is_running, step_limit_s = False, _START_LIMIT_S

    def limit_s() -> float:
        return max(0.0, min(step_limit_s, end_s - time.monotonic()))

    for step in searcher.steps(limit_s):
        step_limit_s = run_limit_s
        if step is None:
            return None, Outcome(is_right=False, is_endless=True) if is_running else None
        if step == _BEGINS:
            is_running = True
        elif "found" in step:
            return step["found"], None
        else:
            outcomes.append(Outcome(**step))
            is_running = False
    return None, Outcome(is_right=False) if is_running else None


def _forked(find: Callable[[Journal], Any], known: list[Any]) -> _Searcher:
    lines, out = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(lines)
        try:
            # A fork has none of the threads that torch computed on, and would wait for them.
            torch.set_num_threads(1)
            with os.fdopen(out, "w", encoding="utf-8") as text:
                tell_of(find, known, text)
        finally:
            os._exit(0)
    os.close(out)

    def kill() -> None:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)

    return _Searcher(lines, kill)


def _started(job: dict[str, Any]) -> _Searcher:
    lines, out = os.pipe()
    with os.fdopen(out, "w") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", _SEARCHER, json.dumps(job), str(written.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[written.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def kill() -> None:
        process.kill()
        process.wait()

    return _Searcher(lines, kill)
