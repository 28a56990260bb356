"""Runs of a callable, each timed and checked."""

from __future__ import annotations

import secrets
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter  # now, since a callable could replace it
from typing import Any

import numpy as np
import torch

from foundation.config import Config
from gpu_runner.device_arrays import DeviceArguments, Errors
from kernels.on_device import ProblemArguments
from kernels.own.callable_file import placed

__all__ = ["CheckedRuns", "Placed", "gpu_times_s", "placed_on", "processor_times_s"]

# One time is the median of as many runs as take this long, and at least one.
_SAMPLE_S = 2e-3
_MOST_RUNS = 100


@dataclass(frozen=True)
class Placed:
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


class CheckedRuns:
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

    def __init__(self, launch: Callable[[], None], placed: Placed) -> None:
        self.launch = launch
        self._memory, self._others, self._checked = placed.memory, placed.others, placed.checked
        # The outputs that were checked, of the contents in use and of the others.
        self._right: list[torch.Tensor] | None = None
        self._others_right: list[torch.Tensor] | None = None
        # On a GPU: whether a run was prepared and not yet looked at, and the worst of all seen.
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


def placed_on(source: ProblemArguments, config: Config, device: str) -> Placed:
    """The arguments on a device, each in its shape."""
    checked = source.make(config, device)
    shapes = {a.name: np.asarray(a.value if a.expected is None else a.expected) for a in checked}
    arrays = {a.name: shapes[a.name] if a.is_pointer else a.value for a in checked}
    first, second, third = (
        DeviceArguments(arguments, device)
        for arguments in (checked, *(source.make_timed(config, device, checked, n) for n in (1, 2)))
    )
    return Placed(placed(second, arrays), second, third, first)


def processor_times_s(runs: CheckedRuns, repeats: int) -> tuple[float, ...]:
    """So many times in seconds, after a run that is not counted."""
    once_s = runs.time_s()
    count = max(1, min(_MOST_RUNS, int(_SAMPLE_S / max(once_s, 1e-9))))
    times_s = tuple(statistics.median(runs.time_s() for _ in range(count)) for _ in range(repeats))
    runs.run_contents_left_out()
    return times_s


def gpu_times_s(runs: CheckedRuns, repeats: int) -> tuple[float, ...]:
    """So many times in seconds on the first GPU, with cold caches."""
    from gpu_runner.conditions import GpuWatch
    from gpu_runner.timing import Timer

    timer = Timer("cold", int(torch.cuda.get_device_properties(0).L2_cache_size))
    times_s = timer.times_s(runs.launch, runs.prepare_on_gpu, repeats, GpuWatch(0))
    runs.check_on_gpu()
    return times_s
