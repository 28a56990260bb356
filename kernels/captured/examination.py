"""Examines the tasks of a capture in processes of their own: a kernel may crash, or never end."""

from __future__ import annotations

import functools
import math
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from foundation.config import ParameterValue
from foundation.errors import UserError
from foundation.printing import say
from foundation.processors import cores
from kernels.captured.examined import (
    Examined,
    forget_examined,
    keep_examined,
    read_examined,
)
from kernels.captured.probe import probed
from kernels.captured.recorded import RecordedTask, load_task
from kernels.source_digest import source_digest

__all__ = ["EXAMINATION_LIMIT_S", "current_examined", "digest_of", "examine"]

EXAMINATION_LIMIT_S = 180.0  # for one task, of processor time
# Times as long may pass by the clock: what is found is kept, and must not tell of a busy machine.
_PATIENCE = 5
_WIDE = "--widen"
# Signals of users and systems that end a command, and all processes of its group with it.
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _StoppedError(Exception):
    """The process that examines was stopped from outside, which says nothing about a task."""


class _EndedError(Exception):
    """The process that examines was ended by a task; the message says how."""


def digest_of(task: RecordedTask) -> str:
    """Changes with the kernel's source and with what was captured of its launch."""
    return f"{source_digest([task.deployed.function])}-{task.digest}"


def current_examined(capture: Path, task: RecordedTask) -> Examined:
    """What was found out about a task; finds it out if that is not kept.

    Raises:
        UserError: if it cannot be kept.
    """
    kept = read_examined(capture).get(task.task.key)
    if kept is None or kept.digest != digest_of(task):
        examine(capture, [task.task.key])
        kept = read_examined(capture)[task.task.key]
    return kept


def examine(
    capture: Path,
    keys: Sequence[str],
    begun: Callable[[str], None] = lambda key: None,
    end_s: float = math.inf,
    *,
    widens: bool = False,
) -> None:
    """Find out about tasks, and keep it beside the capture.

    Args:
        capture: the file.
        keys: of the tasks, which are begun in about this order, on every core.
        begun: called with the key of each task when its turn comes.
        end_s: when to leave the rest, as `time.monotonic` gives it; of those, nothing is kept.
        widens: whether more may vary than the kernels' autotuners list.

    Raises:
        UserError: if what was found cannot be kept.
    """
    forget_examined(capture, keys)
    # To start a process takes as long as an easy task, so each gets two or more.
    processes = max(1, min(cores(), len(keys) // 2))
    shares = [keys[number::processes] for number in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        examined = functools.partial(_examined_in_child, capture, end_s=end_s, widens=widens)
        running = [
            pool.submit(_examine_share, capture, share, begun, end_s, examined) for share in shares
        ]
        for share_ended in running:
            share_ended.result()


def _examine_share(
    capture: Path,
    keys: Sequence[str],
    begun: Callable[[str], None],
    end_s: float,
    examined: Callable[[Sequence[str]], Iterator[str]],
) -> None:
    """Find out about tasks one after another; a process that one of them ends is started anew."""
    waiting = list(keys)
    while waiting:
        last = how = ""
        try:
            for last in examined(waiting):
                begun(last)
        except _StoppedError:
            return
        except _EndedError as error:
            how = str(error)
        if time.monotonic() >= end_s:
            return
        left = waiting[waiting.index(last) :] if last else waiting
        if left[0] not in read_examined(capture):
            _refuse(capture, left[0], how)
        waiting = left[1:]


def _examined_in_child(
    capture: Path, keys: Sequence[str], *, end_s: float, widens: bool
) -> Iterator[str]:
    """The keys of tasks as they are begun; ends with the process that examines them.

    Raises:
        _StoppedError: if the process was stopped from outside.
        _EndedError: if a task ended it.
    """

    def ended_in_time(child: subprocess.Popen[str]) -> threading.Timer:
        left_s = max(0.0, end_s - time.monotonic())
        timer = threading.Timer(min(_PATIENCE * EXAMINATION_LIMIT_S, left_s), child.kill)
        timer.start()
        return timer

    how = [_WIDE] if widens else []
    command = [sys.executable, "-m", __name__, *how, str(capture), *keys]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        timer = ended_in_time(child)
        try:
            for line in child.stdout:
                timer.cancel()
                timer = ended_in_time(child)
                if line.strip() in keys:
                    yield line.strip()
        finally:
            timer.cancel()
        status = child.wait()
        if -status in _STOPS:
            raise _StoppedError
        if status:
            raise _EndedError(_how_it_ended(status))


def _how_it_ended(status: int) -> str:
    """What a task did to the process, by the status with which that ended."""
    if -status == signal.SIGXCPU:
        return f"ran longer than {EXAMINATION_LIMIT_S:g} s"
    if -status == signal.SIGKILL:
        return f"ran longer than {_PATIENCE * EXAMINATION_LIMIT_S:g} s or took too much memory"
    if status < 0:
        return f"ended the process ({signal.strsignal(-status)})"
    return f"ended the process with status {status}"


def _refuse(capture: Path, key: str, how: str) -> None:
    """Note that the process did not survive a task."""
    task = load_task(capture, key)
    reason = f"{task.task.kernel.name} {how} when it was run on its captured arguments"
    keep_examined(capture, {key: Examined(digest_of(task), None, reason)})


def _examine_here(capture: Path, keys: Sequence[str], *, widens: bool) -> None:
    """In the separate process."""
    for key in keys:
        say(key, flush=True)
        _limit_processor_time()
        digest, task = "", None
        try:
            task = load_task(capture, key)
            digest = digest_of(task)
            listed = _listed_values(task)
            found = probed(
                task.deployed,
                task.memory(0),
                listed=listed,
                derived=task.derived,
                widens=widens,
            )
            keep_examined(capture, {key: Examined(digest, found, is_wide=widens)})
        except UserError as error:
            keep_examined(capture, {key: Examined(digest, None, str(error))})
        except Exception as error:  # whatever a kernel's launch raises
            keep_examined(capture, {key: Examined(digest, None, _failure(task, error))})


def _failure(task: RecordedTask | None, error: Exception) -> str:
    """What a kernel fails with, in one line: the last, which in errors of compilers says why."""
    name = "the kernel" if task is None else task.task.kernel.name
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{name} fails on its captured arguments: {type(error).__name__}: {(lines or [''])[-1]}"


def _limit_processor_time() -> None:
    """Let the system end this process when the next task has taken its time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit_s = int(used.ru_utime + used.ru_stime + EXAMINATION_LIMIT_S) + 1
    _, hard_s = resource.getrlimit(resource.RLIMIT_CPU)
    if hard_s == resource.RLIM_INFINITY or limit_s <= hard_s:
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, hard_s))


def _listed_values(task: RecordedTask) -> dict[str, list[ParameterValue]] | None:
    if not task.listed:
        return None
    constants = task.deployed.constants
    values: dict[str, list[ParameterValue]] = {}
    for entry in task.listed:
        for name, value in entry.items():
            if name in constants and value not in values.setdefault(name, []):
                values[name].append(value)
    return values


if __name__ == "__main__":
    words = sys.argv[1:]
    is_wide = words[0] == _WIDE
    path, *task_keys = words[is_wide:]
    _examine_here(Path(path), task_keys, widens=is_wide)
