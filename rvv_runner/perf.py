"""Parses what perf prints: counts, recorded events, and samples by symbol. No side effects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
    "Count",
    "EventList",
    "SymbolSamples",
    "counts_of_one_run",
    "event_argument",
    "parse_evlist",
    "parse_report",
    "parse_reports",
    "parse_stat_csv",
    "parse_stat_json",
    "without_modifiers",
]

_WHOLE_PERCENT = 100.0
_MODIFIER = re.compile(r":[ukhpPGHSDWIe]+$")


@dataclass(frozen=True)
class Count:
    """One event in the output of perf stat.

    Args:
        event: as requested, without the modifiers that perf adds for ordinary users.
        value: the count, or None if perf could not count.
        percent: share of the time in which it was counted; below 100 the value is extrapolated.
    """

    event: str
    value: float | None
    percent: float

    @property
    def is_whole(self) -> bool:
        """Whether it was counted, and for the whole time."""
        return self.value is not None and self.percent >= _WHOLE_PERCENT


@dataclass(frozen=True)
class EventList:
    """An event in a recording.

    Args:
        name: the event that was sampled. It may differ from the requested one: perf falls back
            from cycles to cpu-clock if cycles cannot be sampled.
        attributes: of perf_event_attr, as `perf evlist -v` prints them.
    """

    name: str
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class SymbolSamples:
    """Samples that fell into one function.

    Args:
        symbol: its name, without perf's mark of user or kernel space.
        overhead_percent: share of the event.
        samples: number of samples.
        period: number of events that they stand for.
    """

    symbol: str
    overhead_percent: float
    samples: int
    period: int


def event_argument(event: int | str) -> str:
    """An event of a board file as perf takes it: a raw code as r22, a name unchanged."""
    return f"r{event:x}" if isinstance(event, int) else event


def parse_stat_csv(text: str, separator: str = ";") -> dict[str, Count]:
    """Counts in the output of `perf stat -x SEPARATOR`, by event.

    The fields are value, unit, event, run time in ns, percent of it, and with -r a percentage
    before the run time (perf-stat(1), CSV FORMAT). A `#` line and an empty line come first.
    """
    counts = {}
    for line in text.splitlines():
        fields = line.split(separator)
        if line.startswith("#") or len(fields) < 5:
            continue
        spread = 1 if fields[3].endswith("%") else 0
        count = _count(fields[2], fields[0], fields[4 + spread])
        counts[count.event] = count
    return counts


def parse_stat_json(text: str) -> dict[str, Count]:
    """Counts in the output of `perf stat -j`, one object per line, by event."""
    counts = {}
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        entry = json.loads(line)
        if "event" in entry:  # later versions add lines with only a metric
            count = _count(entry["event"], entry["counter-value"], str(entry["pcnt-running"]))
            counts[count.event] = count
    return counts


def counts_of_one_run(
    without: Mapping[str, Count], with_one: Mapping[str, Count]
) -> dict[str, float]:
    """The counts of one timed run: the difference between a program with it and one without.

    Both counts must be whole, and the difference positive; any other event is left out.
    """
    differences = {}
    for event, more in with_one.items():
        less = without.get(event)
        if less is None or not (less.is_whole and more.is_whole):
            continue
        assert less.value is not None
        assert more.value is not None
        if more.value > less.value:
            differences[event] = more.value - less.value
    return differences


def parse_evlist(text: str) -> list[EventList]:
    """Events in the output of `perf evlist -v`."""
    events = []
    for line in text.splitlines():
        name, colon, rest = line.partition(": ")
        if colon and not name.startswith("#"):
            # "{ sample_period, sample_freq }: 4000" is a union, whose fields share the value.
            attributes = {
                field: value
                for fields, value in re.findall(r"(\w+|\{[^}]*\}): ([^,]*)", rest)
                for field in re.findall(r"\w+", fields)
            }
            events.append(EventList(without_modifiers(name), attributes))
    return events


def parse_report(text: str) -> list[SymbolSamples]:
    """Lines of `perf report --stdio -q -t, -F overhead,sample,period,symbol`, in their order."""
    samples = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",", 3)]
        if len(fields) == 4 and fields[0].endswith("%"):
            symbol = re.sub(r"^\[.\] ", "", fields[3])
            percent, count, period = float(fields[0][:-1]), int(fields[1]), int(fields[2])
            samples.append(SymbolSamples(symbol, percent, count, period))
    return samples


def parse_reports(text: str) -> dict[str, list[SymbolSamples]]:
    """Samples by event, from perf report with --no-group and the options of `parse_report` except
    -q: a table per event, under a line such as "# Samples: 3K of event 'r22'".
    """
    _, *rest = re.split(r"^# Samples: \S+\s+of events? '([^']*)'", text, flags=re.MULTILINE)
    names, tables = rest[::2], rest[1::2]
    return {without_modifiers(name): parse_report(table) for name, table in zip(names, tables)}


def _count(event: str, value: str, percent: str) -> Count:
    """A count; its value may be "<not counted>", or "<not supported>" with 100 percent."""
    number = float(value) if re.fullmatch(r"\d+(\.\d+)?", value) else None
    share = float(percent) if re.fullmatch(r"\d+(\.\d+)?", percent) else 0.0
    return Count(without_modifiers(event), number, share)


def without_modifiers(event: str) -> str:
    """An event's name without its modifiers, as in cycles:u."""
    return _MODIFIER.sub("", event)
