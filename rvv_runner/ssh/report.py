"""Parses the report that a job leaves on the board."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

from rvv_runner.board_queue import BoardQueue, parse_queue

__all__ = ["JobReport", "Outcome", "is_whole", "parse_job_report"]

Outcome = Literal["done", "busy", "no-lock", "missing"]


@dataclass(frozen=True)
class JobReport:
    """The outcome of a job.

    Args:
        outcome: "done" if it ran, even if the run failed; otherwise why it did not run.
        limit_s: time limit of the timed run, None if it did not run.
        waited_s: how long it waited for other jobs.
        queue: who held the lock and who waited for it when this job came; None if nobody did.
        cooled_s: how long it let the board cool down.
        status: the run's exit status, 128 and more for a signal; None if it did not run, or was
            killed because its time was up.
        out_of_time: whether it was killed because its time was up.
        stdout: what the timed run printed, up to the limit.
        stderr: likewise, "" if a launcher's status is 0.
        left_behind: number of processes that it left running, which were killed.
        conditions: of the board, by name, each with the lines of the system's files.
        counts: the output of perf for each group of events, without and with one timed run.
        program_counts: the output of perf for a program that is no launcher, or "".
    """

    outcome: Outcome
    limit_s: int | None = None
    waited_s: float = 0.0
    queue: BoardQueue | None = None
    cooled_s: float = 0.0
    status: int | None = None
    out_of_time: bool = False
    stdout: str = ""
    stderr: str = ""
    left_behind: int = 0
    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counts: tuple[tuple[str, str], ...] = ()
    program_counts: str = ""


# Exit statuses of timeout(1) if the time was up: 124, or 137 if it had to kill; busybox's gives
# 143. A program may end with them too; then it took less than the limit, up to the clock's
# resolution.
_OUT_OF_TIME = (124, 137, 143)
_CLOCK_STEPS = 2


def is_whole(text: str, job: str) -> bool:
    """Whether the text has the complete report of the job with this id."""
    return f"\n--{job} end " in text


def parse_job_report(text: str, job: str) -> JobReport:
    """The report of the job with this id; text before it is ignored.

    Raises:
        ValueError: if the text does not have a complete report of that job.
    """
    _, *rest = text.split(f"\n--{job} ")
    sections = [(name, body) for name, _, body in (section.partition("\n") for section in rest)]
    last = sections[-1][0] if sections else ""
    if not last.startswith("end "):
        raise ValueError("the job's report is not complete")
    outcome = last.removeprefix("end ")
    if outcome not in get_args(Outcome):
        raise ValueError(f"the job's report has the outcome {outcome}")
    parts = {"err": "", **dict(sections)}
    if outcome != "done":
        return JobReport(cast(Outcome, outcome), queue=parse_queue(parts.get("head", "")))
    missing = [name for name in ("head", "facts", "out") if name not in parts]
    if missing:
        raise ValueError(f"the job's report lacks {' and '.join(missing)}")
    facts: dict[str, list[str]] = {}
    for line in f"{parts['head']}\n{parts['facts']}".splitlines():
        name, _, value = line.partition(" ")
        facts.setdefault(name, []).append(value)
    status, limit_s = int(_only(facts, "status")), int(_only(facts, "limit"))
    ran_to_limit = int(_only(facts, "run.took")) + _CLOCK_STEPS >= 100 * limit_s
    out_of_time = status in _OUT_OF_TIME and ran_to_limit
    return JobReport(
        outcome="done",
        limit_s=limit_s,
        waited_s=int(_only(facts, "waited")) / 100,
        queue=parse_queue(parts["head"]),
        cooled_s=int(_only(facts, "cooled")) / 100,
        status=None if out_of_time else status,
        out_of_time=out_of_time,
        stdout=parts["out"],
        stderr=parts["err"],
        left_behind=int(_only(facts, "left_behind")),
        conditions={name: tuple(values) for name, values in facts.items() if "." in name},
        counts=_counts(sections),
        program_counts=parts.get("counts", ""),
    )


def _only(facts: Mapping[str, list[str]], name: str) -> str:
    values = facts.get(name, [])
    if len(values) != 1:
        raise ValueError(f"the job's report has {len(values)} entries {name}")
    return values[0]


def _counts(sections: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """perf's outputs for the groups whose two runs, one after the other, both succeeded."""
    well = [
        (name, body)
        for (name, body), (after, _) in itertools.pairwise(sections)
        if after == "counted"
    ]
    without = [body for name, body in well if name == "counts-0"]
    with_one = [body for name, body in well if name == "counts-1"]
    return tuple(zip(without, with_one, strict=False))
