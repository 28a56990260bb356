"""Progress of a run: a live line on a terminal, one parseable line a trial elsewhere."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from engine.results.units import short_config, speedup_text, time_text
from engine.run.events import Event, Listener, RunEnded, RunStarted, Standing, TrialFinished
from engine.workers.board_events import BoardBack, BoardEvent, BoardNote, BoardTakenOut

__all__ = ["LineProgress", "LiveProgress", "progress_on"]


def progress_on(stream: TextIO) -> Listener:
    """What fits the stream: a live line on a terminal, and plain lines anywhere else."""
    return LiveProgress(stream) if stream.isatty() else LineProgress(stream)


class LineProgress:
    """One line a finished trial or an event of a board: fields as key=value, separated by tabs.

    A board's fields: board, event ("out", "back" or "note"), reason. A trial's: trial, status,
    time_s, estimated, speedup, best_time_s, config, reason; one that is not known is left out. The
    configuration comes last but one, the reason last.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, event: Event) -> None:
        """Print a line where a trial ended, or something became of a board."""
        if isinstance(event, TrialFinished):
            print("\t".join(_fields(event)), file=self._stream, flush=True)
        elif isinstance(event, BoardEvent):
            print("\t".join(_board_fields(event)), file=self._stream, flush=True)


def _fields(event: TrialFinished) -> list[str]:
    measurement, standing = event.measurement, event.standing
    fields = [f"trial={standing.tried}/{standing.trials}", f"status={measurement.status}"]
    if measurement.status == "correct" and measurement.time_s is not None:
        fields.append(f"time_s={measurement.time_s:.9f}")
        fields.append(f"estimated={'yes' if measurement.estimated else 'no'}")
        if standing.default_time_s is not None:
            fields.append(f"speedup={standing.default_time_s / measurement.time_s:.3f}")
    if standing.best is not None:
        fields.append(f"best_time_s={standing.best[1]:.9f}")
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


def _board_sentence(event: BoardEvent) -> str:
    match event:
        case BoardTakenOut(board, reason):
            sentence = f"the board {board} was taken out: {reason}"
        case BoardBack(board):
            sentence = f"the board {board} is back"
        case BoardNote(board, text):
            sentence = f"the board {board}: {text}"
    return sentence


class LiveProgress:
    """A line that is redrawn: tried of how many, the time left, the best so far."""

    def __init__(self, stream: TextIO) -> None:
        self._progress = Progress(
            BarColumn(bar_width=10),
            MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=7)),
            TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True, min_width=5)),
            TextColumn("{task.fields[best]}", table_column=Column(no_wrap=True)),
            console=Console(file=stream),
            transient=True,
        )
        self._task = self._progress.add_task("", best="")
        self._estimated = False

    def __call__(self, event: Event) -> None:
        """Redraw the line."""
        if isinstance(event, RunEnded):
            self._progress.stop()
            if event.reason == "failed":  # no table follows
                best = self._progress.tasks[self._task].fields["best"]
                self._progress.console.print(best, markup=False, highlight=False)
            return
        if isinstance(event, BoardEvent):
            self._progress.console.print(_board_sentence(event), markup=False, highlight=False)
            return
        standing = event.standing
        if isinstance(event, RunStarted):
            self._estimated = event.estimated
            self._progress.start()
        elif event.measurement.status == "board":
            self._progress.console.print(f"board: {event.measurement.reason}", markup=False)
        self._progress.update(
            self._task,
            completed=standing.tried,
            total=standing.trials,
            best=_best_text(standing, self._estimated),
        )


def _best_text(standing: Standing, estimated: bool) -> str:
    if standing.best is None:
        return "nothing valid yet"
    config, time_s = standing.best
    text = f"best {time_text(time_s)}{' (estimated)' if estimated else ''}"
    if standing.speedup is not None:
        text += f", {speedup_text(standing.speedup)} the default"
    return f"{text}: {short_config(config)}"
