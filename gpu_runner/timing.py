"""Times of a kernel on a GPU: with its L2 cache flushed before each run, without, or in a graph."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import torch

from gpu_runner.conditions import GpuWatch
from gpu_runner.names import Timing

__all__ = ["Timer"]

# One time is the middle of as many runs as take this long, flushes included, within these limits:
# one run of a kernel of microseconds says little, and its clock ticks are a large part of it.
_SAMPLE_S = 2e-3
_FEWEST_RUNS = 3
_MOST_RUNS = 20

# A GPU that stood still, even for the milliseconds between two measurements, is slower at first: on
# an H200, after 5 ms, the first three runs of kernels of 30 us took 1.3 times as long as later ones
# at the same clock, after 100 ms 2.3 times, and from the tenth run on, all took the same.
_WARM_UP_S = 2e-3
_FEWEST_WARM_UPS = 2
_MOST_WARM_UPS = 50

_LEAST_FLUSH_BYTES = 256 << 20  # as Triton's do_bench takes, for GPUs with a cache beside L2
_CACHES = 4

# Before a run that nothing precedes, the GPU waits for so many of its clock cycles: the launch is
# then in its queue, and what the processor takes to prepare it is not part of the time.
_HEAD_START_CYCLES = 40_000


class Timer:
    """Times launches on one GPU, in one way.

    Args:
        timing: the way.
        l2_bytes: size of the GPU's L2 cache.
    """

    def __init__(self, timing: Timing, l2_bytes: int) -> None:
        self._timing = timing
        size_bytes = max(_LEAST_FLUSH_BYTES, _CACHES * l2_bytes) if timing == "cold" else 0
        self._flushed = torch.empty(size_bytes, dtype=torch.int8, device="cuda")
        most_runs = max(_MOST_RUNS, _MOST_WARM_UPS)
        self._events = [(_event(), _event()) for _ in range(most_runs)]
        self._flush_s = self._time_of_flush()

    def times_s(
        self,
        launch: Callable[[], None],
        before: Callable[[], None],
        repeats: int,
        watch: GpuWatch,
    ) -> tuple[float, ...]:
        """So many times of one launch in seconds, after a warm-up.

        Args:
            launch: puts the kernel into the current stream.
            before: prepares the memory for a launch, untimed.
            repeats: how many times to return.
            watch: is started once the GPU has warmed up.
        """
        once_s = self._warm_up(launch, before)
        watch.start()
        if self._timing == "graph":
            return self._in_graph(launch, before, repeats, once_s)
        runs = _runs(once_s, self._flush_s)
        return tuple(_middle(self._run(launch, before, runs)) for _ in range(repeats))

    def _warm_up(self, launch: Callable[[], None], before: Callable[[], None]) -> float:
        """Run until the GPU has reached its clock; returns about how long one launch takes."""
        (once_s,) = self._run(launch, before, 1)
        runs = _within(_FEWEST_WARM_UPS, int(_WARM_UP_S / (once_s + self._flush_s)), _MOST_WARM_UPS)
        return min([once_s, *self._run(launch, before, runs)])

    def _time_of_flush(self) -> float:
        if self._timing != "cold":
            return 0.0
        self._flushed.zero_()  # the first time, the driver loads what sets memory
        start, end = _event(), _event()
        start.record()
        self._flushed.zero_()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    def _run(
        self, launch: Callable[[], None], before: Callable[[], None], runs: int
    ) -> list[float]:
        """The time of each of so many runs in seconds."""
        # What the processor does for a run should take less than the run: events are used again,
        # and the stream is not looked up for each.
        events, stream = self._events[:runs], torch.cuda.current_stream()
        for start, end in events:
            before()
            if self._timing == "cold":
                self._flushed.zero_()
            else:
                torch.cuda._sleep(_HEAD_START_CYCLES)  # type: ignore[no-untyped-call]  # torch's
            start.record(stream)
            launch()
            end.record(stream)
        torch.cuda.synchronize()
        return [start.elapsed_time(end) / 1e3 for start, end in events]

    def _in_graph(
        self,
        launch: Callable[[], None],
        before: Callable[[], None],
        repeats: int,
        once_s: float,
    ) -> tuple[float, ...]:
        """Times of one launch among many that are captured together, and so cost no launch each.

        A kernel that starts from its own outputs goes on from them within a graph.
        """
        runs = _runs(once_s, 0.0)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(runs):
                launch()
        times_s = []
        for _ in range(repeats):
            before()
            start, end = _event(), _event()
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            times_s.append(start.elapsed_time(end) / 1e3 / runs)
        return tuple(times_s)


def _runs(once_s: float, flush_s: float) -> int:
    return _within(_FEWEST_RUNS, int(_SAMPLE_S / (once_s + flush_s)), _MOST_RUNS)


def _within(least: int, number: int, most: int) -> int:
    return max(least, min(most, number))


def _middle(times_s: Sequence[float]) -> float:
    """The mean of the middle half: no outlier counts, and the ticks of the clock average out."""
    ordered = sorted(times_s)
    cut = len(ordered) // 4
    return statistics.fmean(ordered[cut : len(ordered) - cut])


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # torch's
