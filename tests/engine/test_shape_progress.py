"""Progress of a job: a bar for each shape on a terminal, and plain lines elsewhere."""

from __future__ import annotations

import io
import re

import pytest

from engine.jobs.shape_progress import ShapeProgress
from engine.run.events import RunStarted, Standing, TrialFinished
from foundation.config import Config
from rvv_runner.measurement import Measurement

CONFIG = Config({"BLOCK_SIZE": 16})
STARTED = RunStarted(Standing(0, 2, None, None), estimated=True)
MEASURED = Measurement(status="correct", times_s=(2e-3,), estimated=True)
FINISHED = TrialFinished(CONFIG, MEASURED, None, Standing(1, 2, (CONFIG, 2e-3), 3e-3))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def last_screen(stream: Terminal) -> list[str]:
    """The last lines drawn, without the terminal's codes."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    return [line for line in re.split(r"[\r\n]+", text) if line.strip()][-2:]


def test_each_shape_keeps_its_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    with ShapeProgress(stream) as progress:
        first = progress.begin("M=8")
        first(STARTED)
        first(FINISHED)
        progress.end(1)
        progress.begin("M=16")  # its study was complete before
        progress.end(7)
    first_line, second_line = last_screen(stream)
    assert "M=8" in first_line
    assert "1/1" in first_line
    assert "best 2 ms (estimated, no error band), 1.50x the default" in first_line
    assert "M=16" in second_line
    assert "7/7" in second_line


def test_elsewhere_a_line_names_the_shape() -> None:
    stream = io.StringIO()
    with ShapeProgress(stream) as progress:
        listener = progress.begin("M=8")
        listener(STARTED)
        listener(FINISHED)
        progress.end(1)
    name, trial = stream.getvalue().splitlines()
    assert name == "shape=M=8"
    assert trial.startswith("trial=1/2\tstatus=correct")
