"""Prints where cycles went, of several configurations side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.box import SIMPLE
from rich.table import Table

from engine.explained.explained import CAUSE_MEANINGS, Explained
from engine.explained.spent import gaps, line_text, main_cause, place_text
from engine.results.units import count_text, spaced_config
from foundation.console import EscapingConsole
from rvv_runner.usage import cores_in
from triton_rvv.codegen.line_table import SourceLine

__all__ = ["print_explained"]

_MOST_LINES = 10
_LEAST_SHARE = 0.005  # a line with less of the cycles of every configuration is left out
_MOST_DIFFERENCES = 3
_ANY_WIDTH = 1000


def print_explained(
    explained: Sequence[Explained], estimate: str, console: EscapingConsole
) -> None:
    """Print the tables, and what they come to in words.

    Args:
        explained: the winner first.
        estimate: what to say of the cycles: "estimated, ±24%".
        console: where to print.
    """
    for one in explained:
        console.print(f"{one.label}: {spaced_config(one.config)}", highlight=False)
    console.print(_causes_table(explained, estimate))
    _print_lines(explained, estimate, console)
    for sentence in _sentences(explained):
        console.print(sentence, highlight=False, markup=False)


def _print_lines(explained: Sequence[Explained], estimate: str, console: EscapingConsole) -> None:
    """Print what each source line took; the lines themselves below, where they have no room."""
    lines = _shown_lines(explained)
    table = _lines_table(explained, lines, estimate, line_text)
    room = console.options.update(max_width=_ANY_WIDTH)
    if console.measure(table, options=room).maximum <= console.width:
        console.print(table)
        return
    console.print(_lines_table(explained, lines, estimate, place_text))
    for line in lines:
        console.print(
            line_text(line), highlight=False, markup=False, no_wrap=True, overflow="ellipsis"
        )
    console.print()


def _causes_table(explained: Sequence[Explained], estimate: str) -> Table:
    table = _table(f"{_cycles(explained)} by cause ({estimate})", "cause", explained)
    table.add_column("what the core waited for")
    for cause, meaning in CAUSE_MEANINGS.items():
        if any(one.by_cause.get(cause) for one in explained):
            cells = [_cell(one, one.by_cause.get(cause, 0)) for one in explained]
            table.add_row(cause, *cells, meaning)
    table.add_row("all", *(_cell(one, one.cycles) for one in explained))
    return table


def _shown_lines(explained: Sequence[Explained]) -> list[SourceLine]:
    """The lines that take most of the winner's cycles, and a share that counts of someone's."""
    return [
        line
        for line in explained[0].lines[:_MOST_LINES]
        if any(one.of_line(line) >= _LEAST_SHARE * one.cycles for one in explained)
    ]


def _lines_table(
    explained: Sequence[Explained],
    lines: Sequence[SourceLine],
    estimate: str,
    text: Callable[[SourceLine], str],
) -> Table:
    title = f"{_cycles(explained)} by source line ({estimate})"
    table = _table(title, "line", explained)
    table.add_column("most of the winner's")
    for line in lines:
        cells = [_cell(one, one.of_line(line)) for one in explained]
        table.add_row(text(line), *cells, main_cause(explained[0].by_line[line]))
    return table


def _cycles(explained: Sequence[Explained]) -> str:
    several = cores_in(explained[0].measurement.board) > 1
    return "Cycles of all cores" if several else "Cycles"


def _table(title: str, first: str, explained: Sequence[Explained]) -> Table:
    table = Table(title=title, box=SIMPLE, title_style="bold")
    table.add_column(first)
    for one in explained:
        table.add_column(one.label, justify="right", no_wrap=True)
    return table


def _cell(one: Explained, cycles: float) -> str:
    return f"{count_text(cycles)} {cycles / one.cycles:4.0%}"


def _sentences(explained: Sequence[Explained]) -> list[str]:
    winner = explained[0]
    line = winner.lines[0]
    cause = main_cause(winner.by_line[line])
    found = [
        f"causes account for {winner.accounted:.1%} of the winner's cycles",
        f"the line with the most: {line_text(line)} ({winner.of_line(line) / winner.cycles:.0%}, "
        f"most of it {cause}: {CAUSE_MEANINGS[cause]})",
    ]
    found += [_difference(winner, other) for other in explained[1:]]
    return found + _scattered(winner)


def _scattered(winner: Explained) -> list[str]:
    """Which of the lines in the table load or store elements that are not neighbours in memory."""
    counted = {f"{line.file}:{line.number}": line for line in winner.lines[:_MOST_LINES]}
    found = []
    for access in winner.accesses:
        line = counted.get(access.line)
        if line is None or not access.is_scattered:
            continue
        if winner.of_line(line) >= _LEAST_SHARE * winner.cycles:
            what = "stores to" if access.is_store else "loads from"
            found.append(f"{line_text(line)} {what} {access.address} ({access.kind})")
    return list(dict.fromkeys(found))


def _difference(winner: Explained, other: Explained) -> str:
    """What the other loses, the largest first; and what it saves."""
    more = other.cycles - winner.cycles
    largest = list(gaps(winner.by_cause, other.by_cause).items())[:_MOST_DIFFERENCES]
    listed = ", ".join(f"{cause} {_signed(cycles)}" for cause, cycles in largest)
    than = "more" if more >= 0 else "fewer"
    return (
        f"the {other.label} takes {count_text(abs(more))} cycles {than} "
        f"({more / winner.cycles:+.1%}): {listed}"
    )


def _signed(cycles: float) -> str:
    return f"{'-' if cycles < 0 else '+'}{count_text(abs(cycles))}"
