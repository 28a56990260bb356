"""Prints what a real board counted of several configurations: events, which are no causes."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import SIMPLE
from rich.table import Table

from engine.results.units import count_text, spaced_config
from engine.run.counters import CYCLES, counters_of
from engine.study.stored_trial import StoredTrial
from foundation.console import EscapingConsole

__all__ = ["print_counted"]

_INSTRUCTIONS = "instructions"
_FIRST = (CYCLES, _INSTRUCTIONS)


def print_counted(trials: Mapping[str, StoredTrial], console: EscapingConsole) -> None:
    """Print the counters of each trial side by side, and what follows from them.

    Args:
        trials: by role, the winner first, whose counters are not empty.
        console: where to print.
    """
    for label, trial in trials.items():
        console.print(f"{label}: {spaced_config(trial.config)}", highlight=False)
    counters = {label: counters_of(trial) for label, trial in trials.items()}
    console.print(_table(counters))
    (_, winner), *others = counters.items()
    for label, other in others:
        if all(event in counts for event in _FIRST for counts in (winner, other)):
            console.print(_factors(label, winner, other), highlight=False, markup=False)


def _table(counters: Mapping[str, Mapping[str, float]]) -> Table:
    """Events in rows, with their ratio to the winner's; a count that is not known is a dash."""
    table = Table(title="Events of one run", box=SIMPLE, title_style="bold")
    table.add_column("event")
    winner, *_ = counters.values()
    for label in counters:
        table.add_column(label, justify="right", no_wrap=True)
    for event in sorted(winner, key=lambda event: (event not in _FIRST, event != CYCLES, event)):
        cells = [_cell(counts.get(event), winner[event]) for counts in counters.values()]
        table.add_row(event, *cells)
    return table


def _cell(count: float | None, winners: float) -> str:
    if count is None:
        return "-"
    ratio = f"{count / winners:7.2f}x" if winners else " " * 8
    return f"{count_text(count)} {ratio}"


def _factors(label: str, winner: Mapping[str, float], other: Mapping[str, float]) -> str:
    """The ratio of cycles as that of instructions times that of cycles per instruction."""
    cycles, instructions = (other[event] / winner[event] for event in _FIRST)
    return (
        f"the {label} takes {cycles:.2f} times the winner's cycles: {instructions:.2f} times the "
        f"instructions, at {cycles / instructions:.2f} times the cycles each"
    )
