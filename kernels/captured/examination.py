"""Examines the tasks of a capture in processes of their own: a kernel may crash, or never end."""

from __future__ import annotations

import collections
import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from foundation.errors import UserError
from foundation.processors import cores
from kernels.captured.drawn import ContentsError
from kernels.captured.examined import (
    Examined,
    forget_examined,
    keep_examined,
    read_examined,
)
from kernels.captured.kept_memory import kept_memory
from kernels.captured.probe import probed
from kernels.captured.recorded import RecordedTask, load_task
from kernels.captured.unexamined import unexamined
from kernels.source_digest import source_digest

__all__ = [
    "EXAMINATION_LIMIT_S",
    "WIDE",
    "Examiner",
    "current_examined",
    "digest_of",
    "examine",
    "examine_here",
]

EXAMINATION_LIMIT_S = 180.0  # for one task, of processor time
# Times as long may pass by the clock: what is found is kept, and must not tell of a busy machine.
_PATIENCE = 5
WIDE = "--widen"
# Torch's threads that wait for work would use processor time, which counts: on 16 cores five times
# what the work took.
_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive"}
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
        UserError: if it cannot be kept, or the process that finds it out was stopped.
    """
    kept = read_examined(capture).get(task.task.key)
    if kept is None or kept.digest != digest_of(task):
        examine(capture, [task.task.key])
        kept = read_examined(capture).get(task.task.key)
    if kept is None:
        raise UserError(
            f"the process that examines {task.task.kernel.name} was stopped: run the command again"
        )
    return kept


def examine(
    capture: Path,
    keys: Sequence[str],
    begun: Callable[[str], None] = lambda key: None,
    *,
    widens: bool = False,
) -> list[str]:
    """Find out about tasks, as `Examiner.examine` does."""
    with Examiner(capture, begun, widens=widens) as examiner:
        return examiner.examine(keys)


class Examiner:
    """Examines tasks of a capture, in processes that wait for the next ones until this is closed.

    Args:
        capture: the file.
        begun: called with the key of each task when its turn comes.
        widens: whether more may vary than the kernels' autotuners list.
    """

    def __init__(
        self,
        capture: Path,
        begun: Callable[[str], None] = lambda key: None,
        *,
        widens: bool = False,
    ) -> None:
        self._capture, self._begun = capture, begun
        how = [WIDE] if widens else []
        # A folder called kernels in the current one would hide this program's own, but for -P.
        module = ["-P", "-m", "kernels.captured.examining"]
        self._command = [sys.executable, *module, *how, str(capture)]
        self._idle: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Examiner:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes; the next examination starts others."""
        while self._idle:
            with self._idle.pop() as child:
                child.kill()

    def prepare(self) -> None:
        """Start a process, which imports what it needs while something else is done."""
        self._idle.append(self._started())

    def examine(
        self, keys: Sequence[str], end_s: float = math.inf, tries_end_s: float = math.inf
    ) -> list[str]:
        """Find out about tasks, and keep it beside the capture.

        Args:
            keys: of the tasks, which are begun in this order, on every core.
            end_s: when to leave the rest, as `time.monotonic` gives it; what was kept of those
                stays.
            tries_end_s: when to try no more constexprs of a task; what is known by then is kept.

        Returns:
            The keys of those that were examined.

        Raises:
            UserError: if what was found cannot be kept.
        """
        before = read_examined(self._capture)
        forget_examined(self._capture, keys)
        waiting = collections.deque(keys)
        # To start a process takes as long as an easy task, so each gets two or more.
        processes = max(1, min(cores(), len(keys) // 2))
        with ThreadPoolExecutor(processes) as pool:
            running = [
                pool.submit(self._examine_in_turn, waiting, end_s, tries_end_s)
                for _ in range(processes)
            ]
            for ended in running:
                ended.result()
        found = read_examined(self._capture)
        # A shorter examination, or one without --widen, may have found something.
        keep_examined(self._capture, {k: before[k] for k in keys if k in before.keys() - found})
        return [key for key in keys if key in found]

    def _examine_in_turn(
        self, waiting: collections.deque[str], end_s: float, tries_end_s: float
    ) -> None:
        """Take tasks that wait, one after another; a process that one of them ends is replaced."""
        while time.monotonic() < end_s:
            try:
                key = waiting.popleft()
            except IndexError:
                return
            self._begun(key)
            try:
                self._examine_in_child(key, end_s, tries_end_s)
            except _StoppedError:
                return
            except _EndedError as error:
                is_cut_off = time.monotonic() >= end_s
                if not is_cut_off and key not in read_examined(self._capture):
                    _note_end(self._capture, key, str(error))

    def _examine_in_child(self, key: str, end_s: float, tries_end_s: float) -> None:
        """Examine one task.

        Raises:
            _StoppedError: if the process was stopped from outside.
            _EndedError: if the task ended it.
        """
        child = self._idle.pop() if self._idle else self._started()
        assert child.stdin is not None
        assert child.stdout is not None
        is_killed = threading.Event()

        def kill() -> None:
            is_killed.set()
            child.kill()

        left_s = max(0.0, end_s - time.monotonic())
        timer = threading.Timer(min(_PATIENCE * EXAMINATION_LIMIT_S, left_s), kill)
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended; its status says how
                child.stdin.write(f"{key} {tries_end_s}\n")
                child.stdin.flush()
            # A kernel may print, too.
            is_done = any(line.strip() == key for line in child.stdout)
        finally:
            timer.cancel()
        if is_done and not is_killed.is_set():
            self._idle.append(child)
            return
        status = child.wait()
        child.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
        if -status in _STOPS:
            raise _StoppedError
        raise _EndedError(_how_it_ended(status))

    def _started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**_ENVIRONMENT, **os.environ},
        )


