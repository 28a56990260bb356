"""A board over SSH: ships an ELF to it, runs it there under a lock, and reads its times."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rvv_runner.board import BoardError, BoardInfo
from rvv_runner.board_file import BoardFile
from rvv_runner.cold import flush_options
from rvv_runner.conditions import DOUBTED, Doubt, doubt
from rvv_runner.failure import failed, taken_elf
from rvv_runner.measurement import Artifact, ElfArtifact, Measurement
from rvv_runner.perf_groups import Counting
from rvv_runner.program import Program
from rvv_runner.program_counts import ProgramCounts
from rvv_runner.silence import tell_of_silence
from rvv_runner.ssh.address import Address
from rvv_runner.ssh.board_state import set_governor, unmet_requests
from rvv_runner.ssh.cache import CannotShip, RemoteCache, RemotePlace
from rvv_runner.ssh.counting import count_events, find_countable
from rvv_runner.ssh.errors import LinkLost, NotAnswering, RemoteFileError
from rvv_runner.ssh.facts import BoardFacts, ask_facts
from rvv_runner.ssh.job import JOB_SCRIPT, Job, JobFailed, JobPlan, not_run
from rvv_runner.ssh.link import PATIENCE_S, Link
from rvv_runner.ssh.matrix_unit import check_matrix_unit, with_matrix_unit
from rvv_runner.ssh.processors import chosen_processors
from rvv_runner.ssh.program import PROGRAM_LIMIT_S, countable, counts_of_program
from rvv_runner.ssh.report import JobReport
from rvv_runner.ssh.route import find_route
from rvv_runner.ssh.session import Session
from rvv_runner.ssh.verdict import measurement_of
from rvv_runner.usage import ONE_CORE, Usage

__all__ = ["SshBoard"]

_ATTEMPTS = 3  # if the board was busy or throttled
_PAUSE_S = 1.0  # between attempts, to let that pass

# Time beyond a measurement's limit: for the job to end, then for its report.
_JOB_GRACE_S = 4
_GRACE_S = 6.0

_REPORT_BYTES = 1 << 20  # if the disk has less room, that is taken as the cause of a job's failure


@dataclass(frozen=True)
class _Ready:
    """What is known about an open board."""

    facts: BoardFacts
    counting: Counting
    script: str
    processors: tuple[int, ...]


class SshBoard:
    """A board that is reached over SSH and measures with its own clock.

    Args:
        name: as the user gives it.
        board_file: its board file, with the section [ssh].
        patience_s: how long to wait for a known board that does not answer.
        system: folder in which the board's kernel shows its devices.
        usage: on how many cores kernels run, and how they are timed.

    Raises:
        BoardError: if the board file does not say how to reach the board.
        UserError: if the board cannot be used so.
    """

    def __init__(
        self,
        name: str,
        board_file: BoardFile,
        patience_s: float = PATIENCE_S,
        system: str = "/sys",
        usage: Usage = ONE_CORE,
    ) -> None:
        if board_file.ssh is None:
            raise BoardError(
                f"the board file {board_file.name} does not say how to reach the board: "
                "add the section [ssh] with its host"
            )
        board_file = with_matrix_unit(board_file, usage.cores)
        assert board_file.ssh is not None
        self._settings = board_file.ssh
        self._board_file = board_file
        self._patience_s = patience_s
        self._system = system
        self._place = RemotePlace(self._settings.folder)
        self._cache = RemoteCache(self._place, self._settings.cache_bytes)
        self._link: Link | None = None
        self._ready: _Ready | None = None
        self._was_told = False  # that measurements wait until it is cooler
        self._done_with: list[str] = []  # reports that are still on the board
        described = board_file.info(name)
        usage.check(name, described.cores)
        self._info = usage.of(described)
        flush = flush_options(usage.timing, board_file.l3_bytes or board_file.l2_bytes)
        self._options = (*flush, *usage.launcher_options)

    @property
    def info(self) -> BoardInfo:
        """What is known about the board."""
        return self._info

    @property
    def notes(self) -> tuple[str, ...]:
        """What of its board file the open board cannot do, which counters it lacks, and why."""
        counting, unmet = self.counting, tuple(unmet_requests(self._settings, self.facts).values())
        if counting.problem:
            unmet += (f"times only, no counters: {counting.problem}",)
        elif counting.refused:
            unmet += (f"it cannot count {', '.join(counting.refused)}",)
        return unmet

    @property
    def counting(self) -> Counting:
        """The events that are counted on the open board."""
        if self._ready is None:
            raise RuntimeError("the board is not open")
        return self._ready.counting

    @property
    def facts(self) -> BoardFacts:
        """What the open board reports about itself."""
        if self._ready is None:
            raise RuntimeError("the board is not open")
        return self._ready.facts

    def open(self) -> None:
        """Log in, ask what the board can do, and ship the script that runs jobs.

        If the board's host key is known, it waits for a board that does not answer, also where the
        link breaks meanwhile.

        Raises:
            BoardError: if the board cannot be reached or lacks something.
        """
        settings = self._settings
        link = Link(find_route(Address(settings.host, settings.user, settings.port)))
        try:
            self._ready = link.prepared(self._patience_s, self._prepare)
        except (LinkLost, CannotShip, RemoteFileError, ValueError) as error:
            link.drop()
            raise BoardError(f"the board {self._info.name} cannot be used: {error}") from error
        except BaseException:
            link.drop()
            raise
        self._link = link
        self._was_told = False

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        """Check the output once, time the kernel, and count events in separate runs.

        A time measured while the board was busy or throttled is discarded and measured again. If
        the link is lost, the job's result is fetched when the link is back.
        """
        if self._link is None or self._ready is None:
            raise RuntimeError("measure() was called on a board that is not open")
        elf = taken_elf(artifact, self._info)
        if isinstance(elf, Measurement):
            return elf
        start_s = time.monotonic()
        deadline = start_s + timeout_s + _GRACE_S
        for attempt in range(1, _ATTEMPTS + 1):
            before_s = time.monotonic()
            measurement, why = self._attempt(elf, repeats, timeout_s, deadline)
            took_s = time.monotonic() - before_s
            if why is None or time.monotonic() + _PAUSE_S + took_s > deadline:
                break
            if attempt < _ATTEMPTS:
                time.sleep(_PAUSE_S)
        if why is None:
            return measurement
        discarded = failed("board", self._info, f"{why.text} ({attempt} attempts)")
        return dataclasses.replace(discarded, conditions={DOUBTED: why.cause})

    def ship(self, artifact: Artifact) -> None:
        """Bring its files to the open board; a BoardError if that, or a report, has no room."""
        assert self._link is not None
        session = self._link.session(time.monotonic() + _GRACE_S)
        try:
            if isinstance(artifact, ElfArtifact):
                self._cache.ship(session, artifact.elf_path, artifact.data_path)
            if full := self._cache.full_disk(session, _REPORT_BYTES):
                raise BoardError(full)
        except (CannotShip, LinkLost, RemoteFileError) as error:
            raise BoardError(str(error)) from error

    def count(self, program: Program) -> ProgramCounts:
        """Run any program once and count events meanwhile; only the program itself is sent.

        Raises:
            BoardError: if it could not be run.
        """
        if self._link is None or self._ready is None:
            raise RuntimeError("count() was called on a board that is not open")
        deadline = time.monotonic() + PROGRAM_LIMIT_S + _GRACE_S
        session = self._link.session(deadline)
        counting = countable(session, self._ready.facts, self._board_file.events)
        groups = [[event for group in counting.groups for event in group]]

        def plan(session: Session) -> JobPlan:
            (digest,) = self._cache.ship(session, program.path)
            command = (f"../files/{digest}", *program.arguments)
            return self._job(command, None, PROGRAM_LIMIT_S, groups if groups[0] else ())

        try:
            report = self._run(plan, deadline)
        except (CannotShip, JobFailed, RemoteFileError) as error:
            raise BoardError(f"{program.path} could not be run: {error}") from error
        if report.outcome != "done":
            why = not_run(report, self._settings.lock)
            raise BoardError(f"{program.path} could not be run: {why}")
        return counts_of_program(report, counting)

    def close(self) -> None:
        """Log out; the board can be opened again."""
        if self._link is not None:
            session = self._link.current
            if session is not None and self._done_with:
                with contextlib.suppress(LinkLost):
                    session.run(f"rm -f -- {shlex.join(self._done_with)}")
            self._done_with = []
            self._link.drop()
        self._link = None
        self._ready = None

    def _prepare(self, session: Session) -> _Ready:
        facts = ask_facts(session, self._system)
        if facts.missing:
            raise ValueError(f"it lacks the tools {', '.join(facts.missing)}: install them there")
        self._cache.prepare(session)
        script = f"files/{self._cache.ship(session, JOB_SCRIPT)[0]}"
        if self._settings.governor is not None:
            set_governor(session, self._settings.governor, facts, self._system)
        counting = self._counting(session, facts)
        processors = chosen_processors(self._board_file, facts, self._info.used_cores)
        check_matrix_unit(session, self._cache, self._place, self._board_file, processors)
        return _Ready(facts, counting, script, processors)

    def _counting(self, session: Session, facts: BoardFacts) -> Counting:
        events = self._board_file.events
        if not events:
            return Counting()
        if not facts.has_perf:
            return Counting(refused=tuple(events), problem="perf is not installed there")
        return find_countable(session, events)

    def _tell_once(self, text: str) -> None:
        """Tell why nothing happens for a while, the first time since the board was opened."""
        if not self._was_told:
            self._was_told = True
            tell_of_silence(text)

    def _attempt(
        self, artifact: ElfArtifact, repeats: int, timeout_s: float, deadline: float
    ) -> tuple[Measurement, Doubt | None]:
        """One measurement, and why it cannot be trusted."""
        assert self._ready is not None
        try:
            report = self._run(
                lambda session: self._plan(session, artifact, repeats, timeout_s), deadline
            )
        except (BoardError, CannotShip, JobFailed, RemoteFileError) as error:
            return failed("board", self._info, str(error)), None
        if report.outcome != "done":
            return failed("board", self._info, not_run(report, self._settings.lock)), None
        counters = count_events(report, self._ready.counting)
        limit_c = self._settings.cool_below_c
        measurement = measurement_of(
            report, self._info, timeout_s, repeats, counters, artifact.kernel, limit_c
        )
        if measurement.status != "correct":
            return measurement, None
        return measurement, doubt(report.conditions, self._settings.busy_cores)

    def _run(self, plan: Callable[[Session], JobPlan], deadline: float) -> JobReport:
        """Run one job to its end, over as many connections as needed."""
        assert self._link is not None
        job: Job | None = None
        while True:
            session = self._link.session(deadline)
            try:
                if job is None:
                    job = Job(plan(session))
                report = self._outcome(job, session, deadline)
            except LinkLost as error:
                self._link.drop()
                if time.monotonic() > deadline:
                    raise NotAnswering(str(error)) from error
                continue
            self._done_with = [job.report_path]
            if report.outcome != "missing":
                return report
            # Another tuner that uses the same folder has evicted a file.
            self._cache.forget()
            job = None

    def _outcome(self, job: Job, session: Session, deadline: float) -> JobReport:
        try:
            return job.outcome(session, deadline)
        except (JobFailed, RemoteFileError) as error:
            raise JobFailed(self._cache.full_disk(session, _REPORT_BYTES) or str(error)) from error

    def _plan(
        self, session: Session, artifact: ElfArtifact, repeats: int, timeout_s: float
    ) -> JobPlan:
        assert self._ready is not None
        shipped = self._cache.ship(session, artifact.elf_path, artifact.data_path)
        elf, data = (f"../files/{digest}" for digest in shipped)
        command = (elf, data, *artifact.launcher_options, *self._options)
        return self._job(command, repeats, timeout_s, self._ready.counting.groups)

    def _job(
        self,
        command: Sequence[str],
        repeats: int | None,
        timeout_s: float,
        events: Sequence[Sequence[str]],
    ) -> JobPlan:
        assert self._ready is not None
        limit_s = max(math.ceil(timeout_s), 1)
        return JobPlan(
            place=self._place,
            script=self._ready.script,
            lock=self._settings.lock,
            command=(*self._settings.wrapper, *command),
            repeats=repeats,
            limit_s=limit_s,
            deadline_s=limit_s + _JOB_GRACE_S,
            processors=self._ready.processors,
            system=self._system,
            events=events,
            done_with=tuple(self._done_with),
            cool_below_c=self._settings.cool_below_c,
            tell=self._tell_once,
            enter=self._board_file.enter,
        )
