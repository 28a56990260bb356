"""Studies on a GPU, with what a clock shows of them: builds a second, idle time of the GPU."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.repeats.comparison import Contender
from engine.run.events import Event, RunEnded, RunStarted, TrialFinished
from engine.run.request import SearchOptions, StudyOptions, TuningRequest, WorkOptions
from engine.run.tuning import TuningResult, tune
from engine.workers.waiting import Cause
from foundation.config import Config
from foundation.processors import cores
from foundation.shapes import Shape

__all__ = ["Clocked", "clocked", "cold_caches"]


@dataclass
class Clocked:
    """A study and when what happened.

    Args:
        device: of the study.
        start_s: when it began, by the monotonic clock.
        loop_s: when boards were ready.
        first_s, last_s: when its first and its last trial ended.
        ended_s: when the last measurement ended.
        closed_s: when its processes had ended too.
        best: seconds since the start and the best time so far, each time that it fell.
        busy_s: seconds for which boards had work.
        boards: how many there were.
        tried: configurations that it tried.
        waits_s: for what boards stood still, in seconds of board time.
    """

    device: str
    start_s: float = field(default_factory=time.monotonic)
    loop_s: float = 0.0
    first_s: float = 0.0
    last_s: float = 0.0
    ended_s: float = 0.0
    closed_s: float = 0.0
    best: list[tuple[float, float]] = field(default_factory=list)
    busy_s: float = 0.0
    boards: int = 1
    tried: int = 0
    waits_s: Mapping[Cause, float] = field(default_factory=dict)
    result: TuningResult | None = None

    def __call__(self, event: Event) -> None:
        now_s = time.monotonic()
        if isinstance(event, RunStarted):
            self.loop_s = now_s
        elif isinstance(event, TrialFinished):
            self.tried += 1
            self.first_s = self.first_s or now_s
            self.last_s = now_s
            best = event.standing.best
            if best is not None and (not self.best or best[1] < self.best[-1][1]):
                self.best.append((now_s - self.start_s, best[1]))
        elif isinstance(event, RunEnded):
            self.ended_s, self.closed_s = self.loop_s + event.wall_s, now_s
            self.busy_s = sum(record.busy_s for record in event.boards)
            self.waits_s = event.waits_s

    @property
    def wall_s(self) -> float:
        """Seconds of the whole study, with its start."""
        return self.closed_s - self.start_s

    @property
    def configs_a_second(self) -> float:
        """Configurations tried in each second after the first."""
        return (self.tried - 1) / (self.last_s - self.first_s)

    @property
    def idle(self) -> float:
        """Part of the time after the first trial, to the end, in which the boards had no work."""
        # The first trial is the default's; what it took lies before.
        measuring_s = max(self.ended_s - self.first_s, 1e-9)
        return max(0.0, 1 - (self.busy_s - self.first_busy_s) / (self.boards * measuring_s))

    @property
    def first_busy_s(self) -> float:
        """Seconds of the first trial on the board, from its stored wall time."""
        assert self.result is not None
        default = self.result.summary.default
        wall_s = default.attributes.get("wall_s") if default else None
        return float(wall_s) if isinstance(wall_s, float) else 0.0

    @property
    def winner_s(self) -> float:
        """The winner's time as the comparison of the leaders gives it."""
        return self._winner.time_s

    @property
    def winner(self) -> Config:
        """The winner of the comparison."""
        return self._winner.config

    @property
    def _winner(self) -> Contender:
        assert self.result is not None
        comparison = self.result.summary.comparison
        assert comparison is not None
        return comparison.winner


def clocked(
    kernel: str,
    shapes: Sequence[Shape],
    dtype: str,
    *,
    trials: int,
    device: str = "cuda",
    seed: int = 0,
    storage: Path,
    jobs: int | None = None,
) -> Clocked:
    """Run one study, without a history; `jobs` builders, or one for each core but one."""
    devices = device.split(",")
    clock = Clocked(device, boards=len(devices))
    request = TuningRequest(
        kernel=kernel,
        shapes=tuple(shapes),
        dtype=dtype,
        devices=devices,
        search=SearchOptions(trials=trials, seed=seed),
        study=StudyOptions(str(storage), use_history=False),
        work=WorkOptions(jobs=jobs or max(cores() - 1, 1)),
    )
    clock.result = tune(request, [clock])
    return clock


def cold_caches() -> Path:
    """An empty folder to work in, with an empty cache of Triton's; the last one is removed."""
    last = os.environ.get("TRITON_CACHE_DIR", "")
    folder = Path(tempfile.mkdtemp(prefix="bench-gpu-"))
    os.chdir(folder)
    if Path(last).name.startswith("bench-gpu-"):
        shutil.rmtree(last, ignore_errors=True)
    os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")
    return folder
