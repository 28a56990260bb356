"""Finds out which of a board file's events the board can count, and which of them together."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rvv_runner.perf import (
    counts_of_one_run,
    event_argument,
    parse_stat_csv,
    without_modifiers,
)
from rvv_runner.ssh.report import JobReport
from rvv_runner.ssh.session import Session

__all__ = ["Counting", "count_events", "find_countable"]

_PERF_LIMIT_S = 20.0


@dataclass(frozen=True)
class Counting:
    """The events that are counted on a board.

    Args:
        groups: events as perf takes them; those of a group are counted at the same time.
        names: the board file's name of each event, by perf's name without modifiers.
        refused: names of the events that the board cannot count.
        problem: what perf said where it does not work at all, or "".
    """

    groups: tuple[tuple[str, ...], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    problem: str = ""


def find_countable(session: Session, events: Mapping[str, int | str]) -> Counting:
    """Try every event, then put them into as few groups as the board's counters allow.

    Raises:
        LinkLost: where the connection ends.
    """
    problem = _problem(session)
    if problem:
        return Counting(refused=tuple(events), problem=problem)
    arguments = {name: event_argument(event) for name, event in events.items()}
    names = {without_modifiers(argument): name for name, argument in arguments.items()}
    if events and _fit(session, list(arguments.values())):
        return Counting((tuple(arguments.values()),), names)
    refused = []
    groups: list[list[str]] = []
    for name, argument in arguments.items():
        if not _fit(session, [argument]):
            refused.append(name)
        elif groups and _fit(session, [*groups[-1], argument]):
            groups[-1].append(argument)
        else:
            groups.append([argument])
    return Counting(tuple(map(tuple, groups)), names, tuple(refused))


def count_events(report: JobReport, counting: Counting) -> dict[str, float]:
    """Counts of one run of the grid, by the board file's names; what is not known is absent."""
    counters: dict[str, float] = {}
    for without, with_one in report.counts:
        counted = counts_of_one_run(parse_stat_csv(without), parse_stat_csv(with_one))
        counters |= {
            counting.names[event]: value
            for event, value in counted.items()
            if event in counting.names
        }
    return counters


def _problem(session: Session) -> str:
    """What keeps this user from counting anything, by an event that every Linux has."""
    result = session.run(_perf(["task-clock"]), _PERF_LIMIT_S)
    if parse_stat_csv(result.output):
        return ""
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    return lines[0] if lines else f"perf ended with status {result.status}"


def _fit(session: Session, events: Sequence[str]) -> bool:
    """Whether all of the events are counted, all of the time, when asked for together."""
    counts = parse_stat_csv(session.run(_perf(events), _PERF_LIMIT_S).output)
    asked = [counts.get(without_modifiers(event)) for event in events]
    return all(count is not None and count.is_whole for count in asked)


def _perf(events: Sequence[str]) -> str:
    command = ["perf", "stat", "-x", ";", "-o", "/dev/stdout", "-e", ",".join(events), "--", "true"]
    return f"env LC_ALL=C {shlex.join(command)}"
