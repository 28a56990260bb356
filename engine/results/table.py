"""The closing tables of a study: the best, why the winner won, what failed, where the files are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from engine.results.advice import advice
from engine.results.busy import busy_sentence
from engine.results.closing_lines import closing_lines, other_studies, places
from engine.results.front import front_table
from engine.results.joint_table import shapes_table
from engine.results.leaders import IN_TURNS, comparison_sentences, leaders_table
from engine.results.paste import measure_command, winner_to_use
from engine.results.robust_table import (
    ROBUST_ORDER,
    robust_sentence,
    robust_table,
)
from engine.results.units import (
    count_text,
    cycles_heading,
    short_config,
    short_names,
    spaced_config,
    speedup_text,
    time_text,
)
from engine.run.counters import CYCLES, counters_of
from engine.run.summary import Summary
from engine.run.tuning import TuningResult
from engine.study.stored_trial import StoredTrial
from engine.workers.board_events import BoardRecord
from foundation.config import Config
from foundation.console import EscapingConsole
from foundation.printing import say
from rvv_runner.usage import cores_text

__all__ = ["print_result", "print_tables"]

_ANY_WIDTH = 1000

_END = {
    "trials": "",
    "exhausted": "; these are all valid configurations",
    "converged": "; the surrogate predicts no further improvement",
    "timeout": "; the time was up",
    "interrupted": "; stopped early; run the same command to resume the study",
    "failed": "; ended by an error; run the same command to resume the study",
}
_LABELS = {
    "winner": "executable of the winner, and its arguments",
    "warm_started_from": "warm-started from",
}


def print_result(result: TuningResult, stream: TextIO) -> None:
    """Print tables on a terminal, otherwise lines of key=value fields separated by tabs."""
    if stream.isatty():
        print_tables(result, EscapingConsole(file=stream))
    else:
        for line in closing_lines(result):
            say(line, file=stream)


def print_tables(result: TuningResult, console: EscapingConsole) -> None:
    """Print the tables, and where everything was written."""
    summary = result.summary
    if summary.winner is not None:
        _print_fitting(console, lambda text: _best_table(result, text), summary.winner.config)
        console.print(escape(advice(summary)), soft_wrap=True, highlight=False)
        for what, line in _pastes(result, summary.winner.config).items():
            console.print(f"{what}: {escape(line)}", soft_wrap=True, highlight=False)
        console.print()
    elif summary.statuses:
        console.print("No configuration was valid.")
    else:
        console.print(escape(advice(summary)), soft_wrap=True, highlight=False)
    if summary.shapes:
        console.print(shapes_table(summary.shapes, summary.estimate_of_all))
    if summary.front:
        _print_fitting(console, lambda text: front_table(summary, text), summary.front[0].config)
    _print_robustness(result, console)
    comparison = summary.comparison
    if comparison is not None:
        _print_fitting(
            console, lambda text: leaders_table(comparison, text), comparison.winner.config
        )
        for sentence in comparison_sentences(comparison):
            console.print(sentence, highlight=False)
    if summary.changes:
        console.print(_changes_table(result))
    if len(result.ended.boards) > 1 or any(record.faults for record in result.ended.boards):
        console.print(_boards_table(result.ended.boards))
    _print_lines(result, console)


def _print_robustness(result: TuningResult, console: EscapingConsole) -> None:
    """Print what the winner loses under other models, and what to measure where that is much."""
    found = result.summary.robustness
    if found is None:
        return
    _print_fitting(console, lambda text: robust_table(found, text), found.winner.config)
    console.print(robust_sentence(found), soft_wrap=True, highlight=False)
    for trial in found.to_measure:
        command = measure_command(result, trial.config, device="BOARD")
        console.print(escape(command), soft_wrap=True, highlight=False)
    console.print()


def _print_lines(result: TuningResult, console: EscapingConsole) -> None:
    """Print what follows the tables: counts, notes, and where everything was written."""
    summary = result.summary
    console.print(f"tried: {_counts(summary.statuses)}{_end_text(result)}", highlight=False)
    busy = busy_sentence(result.ended)
    if busy is not None:
        console.print(busy, highlight=False)
    for status, reason in summary.first_reasons.items():
        console.print(f"first {status}: {escape(reason)}", soft_wrap=True, highlight=False)
    if result.pruned:
        pruned = _counts(result.pruned)
        console.print(f"pruned by rule: {pruned}", soft_wrap=True, highlight=False)
    for note in result.notes:
        console.print(f"note: {escape(note)}", soft_wrap=True, highlight=False)
    for study in other_studies(result):
        console.print(f"another study of this: {escape(study)}", soft_wrap=True, highlight=False)
    for what, place in places(result).items():
        label = _LABELS.get(what, what)
        console.print(f"{label}: {escape(place)}", soft_wrap=True, highlight=False)


def _end_text(result: TuningResult) -> str:
    """Why the run ended, unless it reached the number of trials."""
    left = result.space_size - result.ended.tried
    if result.ended.reason == "exhausted" and left > 0:  # such as faults of a board
        return f"; {left} more had no outcome; run the same command to try them again"
    return _END[result.ended.reason]


def _pastes(result: TuningResult, winner: Config) -> dict[str, str]:
    """Lines to paste, by purpose."""
    to_use = result.summary.to_use
    assert to_use is not None
    use = "use the default" if to_use is result.summary.default else "use the winner"
    return {
        "measure the winner": measure_command(result, winner),
        use: winner_to_use(result, to_use.config),
    }


def _print_fitting(
    console: EscapingConsole,
    table_with: Callable[[Callable[[Config], str]], Table],
    example: Config,
) -> None:
    """Print a table with the parameters' names, shortened if the terminal is too narrow.

    Args:
        console: the terminal.
        table_with: makes the table, given a function that writes a configuration.
        example: one of the configurations.
    """
    table = table_with(spaced_config)
    if console.measure(table, options=console.options.update(max_width=_ANY_WIDTH)).maximum > (
        console.width
    ):
        table = table_with(short_config)
        table.caption = "; ".join(str(c) for c in (table.caption, short_names(example)) if c)
    console.print(table)


def _best_table(result: TuningResult, config_text: Callable[[Config], str]) -> Table:
    summary = result.summary
    label = f"\n({summary.estimate_of_all})" if summary.estimated else ""
    tried = sum(summary.statuses.values())
    title = f"The best of {tried} configuration{'s' if tried > 1 else ''}{_on_cores(result)}"
    if summary.robustness is not None:
        title += ROBUST_ORDER[summary.robustness.robust]
    table = Table(title=title, box=SIMPLE)
    table.add_column("")
    table.add_column("configuration", no_wrap=True)
    time = "mean time" if summary.shapes else "time"
    counted = cycles_heading(result.cores)
    for heading in (f"{time}{label}", f"{counted}{label}", "speed-up"):
        table.add_column(heading, justify="right")
    if summary.comparison is not None:
        table.caption = IN_TURNS
    rows = list(summary.best)
    if summary.default is not None and summary.default not in rows:
        rows.append(summary.default)
    for rank, trial in enumerate(rows, start=1):
        cycles = counters_of(trial).get(CYCLES)
        table.add_row(
            _rank_text(trial, rank, summary),
            config_text(trial.config),
            time_text(summary.time_s(trial) or 0.0),
            "-" if cycles is None else count_text(cycles),
            speedup_text(summary.speedup(trial)),
        )
    return table


def _on_cores(result: TuningResult) -> str:
    return "" if result.cores is None else f" on {cores_text(result.cores)}"


def _rank_text(trial: StoredTrial, rank: int, summary: Summary) -> str:
    text = "default" if trial is summary.default else str(rank)
    return f"{text} tied" if summary.tied(trial) else text


def _boards_table(records: Sequence[BoardRecord]) -> Table:
    table = Table(title="What each board did", box=SIMPLE)
    table.add_column("board")
    for heading in ("measured", "faults", "busy"):
        table.add_column(heading, justify="right")
    for record in records:
        busy = f"{record.busy_s:.0f} s"
        table.add_row(escape(record.board), str(record.measured), str(record.faults), busy)
    return table


def _changes_table(result: TuningResult) -> Table:
    summary = result.summary
    of_all = "" if result.cores in (None, 1) else ", of all cores together"
    table = Table(title=f"What changed from the default to the winner{of_all}", box=SIMPLE)
    table.caption = (
        "Rough cycles: change in count x fewest cycles, and most, per event in the model of the "
        "core (or 1). Events overlap, so they do not add up."
    )
    table.add_column("event")
    for heading in ("default", "winner", "ratio", "rough cycles"):
        table.add_column(heading, justify="right")
    for change in summary.changes:
        table.add_row(
            change.name,
            count_text(change.default),
            count_text(change.winner),
            "-" if change.ratio is None else f"{change.ratio:.3g}",
            " to ".join(dict.fromkeys(map(_signed, (change.cycles, change.most_cycles)))),
        )
    return table


def _signed(cycles: float) -> str:
    return f"{'+' if cycles > 0 else ''}{count_text(cycles)}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"
