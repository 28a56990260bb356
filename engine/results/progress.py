"""Progress of a run: a live line on a terminal, otherwise one parseable line per trial."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TextIO

from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.spinner import Spinner
from rich.table import Column
from rich.text import Text

from engine.results.fields import yes_no
from engine.results.units import short_config, speedup_text, time_text
from engine.run.events import (
    Event,
    Listener,
    RunEnded,
    RunStarted,
    StageStarted,
    Standing,
    StudyOpened,
    TrialFinished,
)
from engine.workers.board_events import BoardBack, BoardEvent, BoardNote, BoardTakenOut
from foundation.console import EscapingConsole
from foundation.printing import printable, say

__all__ = [
    "LOADING",
    "LineProgress",
    "LiveProgress",
    "best_text",
    "board_sentence",
    "estimate_after",
    "progress_on",
]

# Shown before a command imports packages that take seconds.
LOADING = StageStarted("loading Optuna, Ray and Triton")

_WIDTH_FOR_A_BAR = 100
_BAR_WIDTH, _COUNT_WIDTH, _TIME_WIDTH = 10, 7, 7
_SPINNER_WIDTH = 2


@contextlib.contextmanager
def progress_on(stream: TextIO) -> Iterator[Listener]:
    """A live line if the stream is a terminal, otherwise plain lines."""
    if not stream.isatty():
        yield LineProgress(stream)
        return
    live = LiveProgress(stream)
    try:
        yield live
    finally:
        live.stop()


class LineProgress:
    """One line per finished trial or event of a board: key=value fields separated by tabs.

    A board's fields: board, event ("out", "back" or "note"), reason. A trial's: trial, status,
    time_s, estimated, speedup, leader_time_s, leader_by, config, reason, in this order; unknown
    ones are left out. The leader is what would win now: over several models of a core, it is by a
    loss, which `leader_by` names, and perhaps not the fastest under the default one. Lines on no
    trial always go to stderr: stage; or study, tried and warm_started_from.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, event: Event) -> None:
        """Print a line if a stage starts, a trial ends, or a board has an event."""
        stream = self._stream
        match event:
            case StageStarted(text):
                fields, stream = [f"stage={text}"], sys.stderr
            case StudyOpened():
                fields, stream = _study_fields(event), sys.stderr
            case TrialFinished():
                fields = _fields(event)
            case BoardTakenOut() | BoardBack() | BoardNote():
                fields = _board_fields(event)
            case _:
                return
        say("\t".join(map(printable, fields)), file=stream, flush=True)


def _study_fields(event: StudyOpened) -> list[str]:
    fields = [f"study={event.study}", f"tried={event.tried}"]
    if event.warm_started_from is not None:
        fields.append(f"warm_started_from={event.warm_started_from}")
    return fields


def _fields(event: TrialFinished) -> list[str]:
    measurement, standing = event.measurement, event.standing
    fields = [f"trial={standing.tried}/{standing.trials}", f"status={measurement.status}"]
    if measurement.status == "correct" and measurement.time_s is not None:
        fields.append(f"time_s={measurement.time_s:.9f}")
        fields.append(f"estimated={yes_no(measurement.estimated)}")
        if standing.default_time_s is not None:
            fields.append(f"speedup={standing.default_time_s / measurement.time_s:.3f}")
    if standing.best is not None:
        fields.append(f"leader_time_s={standing.best[1]:.9f}")
        fields += [] if standing.order == "time" else [f"leader_by={standing.order}"]
    fields.append(f"config={event.config}")
    if measurement.reason:
        fields.append("reason=" + " ".join(measurement.reason.split()))
    return fields


def _board_fields(event: BoardEvent) -> list[str]:
    match event:
        case BoardTakenOut(board, reason):
            fields = [f"board={board}", "event=out", f"reason={' '.join(reason.split())}"]
        case BoardBack(board):
            fields = [f"board={board}", "event=back"]
        case BoardNote(board, text):
            fields = [f"board={board}", "event=note", f"reason={' '.join(text.split())}"]
    return fields


def board_sentence(event: BoardEvent) -> str:
    """What happened to a board, in one sentence."""
    match event:
        case BoardTakenOut(board, reason):
            sentence = f"the board {board} was taken out: {reason}"
        case BoardBack(board):
            sentence = f"the board {board} is back"
        case BoardNote(board, text):
            sentence = f"the board {board}: {text}"
    return sentence


