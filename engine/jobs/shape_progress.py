"""Progress of a job over several shapes: one bar per shape on a terminal, otherwise lines."""

from __future__ import annotations

from types import TracebackType
from typing import TextIO

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from engine.results.progress import LineProgress, best_text, board_sentence, estimate_after
from engine.run.events import (
    Event,
    Listener,
    RunStarted,
    StageStarted,
    StudyOpened,
    TrialFinished,
)
from engine.workers.board_events import BoardEvent
from foundation.console import EscapingConsole
from foundation.printing import say

__all__ = ["ShapeProgress"]


class ShapeProgress:
    """One bar per shape, which stays when the shape is done; a context manager.

    If the stream is not a terminal, a line `shape=NAME` precedes the lines of the shape's trials.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bars: Progress | None = None
        self._bar: _Bar | None = None
        if stream.isatty():
            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(compact=True),
                TextColumn("{task.fields[best]}"),
                console=EscapingConsole(file=stream),
            )

    def __enter__(self) -> ShapeProgress:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def begin(self, name: str) -> Listener:
        """Start a shape; return the listener for its run."""
        if self._bars is None:
            say(f"shape={name}", file=self._stream, flush=True)
            return LineProgress(self._stream)
        self._bar = _Bar(self._bars, name)
        return self._bar

    def end(self, tried: int) -> None:
        """The current shape is done, even if its study was complete before."""
        if self._bar is not None:
            self._bar.fill(tried)


class _Bar:
    """The bar of one shape."""

    def __init__(self, bars: Progress, name: str) -> None:
        self._bars = bars
        self._task = bars.add_task(name, total=None, best="")
        self._estimate = ""

    def __call__(self, event: Event) -> None:
        if isinstance(event, StageStarted):
            self._bars.update(self._task, best=event.text)
        if isinstance(event, StudyOpened):
            self._bars.update(self._task, best="")
        if isinstance(event, BoardEvent):
            self._bars.console.print(board_sentence(event), markup=False, highlight=False)
        if not isinstance(event, RunStarted | TrialFinished):
            return
        self._estimate = estimate_after(event, self._estimate)
        standing = event.standing
        self._bars.update(
            self._task,
            completed=standing.tried,
            total=standing.trials,
            best=best_text(standing, self._estimate),
        )

    def fill(self, tried: int) -> None:
        """Mark the bar as complete."""
        self._bars.update(self._task, completed=tried, total=tried)
