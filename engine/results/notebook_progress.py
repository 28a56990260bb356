"""Progress of a run in a notebook: one output that is redrawn, and goes at the end.

It needs nothing but IPython. The progress bars of rich and tqdm print a warning where the package
ipywidgets is missing.
"""

from __future__ import annotations

from html import escape
from importlib import import_module

from engine.results.progress import best_text, board_sentence, estimate_after
from engine.run.events import (
    Event,
    RunEnded,
    RunStarted,
    StageStarted,
    Standing,
    StudyOpened,
    TrialFinished,
)

__all__ = ["NotebookProgress"]


class NotebookProgress:
    """The stage; then trials done and left, and the best so far."""

    def __init__(self) -> None:
        self._estimate = ""  # of the best so far: "estimated, ±24%"
        self._handle = import_module("IPython.display").DisplayHandle()
        self._handle.display(_bundle("", ""), raw=True)

    def __call__(self, event: Event) -> None:
        """Redraw the output."""
        match event:
            case StageStarted(text):
                self._draw(text)
            case RunStarted(standing):
                self._estimate = estimate_after(event, self._estimate)
                self._show(standing)
            case TrialFinished(_, _, _, standing):
                self._estimate = estimate_after(event, self._estimate)
                self._show(standing)
            case RunEnded():
                self.stop()
            case StudyOpened():
                pass
            case _:
                self._draw(board_sentence(event))

    def stop(self) -> None:
        """Empty the output."""
        self._update("", "")

    def _show(self, standing: Standing) -> None:
        text = f"{standing.tried}/{standing.trials}, {best_text(standing, self._estimate)}"
        bar = f'<progress value="{standing.tried}" max="{standing.trials}"></progress> '
        self._update(text, f"{bar}{escape(text)}")

    def _draw(self, text: str) -> None:
        self._update(text, escape(text))

    def _update(self, text: str, html: str) -> None:
        self._handle.update(_bundle(text, html), raw=True)


def _bundle(text: str, html: str) -> dict[str, str]:
    """What a front end shows, by MIME type."""
    return {"text/plain": text, "text/html": html}
