"""What a run tells its listeners: the stages, each trial, the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.workers.board_events import BoardEvent, BoardRecord
from engine.workers.waiting import Cause
from foundation.config import Config
from rvv_runner.measurement import Artifact, Measurement

__all__ = [
    "EndReason",
    "Event",
    "Listener",
    "RunEnded",
    "RunStarted",
    "StageStarted",
    "Standing",
    "StudyOpened",
    "TrialFinished",
]

EndReason = Literal["trials", "exhausted", "converged", "timeout", "interrupted", "failed"]


@dataclass(frozen=True)
class Standing:
    """The state of a study, earlier runs included.

    Args:
        tried: distinct configurations tried.
        trials: how many to try in all: the budget, or the whole of a smaller space.
        best: configuration and kernel time in seconds of the best; None before the first.
        default_time_s: kernel time of the default configuration; None if it is not known.
        order: by what the best is the best, as of `engine.study.robust.order_of`.
    """

    tried: int
    trials: int
    best: tuple[Config, float] | None
    default_time_s: float | None
    order: str = "time"

    @property
    def speedup(self) -> float | None:
        """How many times faster than the default the best is; None if either is not known."""
        if self.best is None or self.default_time_s is None:
            return None
        return self.default_time_s / self.best[1]


@dataclass(frozen=True)
class StageStarted:
    """What the run does now, before its first outcome or behind its last; each stage takes a second
    or more.

    Args:
        text: shown to the user: "starting Ray".
    """

    text: str


@dataclass(frozen=True)
class StudyOpened:
    """The study is open.

    Args:
        study: its name.
        tried: distinct configurations that earlier runs tried.
        warm_started_from: name of the study that it was warm-started from, if any.
    """

    study: str
    tried: int
    warm_started_from: str | None


@dataclass(frozen=True)
class RunStarted:
    """Builders and boards are ready, and the search is about to make its first proposal.

    Args:
        standing: of the study after earlier runs.
        estimated: whether times come from a model and not from a clock.
    """

    standing: Standing
    estimated: bool


@dataclass(frozen=True)
class TrialFinished:
    """A configuration was tried, and its outcome is stored.

    Args:
        config: the configuration.
        measurement: its outcome.
        artifact: what was measured; None if the build failed.
        standing: of the study, this trial included.
    """

    config: Config
    measurement: Measurement
    artifact: Artifact | None
    standing: Standing


@dataclass(frozen=True)
class RunEnded:
    """The run has ended.

    Args:
        reason: in the order of `EndReason`: the number of trials was reached; no valid
            configuration was left to try; the surrogate predicted no further improvement; the time
            was up; the user stopped the run; or an error did, which is raised after this event.
        tried: distinct configurations tried in the study.
        measured: trials that this run finished.
        wall_s: seconds that this run took, until its last measurement.
        boards: what each board did in this run.
        waits_s: board-seconds without work, by what was waited for.
    """

    reason: EndReason
    tried: int
    measured: int
    wall_s: float
    boards: tuple[BoardRecord, ...] = ()
    waits_s: Mapping[Cause, float] = field(default_factory=dict)

    @property
    def busy(self) -> float | None:
        """The part of this run for which its boards measured; None if none did."""
        busy_s = sum(board.busy_s for board in self.boards)
        whole_s = busy_s + sum(self.waits_s.values())
        return busy_s / whole_s if busy_s else None


Event = StageStarted | StudyOpened | RunStarted | TrialFinished | BoardEvent | RunEnded
Listener = Callable[[Event], None]