def _how_it_ended(status: int) -> str:
    """What a task did to the process, by the status with which that ended."""
    if -status == signal.SIGXCPU:
        return f"ran longer than {EXAMINATION_LIMIT_S:g} s"
    if -status == signal.SIGKILL:
        return f"ran longer than {_PATIENCE * EXAMINATION_LIMIT_S:g} s or took too much memory"
    if status < 0:
        return f"ended the process ({signal.strsignal(-status)})"
    return f"ended the process with status {status}"


def _note_end(capture: Path, key: str, how: str) -> None:
    """Note that the process did not survive a task."""
    task = load_task(capture, key)
    when = "when it was run on its captured arguments, with the deployed constants or others"
    _keep_unexamined(capture, task, f"{task.task.kernel.name} {how} {when}")


def _keep_unexamined(capture: Path, task: RecordedTask, why: str) -> None:
    """Note that this machine's processor cannot tell what may vary of a task.

    Where arguments share memory, it cannot tell either whether they may be apart.
    """
    probed = None if task.shares_memory else unexamined(task, why)
    keep_examined(
        capture, {task.task.key: Examined(digest_of(task), probed, "" if probed else why)}
    )


def examine_here(capture: Path, key: str, *, widens: bool, tries_end_s: float = math.inf) -> None:
    """Find out about a task in this process, and keep what was found.

    Args:
        capture: the file.
        key: of the task.
        widens: as `Examiner` has it.
        tries_end_s: as `Examiner.examine` has it.

    Raises:
        UserError: if it cannot be kept.
    """
    digest, task = "", None
    within_s = tries_end_s - time.monotonic()
    try:
        task = load_task(capture, key)
        digest = digest_of(task)
        listed = task.listed_values or None
        with kept_memory():
            found = probed(
                task.deployed,
                task.memory(0),
                listed=listed,
                derived=task.derived,
                widens=widens,
                end_s=tries_end_s,
            )
        is_cut_off = any(freedom.obstacle == "untried" for freedom in found.freedoms)
        examined = Examined(
            digest, found, is_wide=widens, within_s=within_s if is_cut_off else None
        )
        keep_examined(capture, {key: examined})
    except UserError as error:
        keep_examined(capture, {key: Examined(digest, None, f"{error}{_advice(task, error)}")})
    except Exception as error:  # whatever a kernel's launch raises
        if task is None:
            keep_examined(capture, {key: Examined(digest, None, _failure("the kernel", error))})
        else:
            _keep_unexamined(capture, task, _failure(task.task.kernel.name, error))


def _advice(task: RecordedTask | None, error: UserError) -> str:
    """What else may help, as the end of a sentence: a kernel may write where it has read."""
    if task is None or not task.is_drawn or not isinstance(error, ContentsError):
        return ""
    return "; or capture with --keep-data, since it ran on drawn contents of its large tensors"


def _failure(name: str, error: BaseException) -> str:
    """What a kernel fails with, in one line: the last of the first error, which says why."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" ^")]
    return f"{name} fails on its captured arguments: {type(error).__name__}: {(lines or [''])[-1]}"
