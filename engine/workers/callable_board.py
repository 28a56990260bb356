"""A Python process as a board: it compiles callables, keeps them by key, checks and times them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from engine.workers.callable_runs import (
    CheckedRuns,
    Placed,
    gpu_times_s,
    placed_on,
    processor_times_s,
)
from engine.workers.callables import CallableArtifact
from engine.workers.devices import PYTHON_NAMES
from foundation.errors import FileMistake, UserError
from foundation.values_read import ByValuesRead
from gpu_runner.device_arrays import Mismatch
from gpu_runner.protocol import Report
from kernels.on_device import ProblemArguments
from rvv_runner.board import BoardInfo
from rvv_runner.failure import failed
from rvv_runner.measurement import Artifact, Measurement

__all__ = ["CallableBoard", "python_info"]

# Torch's name of what the arguments lie on.
_DEVICES = dict(zip(PYTHON_NAMES, ("cpu", "cuda:0"), strict=True))

_GRACE_S = 5.0
_KILL_LIMIT_S = 20.0


def python_info(name: str) -> BoardInfo:
    """What is known about a Python process on this machine, or with its first GPU.

    Raises:
        BoardError: if there is no GPU that torch can use.
    """
    if name == "python":
        from rvv_runner.host import HostBoard

        return replace(HostBoard().info, name=name, kind=f"python-{HostBoard().info.kind}")
    from gpu_runner.detect import gpu_info
    from gpu_runner.names import GpuName

    info = gpu_info(GpuName("cuda"))
    return replace(info, name=name, kind=f"python-{info.kind}")


class CallableBoard:
    """Measures callables in a process of its own, which is replaced after a crash or a hang.

    Args:
        name: in `PYTHON_NAMES`.

    Raises:
        BoardError: if there is no GPU and one is named.
    """

    def __init__(self, name: str) -> None:
        self._info = python_info(name)
        self._device = _DEVICES[name]
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    @property
    def info(self) -> BoardInfo:
        """What is known about the process."""
        return self._info

    @property
    def notes(self) -> tuple[str, ...]:
        """That it has no counters."""
        return ("times only, no counters",)

    def open(self) -> None:
        """Start the process."""
        self.close()
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._device), daemon=True)
        self._process.start()
        theirs.close()

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        """Compile if no callable of the key is kept, then check and time it.

        Args:
            artifact: what to run.
            repeats: times to take.
            timeout_s: for all of it.

        Raises:
            FileMistake: if the arguments cannot be made, by a mistake in the user's file.
        """
        assert self._connection is not None
        if not isinstance(artifact, CallableArtifact):
            return failed("board", self._info, f"it runs callables, not {artifact.needs}")
        self._connection.send((artifact, repeats))
        report = self._answer(timeout_s)
        if report.ends:
            self.open()
        if report.status == "mistake":
            raise FileMistake(report.reason)
        if report.status != "correct":
            return failed(report.status, self._info, report.reason, report.max_abs_error)
        return Measurement(
            status="correct",
            times_s=report.times_s,
            board=self._info.name,
            max_abs_error=report.max_abs_error,
            max_share=report.max_share,
        )

    def close(self) -> None:
        """End the process; the board can be opened again."""
        if self._process is not None and self._connection is not None:
            self._connection.close()
            self._process.kill()
            self._process.join(_KILL_LIMIT_S)
        self._process = self._connection = None

    def _answer(self, limit_s: float) -> Report:
        assert self._connection is not None
        assert self._process is not None
        try:
            if self._connection.poll(limit_s + _GRACE_S):
                report: Report = self._connection.recv()
                return report
        except (EOFError, OSError):
            self._process.join(_KILL_LIMIT_S)
            status = self._process.exitcode
            return Report("runtime", f"its process ended with status {status}", ends=True)
        return Report("timeout", f"it did not finish within {limit_s:g} s", ends=True)


def _serve(connection: Connection, device: str) -> None:
    """Measure what is asked for until the connection is closed; runs in the process."""
    kept = _Kept(device)
    while True:
        try:
            artifact, repeats = connection.recv()
        except EOFError:
            return
        connection.send(kept.report(artifact, repeats))


class _Kept:
    """Arguments by problem, and compiled callables by key."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._compiled: dict[object, Callable[..., object]] = {}
        self._arguments: dict[ProblemArguments, ByValuesRead[Placed]] = {}

    def report(self, artifact: CallableArtifact, repeats: int) -> Report:
        """The outcome; a failure of the callable is the configuration's."""
        try:
            return self._measured(artifact, repeats)
        except Mismatch as wrong:
            self._arguments.clear()
            return Report("wrong", str(wrong), max_abs_error=wrong.max_abs_error)
        except FileMistake as error:
            return Report("mistake", str(error))
        except Exception as error:
            # After an error of the GPU the process is of no use.
            return Report("runtime", _first_line(error), ends=self._device != "cpu")

    def _measured(self, artifact: CallableArtifact, repeats: int) -> Report:
        problem, config = artifact.source.problem, artifact.config
        file = problem.spec.callable_file
        assert file is not None
        given = self._given(artifact)
        key = (str(file.path), file.compiled_key(problem, config))
        if key not in self._compiled:
            self._compiled[key] = file.build(problem, config, given.values)
        function = self._compiled[key]

        def launch() -> None:
            function(*given.values.values())

        runs = CheckedRuns(launch, given)
        runs.run_checked_contents()
        take = processor_times_s if self._device == "cpu" else gpu_times_s
        times_s = take(runs, repeats)
        errors = runs.errors
        return Report(
            "correct",
            times_s=times_s,
            max_abs_error=errors.largest,
            max_share=errors.share,
        )

    def _given(self, artifact: CallableArtifact) -> Placed:
        """What is passed; made once for configurations that share it."""
        source = artifact.source
        if source not in self._arguments:
            made = ByValuesRead(lambda config: placed_on(source, config, self._device))
            self._arguments = {source: made}
        try:
            return self._arguments[source](artifact.config)
        except UserError as error:
            raise FileMistake(str(error)) from error


def _first_line(error: Any) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
