"""Finds the events that a board can count, and those that it can count at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rvv_runner.perf import event_argument, parse_stat_csv, without_modifiers

__all__ = ["Counting", "find_groups"]


@dataclass(frozen=True)
class Counting:
    """The events that are counted on a board.

    Args:
        groups: events as perf takes them; the events of a group are counted at the same time.
        names: the board file's name of each event, by perf's name without modifiers.
        refused: names of the events that the board cannot count.
        problem: perf's message if it does not work at all, or "".
    """

    groups: tuple[tuple[str, ...], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    problem: str = ""


def find_groups(count: Callable[[Sequence[str]], str], events: Mapping[str, int | str]) -> Counting:
    """Try every event, then form as few groups as the board's counters allow.

    Args:
        count: runs `perf stat -x ";"` with these events on a short program; returns its output.
        events: each event as perf takes it, by name.
    """
    problem = _problem(count)
    if problem:
        return Counting(refused=tuple(events), problem=problem)
    arguments = {name: event_argument(event) for name, event in events.items()}
    names = {without_modifiers(argument): name for name, argument in arguments.items()}
    if events and _fit(count, list(arguments.values())):
        return Counting((tuple(arguments.values()),), names)
    refused = []
    groups: list[list[str]] = []
    for name, argument in arguments.items():
        if not _fit(count, [argument]):
            refused.append(name)
        elif groups and _fit(count, [*groups[-1], argument]):
            groups[-1].append(argument)
        else:
            groups.append([argument])
    return Counting(tuple(map(tuple, groups)), names, tuple(refused))


def _problem(count: Callable[[Sequence[str]], str]) -> str:
    """What prevents this user from counting; tried with an event that every Linux has."""
    output = count(["task-clock"])
    if parse_stat_csv(output):
        return ""
    # Above its message, perf prints "Error:" on a line of its own.
    lines = [line.strip().rstrip(".") for line in output.splitlines()]
    said = [line for line in lines if line and not line.endswith(":")]
    return said[0] if said else "perf counts nothing and prints no error"


def _fit(count: Callable[[Sequence[str]], str], events: Sequence[str]) -> bool:
    """Whether all events are counted for the whole time, if they are requested together."""
    counts = parse_stat_csv(count(events))
    asked = [counts.get(without_modifiers(event)) for event in events]
    return all(one is not None and one.is_whole for one in asked)
