"""Reads the report that a job leaves on the board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

__all__ = ["JobReport", "Outcome", "parse_job_report"]

Outcome = Literal["done", "busy", "no-lock"]


@dataclass(frozen=True)
class JobReport:
    """What became of a job.

    Args:
        outcome: "done" where it ran, however that ended; otherwise why it did not.
        limit_s: what the timed run was allowed, None where it did not run.
        waited_s: how long the board was taken by somebody else.
        status: the run's exit status, 128 and more for a signal; None where it was killed because
            its time was up, or could not be noted.
        out_of_time: it was killed because its time was up.
        stdout: what the timed run printed, up to the limit.
        stderr: likewise, "" where the status is 0.
        left_behind: how many processes it had left, which were killed.
        conditions: of the board, by name, each as the file or files of the system showed it.
        counts: the output of perf for each group of events, without and with one timed run.
    """

    outcome: Outcome
    limit_s: int | None = None
    waited_s: float = 0.0
    status: int | None = None
    out_of_time: bool = False
    stdout: str = ""
    stderr: str = ""
    left_behind: int = 0
    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counts: tuple[tuple[str, str], ...] = ()


# Statuses with which timeout(1) ends where the time was up: 124, or 137 where it had to kill.
_OUT_OF_TIME = (124, 137)


def parse_job_report(text: str, job: str) -> JobReport:
    """The report of the job with this id.

    Raises:
        ValueError: where the text is not a whole report of that job.
    """
    head, *rest = text.split(f"\n--{job} ")
    sections = [(name, body) for name, _, body in (section.partition("\n") for section in rest)]
    last = sections[-1][0] if sections else ""
    if not last.startswith("end "):
        raise ValueError("the job's report is not whole")
    outcome = last.removeprefix("end ")
    if outcome not in get_args(Outcome):
        raise ValueError(f"the job's report has the outcome {outcome}")
    if outcome != "done":
        return JobReport(cast(Outcome, outcome))
    facts: dict[str, list[str]] = {}
    for line in head.splitlines():
        name, _, value = line.partition(" ")
        facts.setdefault(name, []).append(value)
    parts = dict(sections)
    status = parts.get("status", "").strip()
    return JobReport(
        outcome="done",
        limit_s=int(_only(facts, "limit")),
        waited_s=int(_only(facts, "waited")) / 100,
        status=int(status) if status else None,
        out_of_time=not status and int(_only(facts, "timeout_status")) in _OUT_OF_TIME,
        stdout=parts.get("out", ""),
        stderr=parts.get("err", ""),
        left_behind=int(_only(facts, "left_behind")),
        conditions={name: tuple(values) for name, values in facts.items() if "." in name},
        counts=_counts(sections),
    )


def _only(facts: Mapping[str, list[str]], name: str) -> str:
    values = facts.get(name, [])
    if len(values) != 1:
        raise ValueError(f"the job's report has {len(values)} entries {name}")
    return values[0]


def _counts(sections: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """perf's outputs of the groups of which both runs went well; they follow one another."""
    without = [body for name, body in sections if name == "counts-0"]
    with_one = [body for name, body in sections if name == "counts-1"]
    return tuple(zip(without, with_one, strict=False))
