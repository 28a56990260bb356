"""What tuning a program prints: a line after each run of a task, and a table at the end."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TextIO

from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from engine.programs.program_share import WholeProgram
from engine.programs.standing import (
    TaskStanding,
    measured_share,
    program_times_s,
    states_of,
)
from engine.results.fields import field_line
from engine.results.units import counted, short_config, speedup_text, time_text
from engine.study.location import DEFAULT_STORAGE, shown_storage
from foundation.console import EscapingConsole
from foundation.printing import say, wrapped

__all__ = ["print_change", "print_program", "program_record"]

_LARGE_SHARE = 0.1  # of the program's time

_UNCONFIRMED = (
    "what was faster in its trials does not count yet: run the command again, or give it more time"
)


def print_change(standings: Sequence[TaskStanding], number: int, stream: TextIO) -> None:
    """Say how a task stands, and the program with it."""
    standing = standings[number]
    if not stream.isatty():
        say(field_line({**_fields(standing), **_program_fields(standings)}), file=stream)
        return
    if _reason(standing):
        say(wrapped(f"{standing.task.label}: {_reason(standing)}"), file=stream)
        return
    before_s, after_s = program_times_s(standings)
    share = measured_share(standings)
    line = (
        f"{standing.task.label}: {counted(standing.tried, 'trial')}, {_times(standing)}"
        f"{' (not compared in turns yet)' if standing.is_unconfirmed else ''}; "
        f"program {time_text(before_s)} -> {time_text(after_s)}"
        f"{'' if share == 1.0 else f' (estimate: {share:.0%} of it measured)'}"
    )
    say(wrapped(line), file=stream)


def print_program(
    standings: Sequence[TaskStanding], stream: TextIO, whole: WholeProgram | None = None
) -> None:
    """Print a table on a terminal, otherwise lines of key=value fields separated by tabs.

    Args:
        standings: of the tasks.
        stream: to print on.
        whole: what is known of the program around its kernels.
    """
    program = {**_program_fields(standings), **_whole_fields(standings, whole)}
    standings = _most_saved_first(standings)
    if not stream.isatty():
        for standing in standings:
            say(field_line(_fields(standing)), file=stream)
        say(field_line({**program, "speedup": _program_speedup(standings)}), file=stream)
        return
    console = EscapingConsole(file=stream)
    console.print(_table(standings))
    say(wrapped(_program_text(standings)), file=stream)
    if whole is not None:
        say(wrapped(whole.text(_program_speedup(standings))), file=stream)
    for standing in standings:
        if _reason(standing):
            how = "not tuned" if standing.best_s is None else "tuned in part"
            say(wrapped(f"{how}: {standing.task.label}: {_reason(standing)}"), file=stream)
    _print_unconfirmed(standings, stream)
    _print_unreached(standings, stream)
    _print_short_lists(standings, stream)
    _print_studies(standings, stream)


def _most_saved_first(standings: Sequence[TaskStanding]) -> list[TaskStanding]:
    """The task that saves most of the program's time first; of those that save none, the longest.

    A large gain of a task that takes next to no time comes behind a small one of a long task.
    """

    def rank(place: int) -> tuple[float, float]:
        state = states[place]
        saved_s = state.launches * (state.deployed_s - state.best_s)
        return (-saved_s, -state.launches * state.best_s)

    states = states_of(standings, confirmed=True)
    return [standings[place] for place in sorted(range(len(standings)), key=rank)]


def _program_text(standings: Sequence[TaskStanding]) -> str:
    """The program's time before and after, and which part of it is an estimate."""
    before_s, after_s = program_times_s(standings)
    share = measured_share(standings)
    notes = [speedup_text(before_s / after_s)]
    notes += ["estimated"] if any(map(_is_estimated, standings)) else []
    text = f"time of the program's kernels: {time_text(before_s)} -> {time_text(after_s)}"
    if share == 1.0:
        return f"{text} ({', '.join(notes)})"
    return (
        f"{text} ({', '.join(notes)}); this is an estimate: {share:.1%} of the time is in tasks "
        "that were measured on this device, and the rest is scaled from the captured times"
    )


def _print_studies(standings: Sequence[TaskStanding], stream: TextIO) -> None:
    """The name of each task's study, with the commands that take it."""
    tuned = [(one.task.label, one.result) for one in standings if one.result is not None]
    if not tuned:
        return
    storage = tuned[0][1].storage
    where = [] if storage == DEFAULT_STORAGE else ["--storage", shown_storage(storage)]
    command = shlex.join(["rvv-tune", "report", "STUDY", *where])
    say(f"studies, for `{command}`, explain and export:", file=stream)
    for label, result in tuned:
        say(f"  {label}: {shlex.quote(result.study)}", file=stream)


def _print_unconfirmed(standings: Sequence[TaskStanding], stream: TextIO) -> None:
    """Name the tasks whose fastest trials count for nothing, since no comparison was made."""
    labels = ", ".join(one.task.label for one in standings if one.is_unconfirmed)
    if labels:
        say(wrapped(f"not compared in turns: {labels}: {_UNCONFIRMED}"), file=stream)


