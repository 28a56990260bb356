"""A GPU as a board: another process owns its context, and is replaced when that is spoilt."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from foundation.errors import FileMistake
from gpu_runner.artifact import ArgumentsSource, GpuArtifact
from gpu_runner.detect import gpu_info, target_of
from gpu_runner.names import GpuName
from gpu_runner.protocol import Expected, Opened, Prepared, Report, Request
from rvv_runner.board import BoardError, BoardInfo
from rvv_runner.disturbed import DISTURBED, undisturbed
from rvv_runner.failure import failed
from rvv_runner.measurement import Artifact, Measurement

__all__ = ["GpuBoard"]

_OPEN_LIMIT_S = 120.0  # torch is imported, and the driver makes a context
_PREPARE_LIMIT_S = 300.0  # inputs are made, and the reference is computed, once for each problem
_CLOSE_LIMIT_S = 2.0
_KILL_LIMIT_S = 20.0  # the driver takes its time to end a kernel that runs

# A kernel that hangs holds the GPU until it is ended. Once a configuration was measured, the others
# may take so many times as long: a slower one cannot win.
_SLOWER_THAN_OTHERS = 20.0
_LEAST_LIMIT_S = 5.0

_PAUSE_S = 0.1

_LAST_BYTES = 2000  # of what the process wrote before it ended


class GpuBoard:
    """Checks and times kernels on one GPU, one at a time.

    The process that measures holds the arguments of recent problems in the GPU's memory. It is
    ended and started anew after an error of the GPU or a kernel that does not end. Times that were
    disturbed are taken again; if they still are, the fastest of three is kept, and "disturbed"
    among its conditions says why it cannot be trusted.

    Args:
        name: of one GPU, with the way in which kernels are timed.
        info: what is known about it; None to ask torch, which takes seconds to import.
        expected: arguments that its process makes, once it is open, while kernels are being built.

    Raises:
        BoardError: if torch is asked, and there is no such GPU or torch cannot use it.
    """

    def __init__(
        self, name: GpuName, info: BoardInfo | None = None, expected: Expected | None = None
    ) -> None:
        self._name = name
        self._info = info or gpu_info(name)
        self._target = target_of(self._info)
        self._process: _Process | None = None
        self._notes: tuple[str, ...] = ()
        self._longest_s: dict[ArgumentsSource, float] = {}
        self._expected = expected

    @property
    def info(self) -> BoardInfo:
        """What is known about the GPU."""
        return self._info

    @property
    def notes(self) -> tuple[str, ...]:
        """What cannot be watched on it."""
        return self._notes

    def open(self) -> None:
        """Start the process that measures.

        Raises:
            BoardError: if it cannot use the GPU.
        """
        self.close()
        self._process = _Process(self._name, self._expected)

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        """Check the output once, then time the kernel `repeats` times.

        Args:
            artifact: what to run.
            repeats: times to take; each is the middle of several runs.
            timeout_s: for the checked and the timed runs together, at most; making the arguments
                and starting a process do not count.

        Raises:
            FileMistake: if the arguments cannot be made, by a mistake in the user's file.
        """
        if self._process is None:
            raise RuntimeError("measure() was called on a board that is not open")
        if not isinstance(artifact, GpuArtifact) or artifact.target != self._target:
            return failed("board", self._info, f"it is a {self._target}, not {artifact.needs}")
        deadline = time.monotonic() + timeout_s
        request = Request(pickle.dumps(artifact), repeats)
        longest_s = self._longest_s.get(artifact.source)
        if longest_s is not None:
            timeout_s = min(timeout_s, max(_LEAST_LIMIT_S, _SLOWER_THAN_OTHERS * longest_s))
        return undisturbed(lambda: self._attempt(artifact, request, timeout_s), deadline, _PAUSE_S)

    def close(self) -> None:
        """End the process; the board can be opened again."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _attempt(self, artifact: GpuArtifact, request: Request, timeout_s: float) -> Measurement:
        assert self._process is not None
        try:
            self._notes = self._process.wait_open()
        except BoardError as error:
            self._process.end()
            self._process = _Process(self._name)
            return failed("board", self._info, str(error))
        report = self._process.ask(request, timeout_s)
        if report.ends:
            self._process.end()
            self._process = _Process(self._name)  # it is ready, or nearly, when it is needed
        if report.status == "mistake":
            raise FileMistake(report.reason)
        if report.status != "correct":
            return failed(report.status, self._info, report.reason, report.max_abs_error)
        known_s = self._longest_s.get(artifact.source, 0.0)
        self._longest_s[artifact.source] = max(known_s, report.wall_s)
        doubt = {DISTURBED: report.doubt} if report.doubt else {}
        return Measurement(
            status="correct",
            times_s=report.times_s,
            board=self._info.name,
            max_abs_error=report.max_abs_error,
            max_share=report.max_share,
            conditions={**report.conditions, **doubt},
        )


