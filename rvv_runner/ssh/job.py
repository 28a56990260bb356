"""One measurement on a board: starts it, waits for it, and finds it again if the link breaks."""

from __future__ import annotations

import re
import secrets
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rvv_runner.board_queue import BoardQueue, parse_queue, this_tuner
from rvv_runner.silence import tell_of_silence
from rvv_runner.ssh.cache import RemotePlace
from rvv_runner.ssh.report import JobReport, is_whole, parse_job_report
from rvv_runner.ssh.session import Session

__all__ = ["JOB_SCRIPT", "Job", "JobFailed", "JobPlan", "not_run", "queue_at"]

JOB_SCRIPT = Path(__file__).with_name("job.sh")

_HEARTBEAT_S = 3.0  # together with the limit for an answer, detects a dead link within 10 s
_POLL_S = 0.5
_REPORT_LIMIT_BYTES = 4 << 20
_MOST_STARTS = 3


class JobFailed(Exception):
    """A job failed on the board's side; the message is one sentence."""


@dataclass(frozen=True)
class JobPlan:
    """What a job must do.

    Args:
        place: the folder on the board.
        script: name of the job's script in the folder of files.
        lock: path of the board's lock.
        command: the command to run; its files are relative to a job's folder.
        repeats: timed runs of a launcher; None for any other program, which runs once.
        limit_s: time limit of the timed run.
        deadline_s: time limit of the whole job.
        processors: numbers of those to run on; empty for any.
        system: root of the board's /sys.
        events: groups of perf's events; for a program that is no launcher at most one.
        done_with: paths of earlier jobs' reports, which this job removes.
        cool_below_c: in degrees Celsius; a hotter board cools down before the timed run, for half
            of the time that is left. None for any temperature.
        tell: gets a sentence where the board is hot and the job waits.
        enter: file into which a process writes its number to get to its kind of core, or None.
    """

    place: RemotePlace
    script: str
    lock: str
    command: Sequence[str]
    repeats: int | None
    limit_s: int
    deadline_s: int
    processors: Sequence[int]
    system: str
    events: Sequence[Sequence[str]]
    done_with: Sequence[str] = ()
    cool_below_c: float | None = None
    tell: Callable[[str], None] = tell_of_silence
    enter: str | None = None


class Job:
    """A job that runs once, even if the link breaks several times.

    After LinkLost, `outcome` may be called again with a new session. It finds the job or its
    report on the board, and starts the job again only if it finds neither.
    """

    def __init__(self, plan: JobPlan) -> None:
        self._plan = plan
        self._id = ""
        self._starts = 0
        self._was_hot = False  # and that was told

    def outcome(self, session: Session, deadline: float) -> JobReport:
        """Start the job, or find it again, and wait for its report.

        Args:
            session: a login on the board.
            deadline: when to end the job and give up, by the monotonic clock.

        Raises:
            LinkLost: if the connection ends meanwhile.
            JobFailed: if the board cannot run the job, or the deadline has passed.
        """
        started_here = not self._id
        if not self._id:
            self._start(session)
        while (text := self._report(session, started_here)) is None:
            if time.monotonic() > deadline:
                self.kill(session)
                raise JobFailed("it did not finish in time, and its job was ended")
            if not started_here and not self._is_running(session):
                text = self._stored_report(session)
                if text is not None:  # it ended between the two requests
                    break
                # It never arrived, or the board was rebooted.
                self._start(session)
                started_here = True
        try:
            return parse_job_report(text, self._id)
        except ValueError as error:
            raise JobFailed(f"its job's report cannot be read: {error}") from error

    def kill(self, session: Session) -> None:
        """End all processes of the job on the board."""
        if self._id:
            session.run(self._script("kill"))

    @property
    def report_path(self) -> str:
        """Where the board keeps the report until it is removed."""
        return f"{self._plan.place.jobs}/{self._id}.report"

    def _script(self, mode: str, *arguments: str) -> str:
        path = f"{self._plan.place.folder}/{self._plan.script}"
        return shlex.join(["sh", path, mode, self._id, *arguments])

    def _start(self, session: Session) -> None:
        self._starts += 1
        if self._starts > _MOST_STARTS:
            raise JobFailed(f"its job was lost {_MOST_STARTS} times")
        self._id = secrets.token_hex(8)
        plan = self._plan
        command = self._script(
            "run",
            plan.lock,
            str(plan.limit_s),
            str(plan.limit_s),
            str(plan.deadline_s),
            ",".join(map(str, plan.processors)),
            "" if plan.repeats is None else str(plan.repeats),
            plan.system,
            " ".join(",".join(group) for group in plan.events),
            "--",
            *plan.command,
        )
        session.start(
            f"env TRITON_RVV_JOB={self._id} TRITON_RVV_TUNER={this_tuner()} "
            f"TRITON_RVV_COOL={_milli(plan.cool_below_c)} "
            f"TRITON_RVV_ENTER={shlex.quote(plan.enter or '')} {command}",
            afterwards=f"rm -f -- {shlex.join(plan.done_with)}" if plan.done_with else "true",
        )

    def _report(self, session: Session, started_here: bool) -> str | None:
        """The complete report, or None after a short wait. If this connection started the job, it
        is the printed report, otherwise the stored one."""
        if not started_here:
            text = self._stored_report(session)
            if text is None:
                time.sleep(_POLL_S)
            return text
        is_limited = self._plan.cool_below_c is not None and not self._was_hot
        ended = session.wait(_HEARTBEAT_S, self._heard if is_limited else None)
        if ended is None:
            session.find(self.report_path)  # detects a dead link
            return None
        if not is_whole(ended.output, self._id):
            raise JobFailed(f"its job ended without a report ({ended.last_line})")
        return ended.output

    def _heard(self, text: str) -> None:
        """Tell, once, that the board is hot, if the job has printed that."""
        found = re.search(r"^hot (\d+) (\d+)\n", text, re.MULTILINE)
        if found and not self._was_hot:
            self._was_hot = True
            self._plan.tell(
                f"it is at {int(found[1]) / 1000:g} °C; waiting until it is at most "
                f"{self._plan.cool_below_c:g} °C, for {found[2]} s at most"
            )

    def _stored_report(self, session: Session) -> str | None:
        if session.find(self.report_path) is None:
            return None
        text = session.read(self.report_path, _REPORT_LIMIT_BYTES).decode(errors="replace")
        return text if is_whole(text, self._id) else None

    def _is_running(self, session: Session) -> bool:
        return session.run(self._script("alive")).status == 0


def queue_at(session: Session, place: RemotePlace, script: str, lock: str) -> BoardQueue | None:
    """Who has a board and who waits for it now; None if it is free.

    Args:
        session: a login on the board.
        place, script, lock: as in a plan.

    Raises:
        LinkLost: if the connection ends.
        JobFailed: if its lock cannot be opened.
    """
    command = ["sh", f"{place.folder}/{script}", "queue", "-", lock]
    output = session.run(shlex.join(command)).output
    if "no-lock" in output.splitlines():
        raise JobFailed(_no_lock(lock))
    return parse_queue(output)


def not_run(report: JobReport, lock: str) -> str:
    """Why a job did not run, whose report is about this lock."""
    if report.outcome == "no-lock":
        return _no_lock(lock)
    return f"it is in use: {report.queue}; its lock {lock} was not free in time"


def _no_lock(lock: str) -> str:
    return f"its lock {lock} cannot be opened: name another lock in the board file"


def _milli(degrees_c: float | None) -> str:
    return "" if degrees_c is None else str(round(1000 * degrees_c))
