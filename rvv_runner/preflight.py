"""Checks a board step by step for everything that tuning needs, and says how to fix the rest."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Iterator
from typing import Literal

from rvv_runner.board import BoardError
from rvv_runner.board_file import BoardFile, SshSettings
from rvv_runner.conditions import DOUBTED
from rvv_runner.finding import Finding
from rvv_runner.measurement import Measurement
from rvv_runner.new_board_file import NEW_KIND, guessed_board_file
from rvv_runner.perf_groups import Counting
from rvv_runner.ssh.address import Address
from rvv_runner.ssh.board import SshBoard
from rvv_runner.ssh.board_state import state_findings
from rvv_runner.ssh.cache import MAKE_ROOM, CannotShip, RemoteCache, RemotePlace, free_disk_bytes
from rvv_runner.ssh.counting import find_countable
from rvv_runner.ssh.errors import (
    HostKeyError,
    LinkLost,
    LoginRefused,
    NotAnswering,
    RemoteFileError,
)
from rvv_runner.ssh.extensions import emulator_line, missing_extensions
from rvv_runner.ssh.facts import BoardFacts, ask_facts, matching_kind
from rvv_runner.ssh.identify import described_kinds
from rvv_runner.ssh.job import JOB_SCRIPT, JobFailed, queue_at
from rvv_runner.ssh.route import find_route
from rvv_runner.ssh.session import Session
from triton_rvv.codegen.zig import has_libc
from triton_rvv.targets.target import RVVTarget

__all__ = ["Preflight"]

_SLOW_LOGIN_S = 0.5
_FREE_BYTES = 64 << 20
_PARANOID_LIMIT = 2  # above it, ordinary users may not count: kernel/sysctl documentation

# What to do about a time that was discarded, by its cause.
_MENDED_BY: dict[object, str] = {
    "busy": "end them, or write a larger `busy_cores` into its board file",
    "throttled": "cool it, or write `cool_below_c` into its board file",
    "limited": "cool it, or give it a stronger supply",
    "slow": "look at its supply, and at what limits its frequency",
}

_OTHER_VLEN = re.compile(r"vector registers have (\d+) bits")


class _Stop(Exception):
    """A step has failed that all later ones need."""

    def __init__(self, step: str, text: str) -> None:
        super().__init__(text)
        self.finding = Finding(step, "failed", text)


class Preflight:
    """The steps for one board; each may use what earlier ones found.

    Args:
        name: of the board.
        settings: how to reach it.
        board_file: None if the board itself must tell its kind.
        accept_unknown: whether to check a board of an unknown kind too.
        system: folder in which the board's kernel shows its devices.

    Attributes:
        board_file: what is known about the board; complete after the last finding.
        is_described: whether its file can be written, since it is a board for this code or becomes
            one by a line of the file.
    """

    def __init__(
        self,
        name: str,
        settings: SshSettings,
        board_file: BoardFile | None,
        accept_unknown: bool = False,
        system: str = "/sys",
    ) -> None:
        self._name = name
        self._settings = settings
        self.board_file = board_file
        self.is_described = False
        self._accept_unknown = accept_unknown
        self._emulator = ""  # the line of the board file for an emulator there, once it is known
        self._system = system

    def findings(self) -> Iterator[Finding]:
        """Each step's finding, as soon as it is known; ends if later steps are impossible."""
        session: Session | None = None
        try:
            session = self._log_in()
            yield Finding("reachable, host key, login", "ok", self._settings.host)
            yield self._shell(session)
            facts = self._facts(session)
            self.board_file = self._kind(facts)
            self.is_described = True
            self._emulator = emulator_line(session, self.board_file)
            yield from self._processor(facts, self.board_file)
            yield self._disk(session)
            yield self._lock(session)
            yield from state_findings(self._settings, facts)
            yield from self._perf(session, facts, self.board_file)
        except _Stop as stop:
            yield stop.finding
            return
        except RemoteFileError as error:
            yield Finding("files", "failed", str(error))
            return
        except LinkLost as error:
            yield Finding("link", "failed", f"{error}: look at the cable or the network")
            return
        finally:
            if session is not None:
                session.close()
        if not has_libc("rvv"):
            text = "this machine builds its C library first: that takes minutes, once"
            yield Finding("linker", "note", text)
        yield from self._vector_add(self.board_file)

    def _log_in(self) -> Session:
        settings = self._settings
        try:
            return Session(find_route(Address(settings.host, settings.user, settings.port)))
        except HostKeyError as error:
            raise _Stop("host key", str(error)) from error
        except LoginRefused as error:
            raise _Stop("login", str(error)) from error
        except (NotAnswering, BoardError) as error:
            raise _Stop("reachable", str(error)) from error

    @staticmethod
    def _shell(session: Session) -> Finding:
        start_s = time.monotonic()
        session.run("true")
        login_s = time.monotonic() - start_s
        start_s = time.monotonic()
        session.run("true")
        text = f"starts in {login_s * 1e3:.0f} ms, then {(time.monotonic() - start_s) * 1e3:.1f} ms"
        if login_s < _SLOW_LOGIN_S:
            return Finding("shell", "ok", f"{text} per command")
        return Finding(
            "shell", "note", f"{text} per command: shorten the user's start-up files there"
        )

    def _facts(self, session: Session) -> BoardFacts:
        try:
            facts = ask_facts(session, self._system)
        except ValueError as error:
            raise _Stop("shell", f"{error}: see what the user's start-up files do there") from error
        if facts.missing:
            raise _Stop("tools", f"install the tools {', '.join(facts.missing)} on the board")
        return facts

    def _kind(self, facts: BoardFacts) -> BoardFile:
        if self.board_file is not None:
            return self.board_file
        kind = matching_kind(facts, described_kinds())
        if kind is not None:
            return dataclasses.replace(kind, ssh=self._settings)
        if self._accept_unknown:
            return guessed_board_file(facts, self._settings)
        raise _Stop(
            "kind", f"no board file describes this core ({facts.machine}): add --write NAME"
        )

    def _processor(self, facts: BoardFacts, board: BoardFile) -> Iterator[Finding]:
        """Architecture, core and extensions; with a wrapper, the last two are the wrapper's."""
        if self._settings.wrapper:
            yield Finding(
                "architecture", "ok", f"{facts.machine}, behind {self._settings.wrapper[0]}"
            )
            return
        if facts.machine != "riscv64":
            raise _Stop(
                "architecture",
                f"it is {facts.machine}, and the code is for riscv64: name another machine, or "
                f"an emulator that it has, under [ssh] in its board file: {self._emulator}",
            )
        yield Finding("architecture", "ok", f"riscv64, {len(facts.processors)} processors")
        told = (facts.mvendorid, facts.marchid)
        expected = (board.mvendorid, board.marchid)
        if None not in (*told, *expected) and told != expected:
            text = (
                f"its core is {told[0]} {told[1]}, but {board.kind} is {expected[0]} {expected[1]}"
            )
            yield Finding("core", "failed", f"{text}: name another kind in the board file")
        missing = missing_extensions(facts.isa)
        if missing:
            text = f"it does not list {', '.join(missing)}, which the code uses"
            yield Finding("extensions", "failed", f"{text}: this board cannot run it")
        elif facts.isa:
            yield Finding("extensions", "ok", facts.isa)

    def _disk(self, session: Session) -> Finding:
        place = RemotePlace(self._settings.folder)
        try:
            RemoteCache(place, self._settings.cache_bytes).prepare(session)
        except CannotShip as error:
            raise _Stop("disk", f"{error}: name another as `folder` in its board file") from error
        free_bytes = free_disk_bytes(session, place.folder)
        if free_bytes is not None and free_bytes < _FREE_BYTES:
            return Finding("disk", "failed", f"{free_bytes >> 20} MiB free: {MAKE_ROOM}")
        free = "free space unknown" if free_bytes is None else f"{free_bytes >> 20} MiB free"
        return Finding("disk", "ok", f"{free} for {place.folder}")

    def _lock(self, session: Session) -> Finding:
        settings = self._settings
        place = RemotePlace(settings.folder)
        try:
            (script,) = RemoteCache(place, settings.cache_bytes).ship(session, JOB_SCRIPT)
        except CannotShip as error:
            raise _Stop("disk", str(error)) from error
        try:
            queue = queue_at(session, place, f"files/{script}", settings.lock)
        except JobFailed as error:
            return Finding("lock", "failed", str(error))
        if queue is None:
            return Finding("lock", "ok", f"nobody else has {settings.lock}")
        return Finding("lock", "note", f"{settings.lock}: {queue}")

    @staticmethod
    def _perf(session: Session, facts: BoardFacts, board: BoardFile) -> Iterator[Finding]:
        if not facts.has_perf:
            text = "not found, so there will be times but no counters: install perf for counters"
            yield Finding("perf", "note", text)
            return
        needed = board.perf_user_access
        if needed is not None and facts.perf_user_access not in (None, needed):
            advice = f"run `sudo sysctl kernel.perf_user_access={needed}` there for counters"
            text = f"kernel.perf_user_access is {facts.perf_user_access}: {advice}"
            yield Finding("perf_user_access", "note", text)
        counting = find_countable(session, board.events)
        if counting.problem:
            paranoid = facts.perf_event_paranoid or 0
            advice = (
                "run `sudo sysctl kernel.perf_event_paranoid=2` there"
                if paranoid > _PARANOID_LIMIT
                else "see `perf stat true` there"
            )
            yield Finding("perf", "note", f"{counting.problem}: {advice}; times are not affected")
            return
        yield _counted(counting, len(board.events))

    def _vector_add(self, board_file: BoardFile) -> Iterator[Finding]:
        measurement = self._try(board_file)
        other = _OTHER_VLEN.search(measurement.reason)
        if other and board_file.kind == NEW_KIND:
            # The board file only guessed the vector length; the launcher has found it out.
            self.board_file = dataclasses.replace(board_file, vlen_bits=int(other[1]))
            measurement = self._try(self.board_file)
        elif other:
            advice = f"write vlen_bits = {other[1]} in the board file, or name another kind"
            yield Finding("vector length", "failed", f"{measurement.reason}: {advice}")
            return
        if measurement.time_s is None:
            yield Finding("vector add", "failed", _with_advice(measurement))
        else:
            yield Finding("vector add", "ok", _added(measurement))
            if "+zvfh" in RVVTarget.named(board_file.cpu).extensions:
                yield self._half_precision(self.board_file or board_file)

    def _half_precision(self, board_file: BoardFile) -> Finding:
        """Whether the board, or the emulator in front, runs the same in 16-bit floats."""
        measurement = self._try(board_file, "fp16")
        if measurement.time_s is not None:
            return Finding("half precision", "ok", _added(measurement))
        text = _with_advice(measurement)
        if measurement.status != "board" and self._settings.wrapper:
            ending = measurement.reason.partition(": ")[0]
            text = (
                f"{measurement.status}: {ending}: let the emulator in its board file "
                f"have what code for {board_file.kind} uses, as in {self._emulator}"
            )
        return Finding("half precision", "failed", text)

    def _try(self, board_file: BoardFile, dtype: Literal["fp32", "fp16"] = "fp32") -> Measurement:
        board = SshBoard(self._name, board_file, patience_s=0, system=self._system)
        try:
            # Triton takes seconds to import, and only this step needs it.
            from rvv_runner.vector_add import try_vector_add

            board.open()
            return try_vector_add(board, dtype)
        except (BoardError, ValueError) as error:
            return Measurement(status="board", reason=str(error))
        finally:
            board.close()


