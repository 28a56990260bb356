"""Counts what a user's own program does on a board over SSH, with the board's perf."""

from __future__ import annotations

from collections.abc import Mapping

from rvv_runner.board import BoardError
from rvv_runner.perf import Count, parse_stat_csv, without_modifiers
from rvv_runner.perf_groups import Counting
from rvv_runner.program_counts import ProgramCounts, Scope
from rvv_runner.ssh.counting import find_countable
from rvv_runner.ssh.facts import BoardFacts
from rvv_runner.ssh.report import JobReport
from rvv_runner.ssh.session import Session

__all__ = ["PROGRAM_LIMIT_S", "countable", "counts_of_program"]

PROGRAM_LIMIT_S = 600.0

# perf's own names, which it has for every core; the rest comes from the board file.
_CLOCK = "task-clock"
_COMMON = ("cycles", "instructions", "branch-misses", "L1-dcache-loads", "L1-dcache-load-misses")


def countable(session: Session, facts: BoardFacts, events: Mapping[str, int | str]) -> Counting:
    """What of perf's common events and of the board file's this board can count.

    Raises:
        LinkLost: if the connection ends.
    """
    wanted: dict[str, int | str] = {name: name for name in (_CLOCK, *_COMMON)}
    wanted |= events
    if not facts.has_perf:
        return Counting(refused=tuple(wanted), problem="perf is not installed there")
    return find_countable(session, wanted)


def counts_of_program(report: JobReport, counting: Counting) -> ProgramCounts:
    """The counts of a job that ran a program.

    Raises:
        BoardError: if its time was up.
    """
    if report.out_of_time or report.status is None:
        raise BoardError(f"the program did not end within {report.limit_s} s")
    found = parse_stat_csv(report.program_counts)
    by_name = {name: found.get(without_modifiers(event)) for event, name in counting.names.items()}
    clock = by_name.pop(_CLOCK, None)
    time_s = clock.value / 1e3 if clock is not None and clock.value is not None else None
    values = {name: count.value if count else None for name, count in by_name.items()}
    values |= {name: None for name in counting.refused if name != _CLOCK}
    return ProgramCounts(
        report.status,
        (Scope("the whole program", time_s, values),),
        notes=_notes(counting, by_name),
        stdout=report.stdout,
        stderr=report.stderr,
    )


def _notes(counting: Counting, counts: Mapping[str, Count | None]) -> tuple[str, ...]:
    if counting.problem:
        return (f"no events were counted: {counting.problem}",)
    shared = [
        f"{name} ({count.percent:.0f}%)"
        for name, count in counts.items()
        if count is not None and count.value is not None and not count.is_whole
    ]
    if not shared:
        return ()
    listed = ", ".join(shared)
    return (f"counted for a part of the time and scaled, since counters are few: {listed}",)
