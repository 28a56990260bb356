"""The closing tables of a study: the best, why the winner won, what failed, where everything is."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from engine.results.front import front_lines, front_table
from engine.results.leaders import leader_lines, leaders_table, noise_sentence
from engine.results.shapes import shape_lines, shapes_table
from engine.results.units import count_text, short_config, speedup_text, time_text
from engine.run.summary import Summary, counters_of
from engine.run.tuning import TuningResult
from engine.study.location import artifacts_dir
from engine.workers.board_events import BoardRecord

__all__ = ["print_result", "print_tables"]

CYCLES = "u_mode_cycle"

_END = {
    "trials": "",
    "exhausted": "; there are no more valid configurations",
    "converged": "; little more is to be expected",
    "timeout": "; the time was up",
    "interrupted": "; stopped early, and the same command goes on from here",
    "failed": "; ended by an error, and the same command goes on from here",
}


def print_result(result: TuningResult, stream: TextIO) -> None:
    """Print tables on a terminal, and lines of key=value fields separated by tabs elsewhere."""
    if stream.isatty():
        print_tables(result, Console(file=stream))
    else:
        for line in _lines(result):
            print(line, file=stream)


def _places(result: TuningResult) -> dict[str, str]:
    """Where everything was written, by what it is."""
    places = {
        "study": result.study,
        **({} if result.history is None else {"warm_started_from": result.history}),
        **_other_studies(result),
        "storage": result.storage,
        "builds": str(result.builds / result.problem.spec.name),
        "dashboard": _dashboard_command(result.storage),
    }
    if result.summary.winner is not None:
        places["winner"] = str(result.summary.winner.attributes.get("run_command", "-"))
    return places


def _dashboard_command(storage: str) -> str:
    """The dashboard of the environment that this program runs in, on this storage."""
    program = Path(sys.executable).with_name("optuna-dashboard")
    if program.is_relative_to(Path.cwd()):
        program = program.relative_to(Path.cwd())
    return shlex.join([str(program), storage, "--artifact-dir", str(artifacts_dir(storage))])


def _other_studies(result: TuningResult) -> dict[str, str]:
    """Says why a command that was run before began anew, where it did."""
    if not result.other_studies:
        return {}
    return {"studies_with_other_toolchain": ", ".join(result.other_studies)}


def print_tables(result: TuningResult, console: Console) -> None:
    """The tables for people, and where everything was written."""
    summary = result.summary
    if summary.best:
        console.print(_best_table(summary))
    elif summary.statuses:
        console.print("No configuration was valid.")
    else:
        console.print("No configuration was tried.")
    if summary.shapes:
        console.print(shapes_table(summary.shapes, estimated=summary.estimated))
    if summary.front:
        console.print(front_table(summary))
    if summary.comparison is not None:
        console.print(leaders_table(summary.comparison))
        console.print(noise_sentence(summary.comparison), highlight=False)
    if summary.changes:
        console.print(_changes_table(summary))
    if len(result.ended.boards) > 1 or any(record.faults for record in result.ended.boards):
        console.print(_boards_table(result.ended.boards))
    console.print(f"tried: {_counts(summary.statuses)}{_END[result.ended.reason]}", highlight=False)
    for status, reason in summary.first_reasons.items():
        console.print(f"first {status}: {escape(reason)}", soft_wrap=True, highlight=False)
    if result.forbidden:
        forbidden = _counts(result.forbidden)
        console.print(f"combinations that a rule forbids: {forbidden}", highlight=False)
    for note in result.notes:
        console.print(f"note: {escape(note)}", soft_wrap=True, highlight=False)
    for what, place in _places(result).items():
        console.print(f"{what}: {escape(place)}", soft_wrap=True, highlight=False)


def _best_table(summary: Summary) -> Table:
    label = " (estimated)" if summary.estimated else ""
    table = Table(title=f"The best of {sum(summary.statuses.values())} configurations", box=SIMPLE)
    table.add_column("")
    table.add_column("configuration", no_wrap=True)
    time = "mean time" if summary.shapes else "time"
    for heading in (f"{time}{label}", f"cycles{label}", "speed-up"):
        table.add_column(heading, justify="right")
    rows = list(summary.best)
    if summary.default is not None and summary.default not in rows:
        rows.append(summary.default)
    for rank, trial in enumerate(rows, start=1):
        cycles = counters_of(trial).get(CYCLES)
        table.add_row(
            "default" if trial is summary.default else str(rank),
            short_config(trial.config),
            time_text(trial.time_s or 0.0),
            "-" if cycles is None else count_text(cycles),
            speedup_text(summary.speedup(trial)),
        )
    return table


def _boards_table(records: Sequence[BoardRecord]) -> Table:
    table = Table(title="What each board did", box=SIMPLE)
    table.add_column("board")
    for heading in ("measured", "faults", "busy"):
        table.add_column(heading, justify="right")
    for record in records:
        busy = f"{record.busy_s:.0f} s"
        table.add_row(escape(record.board), str(record.measured), str(record.faults), busy)
    return table


def _changes_table(summary: Summary) -> Table:
    title = "Where the winner differs most from the default"
    table = Table(title=title, box=SIMPLE)
    table.add_column("event")
    for heading in ("default", "winner", "ratio"):
        table.add_column(heading, justify="right")
    for change in summary.changes:
        table.add_row(
            change.name,
            count_text(change.default),
            count_text(change.winner),
            f"{change.ratio:.3g}",
        )
    return table


def _lines(result: TuningResult) -> list[str]:
    summary = result.summary
    lines = [f"ended={result.ended.reason}\ttried={result.ended.tried}"]
    for rank, trial in enumerate(summary.best, start=1):
        fields = [f"best={rank}", f"time_s={trial.time_s:.9f}"]
        fields.append(f"estimated={'yes' if summary.estimated else 'no'}")
        cycles = counters_of(trial).get(CYCLES)
        if cycles is not None:
            fields.append(f"cycles={cycles:.0f}")
        speedup = summary.speedup(trial)
        if speedup is not None:
            fields.append(f"speedup={speedup:.3f}")
        lines.append("\t".join([*fields, f"config={trial.config}"]))
    lines += shape_lines(summary.shapes)
    lines += front_lines(summary)
    lines += [] if summary.comparison is None else leader_lines(summary.comparison)
    lines += [
        f"counter={change.name}\tdefault={change.default:.0f}\twinner={change.winner:.0f}"
        f"\tratio={change.ratio:.3f}"
        for change in summary.changes
    ]
    lines += [
        f"board={record.board}\tmeasured={record.measured}\tfaults={record.faults}"
        f"\tbusy_s={record.busy_s:.3f}"
        for record in result.ended.boards
    ]
    lines += [f"status={status}\tcount={count}" for status, count in summary.statuses.items()]
    lines += [
        f"first_reason={status}\t{reason}" for status, reason in summary.first_reasons.items()
    ]
    lines += [f"rule={rule}\tcount={count}" for rule, count in result.forbidden.items()]
    lines += [f"note={note}" for note in result.notes]
    lines += [f"{what}={place}" for what, place in _places(result).items()]
    return lines


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"
