"""Counts events on a board over SSH: which ones it can count, and the counts of a job."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from rvv_runner.perf import counts_of_one_run, parse_stat_csv
from rvv_runner.perf_groups import Counting, find_groups
from rvv_runner.ssh.report import JobReport
from rvv_runner.ssh.session import Session

__all__ = ["count_events", "find_countable"]

_PERF_LIMIT_S = 20.0


def find_countable(session: Session, events: Mapping[str, int | str]) -> Counting:
    """The events that the board can count, in groups.

    Raises:
        LinkLost: if the connection ends.
    """
    return find_groups(lambda group: session.run(_perf(group), _PERF_LIMIT_S).output, events)


def count_events(report: JobReport, counting: Counting) -> dict[str, float]:
    """Counts of one run of the grid, by the board file's names; unknown counts are absent."""
    counters: dict[str, float] = {}
    for without, with_one in report.counts:
        counted = counts_of_one_run(parse_stat_csv(without), parse_stat_csv(with_one))
        counters |= {
            counting.names[event]: value
            for event, value in counted.items()
            if event in counting.names
        }
    return counters


def _perf(events: Sequence[str]) -> str:
    command = ["perf", "stat", "-x", ";", "-o", "/dev/stdout", "-e", ",".join(events), "--", "true"]
    return f"env LC_ALL=C {shlex.join(command)}"