class _Process:
    """The process that measures; it starts in the background."""

    def __init__(self, name: GpuName, expected: Expected | None = None) -> None:
        ours, theirs = socket.socketpair()
        self._written = tempfile.TemporaryFile()  # noqa: SIM115 # it lives as long as the process
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "gpu_runner.measuring"),
                    *(str(theirs.fileno()), str(name.place), name.timing),
                ],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=self._written,
                stderr=self._written,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._connection = Connection(ours.detach())
        if expected is not None:
            self._connection.send(expected)
        self._notes: tuple[str, ...] | None = None

    def wait_open(self) -> tuple[str, ...]:
        """Wait until the process has its GPU; returns notes for the user.

        Raises:
            BoardError: if it does not get it.
        """
        if self._notes is None:
            answer = self._answer(_OPEN_LIMIT_S)
            if answer is None:
                raise BoardError(f"the GPU could not be opened in {_OPEN_LIMIT_S:g} s")
            if not isinstance(answer, Opened):
                raise BoardError(f"the GPU cannot be opened: {answer.reason}")
            self._notes = answer.notes
        return self._notes

    def ask(self, request: Request, timeout_s: float) -> Report:
        """The report of one measurement; after `timeout_s`, the process is to be replaced."""
        try:
            self._connection.send(request)
        except OSError:
            return self._why_it_ended()
        answer = self._answer(_PREPARE_LIMIT_S)
        if answer is None:
            reason = f"the arguments were not made within {_PREPARE_LIMIT_S:g} s"
            return Report("board", reason, ends=True)
        while isinstance(answer, Prepared):  # once more where it began anew with less in memory
            answer = self._answer(timeout_s)
        if answer is None:
            return Report("timeout", f"it did not finish within {timeout_s:g} s", ends=True)
        assert isinstance(answer, Report)
        if answer.ends and answer.status == "runtime":
            return self._with_assertion(answer)
        return answer

    def end(self) -> None:
        """End the process, at once if it is busy."""
        self._connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_LIMIT_S if self._notes is not None else 0)
        if self._process.returncode is None:
            self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_KILL_LIMIT_S)
        self._written.close()

    def _answer(self, limit_s: float) -> Any:
        """The next message; None if there is none in time, and a report if the process ended."""
        try:
            return self._connection.recv() if self._connection.poll(limit_s) else None
        except (EOFError, OSError):
            return self._why_it_ended()

    def _why_it_ended(self) -> Report:
        """The report of a measurement that ended its process."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_KILL_LIMIT_S)
        if self._process.returncode == -signal.SIGKILL:
            # No kernel ends its process so; a user does, or the system where memory runs out.
            return Report("board", "its process was killed from outside", ends=True)
        lines = list(self._lines())
        last = lines[-1] if lines else f"its process ended with status {self._process.returncode}"
        return Report("runtime", last, ends=True)

    def _with_assertion(self, report: Report) -> Report:
        """The report with the words of a `tl.device_assert`, which the GPU's driver writes."""
        for line in self._lines():
            if "Assertion" in line:
                return Report(report.status, line, ends=True)
        return report

    def _lines(self) -> Iterator[str]:
        """The last lines that the process wrote."""
        size_bytes = os.fstat(self._written.fileno()).st_size
        text = os.pread(self._written.fileno(), _LAST_BYTES, max(size_bytes - _LAST_BYTES, 0))
        lines = text.decode(errors="replace").splitlines()
        yield from filter(None, map(str.strip, lines))
