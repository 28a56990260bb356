"""A Python process as a board: it compiles callables, keeps them by key, checks and times them."""

from __future__ import annotations

import multiprocessing
import secrets
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from time import perf_counter  # now, since a callable could replace it
from typing import Any

import numpy as np
import torch

from engine.workers.callables import CallableArtifact
from engine.workers.devices import PYTHON_NAMES
from foundation.config import Config
from foundation.errors import FileMistake, UserError
from foundation.values_read import ByValuesRead
from gpu_runner.device_arrays import DeviceArguments, Errors, Mismatch
from gpu_runner.protocol import Report
from kernels.on_device import ProblemArguments
from kernels.own.callable_file import placed
from rvv_runner.board import BoardInfo
from rvv_runner.failure import failed
from rvv_runner.measurement import Artifact, Measurement

__all__ = ["CallableBoard", "python_info"]

# Torch's name of what the arguments lie on.
_DEVICES = dict(zip(PYTHON_NAMES, ("cpu", "cuda:0"), strict=True))

_GRACE_S = 5.0
_KILL_LIMIT_S = 20.0

# One time is the median of as many runs as take this long, and at least one.
_SAMPLE_S = 2e-3
_MOST_RUNS = 100


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


@dataclass(frozen=True)
class _Placed:
    """What is passed to callables.

    Args:
        values: by name.
        memory: where they lie.
        others: with other contents, which `memory` can take.
        checked: with those of the check, which tell more and are not timed.
    """

    values: Mapping[str, Any]
    memory: DeviceArguments
    others: DeviceArguments
    checked: DeviceArguments


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
        self._arguments: dict[ProblemArguments, ByValuesRead[_Placed]] = {}

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

        runs = _CheckedRuns(launch, given)
        runs.run_checked_contents()
        take = _times_s if self._device == "cpu" else _gpu_times_s
        times_s = take(runs, repeats)
        errors = runs.errors
        return Report(
            "correct",
            times_s=times_s,
            max_abs_error=errors.largest,
            max_share=errors.share,
        )

    def _given(self, artifact: CallableArtifact) -> _Placed:
        """What is passed; made once for configurations that share it."""
        source = artifact.source
        if source not in self._arguments:
            made = ByValuesRead(lambda config: _placed(source, config, self._device))
            self._arguments = {source: made}
        try:
            return self._arguments[source](artifact.config)
        except UserError as error:
            raise FileMistake(str(error)) from error


class _CheckedRuns:
    """Runs of one callable, each checked: in full, or by having the same bits as one that was.

    A callable may keep what it likes from one run to the next, but no run is spared its work: what
    it has to write is poisoned, and which of two contents its inputs have is drawn at random.

    Args:
        launch: calls it.
        placed: what it is called with.

    Attributes:
        launch: calls it, unchecked.
        errors: of all runs.
    """

    def __init__(self, launch: Callable[[], None], placed: _Placed) -> None:
        self.launch = launch
        self._memory, self._others, self._checked = placed.memory, placed.others, placed.checked
        # The outputs that were checked, of the contents in use and of the others.
        self._right: list[torch.Tensor] | None = None
        self._others_right: list[torch.Tensor] | None = None
        # On a GPU: whether a run was prepared that nobody looked at, and the worst of all seen.
        self._is_prepared = False
        self._seen: torch.Tensor | None = None
        self.errors = Errors()

    def run_checked_contents(self) -> None:
        """Run those of the check once, before anything is timed.

        Raises:
            Mismatch: if an output is wrong.
        """
        self._memory.exchange(self._checked)
        self._memory.renew()
        self.launch()
        self.errors = self._memory.check()
        self._memory.exchange(self._checked)

    def time_s(self) -> float:
        """The time of one run on a processor in seconds.

        Raises:
            Mismatch: if an output is wrong.
        """
        if secrets.randbits(1):
            self._exchange()
        return self._run_s()

    def run_contents_left_out(self) -> None:
        """Run the other contents once, if chance gave every run the same.

        Raises:
            Mismatch: if an output is wrong.
        """
        if self._others_right is None:
            self._exchange()
            self._run_s()

    def prepare_on_gpu(self) -> None:
        """Before a run on a GPU, whose outputs the next call or `check_on_gpu` looks at.

        Nothing waits for the GPU, which would slow down while it stands still.
        """
        self._look()
        if secrets.randbits(1):
            self._exchange()
        self._memory.renew()
        self._is_prepared = True

    def check_on_gpu(self) -> None:
        """After the last run on a GPU.

        Raises:
            Mismatch: if an output of any run was wrong.
        """
        self._look()
        if self._seen is not None:
            self.errors = self.errors.or_more(self._memory.judge(self._seen))

    def _run_s(self) -> float:
        self._memory.renew()
        start_s = perf_counter()
        self.launch()
        took_s = perf_counter() - start_s
        if self._right is None or not self._memory.hold(self._right):
            self._check()
        return took_s

    def _look(self) -> None:
        if self._is_prepared:
            now = self._memory.findings()
            self._seen = now if self._seen is None else torch.maximum(self._seen, now)
        self._is_prepared = False

    def _exchange(self) -> None:
        self._memory.exchange(self._others)
        self._right, self._others_right = self._others_right, self._right

    def _check(self) -> None:
        self.errors = self.errors.or_more(self._memory.check())
        self._right = self._memory.outputs()


def _placed(source: ProblemArguments, config: Config, device: str) -> _Placed:
    """The arguments on a device, each in its shape."""
    checked = source.make(config, device)
    shapes = {a.name: np.asarray(a.value if a.expected is None else a.expected) for a in checked}
    arrays = {a.name: shapes[a.name] if a.is_pointer else a.value for a in checked}
    first, second, third = (
        DeviceArguments(arguments, device)
        for arguments in (checked, *(source.make_timed(config, device, checked, n) for n in (1, 2)))
    )
    return _Placed(placed(second, arrays), second, third, first)


def _times_s(runs: _CheckedRuns, repeats: int) -> tuple[float, ...]:
    """So many times in seconds, after a run that is not counted."""
    once_s = runs.time_s()
    count = max(1, min(_MOST_RUNS, int(_SAMPLE_S / max(once_s, 1e-9))))
    times_s = tuple(statistics.median(runs.time_s() for _ in range(count)) for _ in range(repeats))
    runs.run_contents_left_out()
    return times_s


def _gpu_times_s(runs: _CheckedRuns, repeats: int) -> tuple[float, ...]:
    from gpu_runner.conditions import GpuWatch
    from gpu_runner.timing import Timer

    timer = Timer("cold", int(torch.cuda.get_device_properties(0).L2_cache_size))
    times_s = timer.times_s(runs.launch, runs.prepare_on_gpu, repeats, GpuWatch(0))
    runs.check_on_gpu()
    return times_s


def _first_line(error: Any) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
