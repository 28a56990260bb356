"""The table of a capture's tasks on a terminal, where no name is cut."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from engine.programs.task_table import HEADS, TaskRow, cells
from foundation.console import EscapingConsole

__all__ = ["task_list"]

_TEXTS = ("kernel", "sizes", "types", "deployed")


def task_list(rows: Sequence[TaskRow], console: EscapingConsole) -> Table:
    """One column for each of `HEADS` if the console is wide enough for it.

    If not, names and configurations stand below each other in one column, and break where they
    have to.
    """
    table = Table(*HEADS, box=SIMPLE)
    every = [dict(zip(HEADS, cells(row), strict=True)) for row in rows]
    for texts in every:
        table.add_row(*map(escape, texts.values()))
    if Measurement.get(console, console.options, table).maximum < console.width:
        return table
    numbers = [head for head in HEADS if head not in _TEXTS and head != "task"]
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("task", no_wrap=True)
    table.add_column("kernel", overflow="fold")
    for head in numbers:
        table.add_column(head, justify="right", no_wrap=True)
    for texts in every:
        sizes = f"{texts['sizes']} {texts['types']}".replace(" -", "")
        what = "\n".join([texts["kernel"], sizes, texts["deployed"]])
        table.add_row(texts["task"], escape(what), *(texts[head] for head in numbers))
    return table