def _print_unreached(standings: Sequence[TaskStanding], stream: TextIO) -> None:
    """Name the tasks to which the budget did not come, with their share of the program's time."""
    for why in dict.fromkeys(filter(None, map(_not_reached, standings))):
        numbers = [n for n, standing in enumerate(standings) if _not_reached(standing) == why]
        labels = ", ".join(standings[number].task.label for number in numbers)
        share = _share(standings, numbers)
        say(wrapped(f"not reached, {share:.1%} of the time: {labels}: {why}"), file=stream)


def _print_short_lists(standings: Sequence[TaskStanding], stream: TextIO) -> None:
    """Name the tasks that are done since their autotuners list no more, if they take long."""
    for number, standing in enumerate(standings):
        share = _share(standings, [number])
        if standing.has_tried_list and share >= _LARGE_SHARE:
            # A count would not be that of the trials: configurations may differ in warps alone.
            say(
                wrapped(
                    f"{standing.task.label}, {share:.1%} of the time: all that its autotuner lists "
                    "was tried: --widen tries others"
                ),
                file=stream,
            )


def _share(standings: Sequence[TaskStanding], numbers: Sequence[int]) -> float:
    """What part of the program's time some tasks take, by their positions."""
    times_s = [state.launches * state.best_s for state in states_of(standings, confirmed=True)]
    return sum(times_s[number] for number in numbers) / (sum(times_s) or 1.0)


def program_record(
    standings: Sequence[TaskStanding], whole: WholeProgram | None = None
) -> dict[str, object]:
    """The same for --json."""
    program = {**_program_fields(standings), **_whole_fields(standings, whole)}
    return {"tasks": [_fields(one) for one in standings], **program}


def _program_fields(standings: Sequence[TaskStanding]) -> dict[str, float]:
    before_s, after_s = program_times_s(standings)
    return {
        "program_before_s": before_s,
        "program_s": after_s,
        "measured_share": measured_share(standings),
    }


def _program_speedup(standings: Sequence[TaskStanding]) -> float:
    before_s, after_s = program_times_s(standings)
    return before_s / after_s


def _whole_fields(
    standings: Sequence[TaskStanding], whole: WholeProgram | None
) -> dict[str, float]:
    """The kernels' share of the program, and what that makes of their speed-up."""
    if whole is None:
        return {}
    speedup = whole.speedup(_program_speedup(standings))
    estimate = {} if speedup is None else {"whole_program_speedup": speedup}
    return {"captured_share": whole.share.steady, **estimate}


def _table(standings: Sequence[TaskStanding]) -> Table:
    table = Table(box=SIMPLE)
    table.add_column("task", overflow="fold")
    for name in ("launches", "trials", "deployed", "best", "gain"):
        table.add_column(name, justify="right")
    table.add_column("configuration", min_width=len("configuration"), overflow="fold")
    for standing in standings:
        table.add_row(
            escape(standing.task.label),
            str(standing.task.launches),
            str(standing.tried),
            _time(standing.deployed_s),
            _time(standing.best_s),
            speedup_text(_speedup(standing)),
            escape(_config(standing)),
        )
    return table


def _fields(standing: TaskStanding) -> dict[str, object]:
    fields = {
        "task": standing.task.label,
        "key": standing.task.key,
        "launches": standing.task.launches,
        "tried": standing.tried,
        "deployed_s": standing.deployed_s,
        "time_s": standing.best_s,
        "speedup": _speedup(standing),
        "compared_in_turns": standing.is_compared if _may_compare(standing) else None,
        "estimated": _is_estimated(standing),
        "config": _config(standing) or None,
        "study": None if standing.result is None else standing.result.study,
        "refusal": _reason(standing) or None,
        "not_reached": _not_reached(standing) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _reason(standing: TaskStanding) -> str:
    """Why a task has no winner: it cannot be tuned, or what was tried failed; "" if it has one."""
    if standing.refusal or standing.result is None or standing.best_s is not None:
        return standing.refusal
    reasons = standing.result.summary.first_reasons
    return "; ".join(f"{status}: {reason}" for status, reason in reasons.items())


def _not_reached(standing: TaskStanding) -> str:
    """Why a task that can be tuned has no trial; "" if it has one, or cannot be tuned."""
    if standing.refusal or standing.tried:
        return ""
    if standing.size == 1 and not standing.waits:
        return "nothing varies in it, and the run ended before it was measured"
    if standing.waits:
        return "the run ended before it was examined: run the command again, or give it more time"
    return "the run ended before its first trial: run the command again, or give it more time"


def _times(standing: TaskStanding) -> str:
    return f"{_time(standing.deployed_s)} -> {_time(standing.best_s)}"


def _time(time_s: float | None) -> str:
    return "-" if time_s is None else time_text(time_s)


def _speedup(standing: TaskStanding) -> float | None:
    if standing.deployed_s is None or not standing.best_s:
        return None
    return standing.deployed_s / standing.best_s


def _may_compare(standing: TaskStanding) -> bool:
    return standing.is_noisy and standing.best_s is not None


def _is_estimated(standing: TaskStanding) -> bool:
    return standing.result is not None and standing.result.summary.estimated


def _config(standing: TaskStanding) -> str:
    return "" if standing.to_use is None else short_config(standing.to_use.config)