class LiveProgress:
    """A line that is redrawn: the stage; then trials done and left, time left, and best so far."""

    def __init__(self, stream: TextIO) -> None:
        self._console = EscapingConsole(file=stream)
        self._stage = Live(console=self._console, transient=True)
        self._progress = Progress(*_columns(self._console.width), console=self._console,
                                  transient=True, expand=True)  # fmt: skip
        self._task = self._progress.add_task("", best="")
        self._study = ""
        self._best = ""
        self._estimate = ""  # of the best so far: "estimated, ±24%"

    def stop(self) -> None:
        """Remove the line, if it is still there."""
        self._stage.stop()
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Redraw the line."""
        match event:
            case StageStarted(text):
                self._show_stage(text)
            case StudyOpened():
                self._study = _study_text(event)
            case RunStarted(standing):
                self._estimate = estimate_after(event, self._estimate)
                self._show(standing)
                self._stage.stop()
                self._progress.start()
            case TrialFinished(_, measurement, _, standing):
                if measurement.status == "board":
                    self._say(f"board: {measurement.reason}")
                self._estimate = estimate_after(event, self._estimate)
                self._show(standing)
            case RunEnded():
                self.stop()
                if event.reason == "failed" and self._best:  # no table follows
                    self._say(self._best)
            case _:
                self._say(board_sentence(event))

    def _show_stage(self, text: str) -> None:
        if self._progress.live.is_started:
            self._progress.update(self._task, best=text)
            return
        line = Text("; ".join(part for part in (text, self._study) if part))
        line.truncate(self._console.width - _SPINNER_WIDTH, overflow="ellipsis")
        self._stage.update(Spinner("dots", line))
        self._stage.start()
        self._stage.refresh()

    def _show(self, standing: Standing) -> None:
        self._best = best_text(standing, self._estimate)
        done = f"{standing.tried}/{standing.trials}"
        best = best_text(standing, self._estimate, _width_of_best(self._console.width, done))
        self._progress.update(
            self._task, completed=standing.tried, total=standing.trials, best=best
        )

    def _say(self, sentence: str) -> None:
        self._console.print(sentence, markup=False, highlight=False)


def _columns(width: int) -> list[ProgressColumn]:
    """The columns of the line; the last takes the remaining width, and an ellipsis if it is cut.

    Args:
        width: of the terminal, in characters.
    """
    return [
        *([BarColumn(bar_width=_BAR_WIDTH)] if width >= _WIDTH_FOR_A_BAR else []),
        MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=_COUNT_WIDTH)),
        TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True, min_width=5)),
        TextColumn(
            "{task.fields[best]}",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
        ),
    ]


def _width_of_best(width: int, done: str) -> int:
    """The width that the other columns leave; one character stands between two columns."""
    bar = _BAR_WIDTH + 1 if width >= _WIDTH_FOR_A_BAR else 0
    return width - bar - max(_COUNT_WIDTH, len(done)) - 1 - _TIME_WIDTH - 1


def _study_text(event: StudyOpened) -> str:
    """What the study starts with, as readable text; empty if that is nothing."""
    parts = [f"{event.tried} earlier trials"] if event.tried else []
    if event.warm_started_from is not None:
        parts.append(f"warm-started from {event.warm_started_from}")
    return ", ".join(parts)


def estimate_after(event: RunStarted | TrialFinished, before: str) -> str:
    """What to say beside the best time: "estimated, ±24%"; empty for one from a clock.

    Args:
        event: what happened; the band of a best from an earlier run is not known.
        before: what was said before it.
    """
    if isinstance(event, RunStarted):
        return "estimated" if event.estimated else ""
    best, measurement = event.standing.best, event.measurement
    if best is None or best[0] != event.config:
        return before
    # It imports packages that take seconds, and are loaded by now.
    from engine.run.estimates import measurement_text

    return measurement_text(measurement.estimated, measurement.board, measurement.counters)


def best_text(standing: Standing, estimate: str, width: int | None = None) -> str:
    """The best so far with its speed-up, if the default's time is known.

    Args:
        standing: of the study.
        estimate: what to say beside the time: "estimated, ±24%"; "" for one from a clock.
        width: in characters, in which the configuration should fit; None for any.
    """
    if standing.best is None:
        return "nothing valid yet"
    config, time_s = standing.best
    time = time_text(time_s)
    speedup = "" if standing.speedup is None else f", {speedup_text(standing.speedup)}"
    the_default = " the default" if speedup else ""
    brief = estimate.replace("estimated, ", "est. ").replace("estimated", "est.")
    forms = (
        f"best {time}{f' ({estimate})' if estimate else ''}{speedup}{the_default}",
        f"best {time}{f' ({brief})' if brief else ''}{speedup}",
        f"{time}{f' {brief}' if brief else ''}{speedup}",
    )
    texts = [f"{form}: {short_config(config)}" for form in forms]
    return next((text for text in texts if width is None or len(text) <= width), texts[-1])
