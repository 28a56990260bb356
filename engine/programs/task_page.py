"""The tasks of a capture as one HTML page that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from engine.programs.program_share import share_text
from engine.programs.task_table import HEADS, TaskRow, cells, coverage_text, mark_texts
from kernels.captured.task_file import Capture

__all__ = ["task_page"]


def task_page(captured: Capture, rows: Sequence[TaskRow]) -> str:
    """The page: the table, and for each task what it was launched with."""
    environment = Environment(
        loader=PackageLoader("engine.programs", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("tasks.html.j2").render(
        captured=captured,
        heads=HEADS,
        rows=[(row, cells(row)) for row in rows],
        marks=mark_texts(rows),
        coverage=coverage_text(rows),
        share=share_text(captured),
        style=(files("engine.reports") / "report.css").read_text(),
    )