def _added(measurement: Measurement) -> str:
    """That a vector addition was correct, and how long it took."""
    from rvv_runner.vector_add import ELEMENTS

    assert measurement.time_s is not None
    return f"correct, {measurement.time_s * 1e6:.0f} us for {ELEMENTS} elements"


def _with_advice(measurement: Measurement) -> str:
    """Why a measurement failed, and what to do about it."""
    text = f"{measurement.status}: {measurement.reason}"
    if measurement.status != "board":
        return f"{text}: name a kind that has this core's extensions in its board file"
    # The texts of other causes include what to do.
    how = _MENDED_BY.get(measurement.conditions.get(DOUBTED), "")
    return f"{text}: {how}" if how else text


def _counted(counting: Counting, asked: int) -> Finding:
    """What perf counts of the events in a board file, `asked` in number."""
    if not counting.groups:
        none = "its kernel or core counts none" if asked else "there is none"
        return Finding("perf", "note", f"{none} of the board file's events; times are not affected")
    groups = len(counting.groups)
    text = f"events in {groups} group{'' if groups == 1 else 's'}"
    if not counting.refused:
        return Finding("perf", "ok", text)
    refused = ", ".join(counting.refused)
    return Finding("perf", "note", f"{text}; its kernel or core does not count {refused}")
