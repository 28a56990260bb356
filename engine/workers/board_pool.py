"""Boards in worker processes: one job per board; a board's fault never fails a configuration."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from engine.workers.board_events import (
    BoardBack,
    BoardEvent,
    BoardRecord,
    BoardSilent,
    BoardTakenOut,
)
from engine.workers.board_seat import BoardSeat, BoardSource
from engine.workers.spans import Span, span
from engine.workers.waiting import Waiting
from engine.workers.worker_pool import PoolClosed
from foundation.errors import FileMistake
from rvv_runner.board import BoardError
from rvv_runner.board_queue import WAITED_FOR_OTHERS
from rvv_runner.measurement import Artifact, Measurement

__all__ = ["BoardPool"]

_ATTEMPTS = 3

# A board that was taken out is checked after the first pause; each further pause is twice as long.
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 60.0

_PATIENCE_S = 300.0  # how long a run waits when no board is left


class BoardPool:
    """Measures on the first free board. Ray must be running.

    A board at fault is taken out, and its job goes to another. It returns when it passes its
    check: it opens again, takes the files of the job that it failed and, if any board has measured
    an artifact, measures that artifact.
    A board's worker runs on the machine that reaches it: this one, even if the builds run on a
    cluster, or another one of the cluster, to which artifacts are sent. Every method may be called
    from any thread.

    Args:
        sources: one per board.
        patience_s: how long to wait when no board is left, before the run fails.
    """

    def __init__(self, sources: Sequence[BoardSource], patience_s: float = _PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._events: deque[BoardEvent] = deque()
        self._proof: tuple[Artifact, float] | None = None
        self.waiting = Waiting()
        self._free: deque[BoardSeat] = deque()
        self._wanted = 0  # jobs that wait for a board
        self._served_s: float | None = None  # when a board was last in, by the monotonic clock
        self._ended_by: Exception | None = None  # what no board of the pool comes back from
        self._opening = len(sources)
        names = [source.name for source in sources]
        self._seats = [
            BoardSeat(
                source,
                f"{source.name} {number}" if names.count(source.name) > 1 else source.name,
                self._hear,
            )
            for number, source in enumerate(sources, start=1)
        ]
        for seat in self._seats:
            self._begin(self._open, seat)

    def wait_open(self, tell: Callable[[str], None] = lambda text: None) -> None:
        """Wait until one board is ready; others may follow later.

        Args:
            tell: called with a sentence where a board does not answer and is waited for.

        Raises:
            BoardError, UserError: if none can be used.
        """
        with self._changed:
            while self._served_s is None and self._opening and not self._is_over():
                self._changed.wait()
                for event in [one for one in self._events if isinstance(one, BoardSilent)]:
                    self._events.remove(event)
                    tell(f"the board {event.board}: {event.text}")
            self._check_patience()

    def measure(
        self,
        artifact: Artifact,
        repeats: int,
        timeout_s: float,
        spans: list[Span] | None = None,
    ) -> Measurement:
        """Measure on the first free board; `spans` takes when and where.

        After a board's fault, the job goes to the next free one, for at most three attempts; only
        then is the measurement's status "board".

        Raises:
            PoolClosed: if the pool is closed before the measurement is done.
            BoardError, UserError: if no board is left.
            FileMistake: for a mistake in the user's own file; the board stays in.
        """
        measurement = Measurement(status="board", reason="not measured")
        for _ in range(_ATTEMPTS):
            seat = self._take_free()
            start_s = time.monotonic()
            with span([] if spans is None else spans, "measure", partial(str, seat.place)):
                measurement = self._measured(seat, artifact, repeats, timeout_s)
            took_s = time.monotonic() - start_s
            if measurement.status != "board":
                self._give_back(seat, artifact, measurement, took_s)
                return measurement
            self._take_out(seat, artifact, measurement.reason, took_s)
        return replace(measurement, reason=f"{measurement.reason} ({_ATTEMPTS} attempts)")

    def measure_in_turn(
        self, artifacts: Sequence[Artifact], repeats: int, timeout_s: float
    ) -> list[Measurement]:
        """Measure one after another on the first free board, each within the limit.

        If the board is at fault, it ends early and returns the measurements made so far.

        Raises:
            PoolClosed, BoardError, UserError: like `measure`.
        """
        seat = self._take_free()
        measurements: list[Measurement] = []
        start_s = time.monotonic()
        for artifact in artifacts:
            measurement = self._measured(seat, artifact, repeats, timeout_s)
            if measurement.status == "board":
                self._take_out(seat, artifact, measurement.reason, time.monotonic() - start_s)
                return measurements
            measurements.append(measurement)
        self._give_back(seat, artifacts[-1], measurements[-1], time.monotonic() - start_s)
        return measurements

    def _measured(
        self, seat: BoardSeat, artifact: Artifact, repeats: int, timeout_s: float
    ) -> Measurement:
        try:
            measurement = seat.measure(artifact, repeats, timeout_s)
        except FileMistake:
            with self._changed:
                self._put_in(seat)
            raise
        if self._closed.is_set():  # which may have ended the kernel's program
            raise PoolClosed
        return measurement

    @property
    def idle(self) -> int:
        """How many boards are in and have no work, nor a job that waits for one."""
        with self._changed:
            return max(len(self._free) - self._wanted, 0)

    def take_events(self) -> Iterator[BoardEvent]:
        """The events since the last call."""
        while self._events:
            yield self._events.popleft()

    def records(self) -> tuple[BoardRecord, ...]:
        """What each board did; boards with the same name are added up."""
        with self._changed:
            merged: dict[str, BoardRecord] = {}
            for seat in self._seats:
                known = merged.get(seat.name)
                merged[seat.name] = known.plus(seat.record) if known else seat.record
            return tuple(merged.values())

    def close(self) -> None:
        """End every board's process at once."""
        with self._changed:
            self._closed.set()
            self._changed.notify_all()
        with ThreadPoolExecutor(len(self._seats)) as closing:
            for seat in self._seats:
                closing.submit(seat.close)

    def _hear(self, event: BoardEvent) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    def _begin(self, work: Callable[[BoardSeat], None], seat: BoardSeat) -> None:
        """Work on a seat in a thread; what ends it is raised where a board is waited for."""

        def run() -> None:
            try:
                work(seat)
            except PoolClosed:
                pass
            except Exception as error:
                with self._changed:
                    self._ended_by = error
                    self._changed.notify_all()

        threading.Thread(target=run, daemon=True).start()

    def _open(self, seat: BoardSeat) -> None:
        """Open a board for the first time; runs in its own thread."""
        error = seat.open()
        with self._changed:
            self._opening -= 1
            if error is None:
                self._put_in(seat)
            seat.error = error
            self._changed.notify_all()
        if error is not None:
            self._hear(BoardTakenOut(seat.name, str(error)))
            self._bring_back(seat)

    def _take_free(self) -> BoardSeat:
        with self._changed:
            self._wanted += 1
            try:
                while not self._free or self._is_over():
                    if self._closed.is_set():
                        raise PoolClosed
                    self._check_patience()
                    self._changed.wait(timeout=1.0)
            finally:
                self._wanted -= 1
            self.waiting.boards_idle(-1)
            return self._free.popleft()

    def _is_over(self) -> bool:
        """Whether no board is to be had any more."""
        return self._closed.is_set() or self._ended_by is not None

    def _check_patience(self) -> None:
        """Raise what ended the pool, or if no board is left and the patience has run out."""
        if self._ended_by is not None:
            raise self._ended_by
        errors = [seat.error for seat in self._seats if seat.error is not None]
        if self._closed.is_set() or len(errors) < len(self._seats):
            return
        if self._served_s is not None and time.monotonic() - self._served_s < self._patience_s:
            return
        if len({seat.name for seat in self._seats}) == 1:
            raise errors[0]
        reasons = "; ".join(f"{seat.name}: {seat.error}" for seat in self._seats)
        raise BoardError(f"no board is left: {reasons}")

    def _give_back(
        self, seat: BoardSeat, artifact: Artifact, measurement: Measurement, took_s: float
    ) -> None:
        others_s = float(measurement.conditions.get(WAITED_FOR_OTHERS, 0.0))
        self.waiting.add("other tuners", others_s)
        with self._changed:
            busy_s = took_s - others_s
            seat.record = seat.record.plus(BoardRecord(seat.name, measured=1, busy_s=busy_s))
            if measurement.status == "correct" and (self._proof is None or took_s < self._proof[1]):
                self._proof = artifact, took_s
            self._put_in(seat)

    def _put_in(self, seat: BoardSeat) -> None:
        seat.error = None
        self._served_s = time.monotonic()
        self._free.append(seat)
        self.waiting.boards_idle(1)
        self._changed.notify()

    def _take_out(self, seat: BoardSeat, artifact: Artifact, reason: str, took_s: float) -> None:
        with self._changed:
            seat.record = seat.record.plus(BoardRecord(seat.name, faults=1, busy_s=took_s))
            seat.error = BoardError(reason)
            self._served_s = time.monotonic()
            self._changed.notify_all()
        self._hear(BoardTakenOut(seat.name, reason))
        self._begin(partial(self._bring_back, failed=artifact), seat)

    def _bring_back(self, seat: BoardSeat, failed: Artifact | None = None) -> None:
        """Check a board that is out until it passes; runs in its own thread."""
        pause_s = _FIRST_PAUSE_S
        while not self._closed.wait(pause_s):
            error = seat.open(failed)
            if error is None and self._proof is not None:
                error = seat.proves_itself(*self._proof)
            if error is None:
                self._hear(BoardBack(seat.name))
                with self._changed:
                    self._put_in(seat)
                return
            with self._changed:
                seat.error = error
                self._changed.notify_all()
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
