"""What runs in a board's process: the board, and what it says before a call returns."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from engine.workers.parcels import Parcel, TravellingFile, missing, unpack
from rvv_runner.board import Board, BoardError, DistantBoard
from rvv_runner.measurement import Artifact, Measurement
from rvv_runner.silence import told_of_silence

__all__ = ["BoardWorker", "Said"]


@dataclass(frozen=True)
class Said:
    """What a call returns in place of its result: the board says this, and `go_on` returns more."""

    text: str


class BoardWorker:
    """Runs in a worker process; owns one board, which works in a thread of its own."""

    def __init__(self, load: Callable[[], Board]) -> None:
        self._load = load
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="board")
        self._answers: queue.SimpleQueue[Said | Future[object]] = queue.SimpleQueue()
        self._refusal: BoardError | None = None  # of an opening whose result nobody asked for
        self._goes_on = False

    def open(self) -> None:
        """Open the board; where it says something before it is open, `opened` returns that."""
        self._begun = self._begin(self._open)

    def opened(self) -> object:
        """None if `open` has opened the board, else what it said."""
        return self._begun

    def open_again(self) -> object:
        """Close it and open it."""

        def again() -> None:
            self._board.close()
            self._open()

        return self._begin(again)

    def ship(self, artifact: Artifact) -> object:
        """Bring an artifact's files to the open board, if it is elsewhere."""

        def shipped() -> None:
            if isinstance(self._board, DistantBoard):
                with contextlib.suppress(FileNotFoundError):  # of a build that was removed
                    self._board.ship(artifact)

        return self._begin(shipped)

    def notes(self) -> tuple[str, ...]:
        """Of the open board."""
        return self._board.notes

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement | Said:
        """The board's measurement."""

        def measured() -> Measurement:
            if self._refusal is not None:
                raise self._refusal
            return self._board.measure(artifact, repeats, timeout_s)

        found = self._begin(measured)
        assert isinstance(found, Measurement | Said)
        return found

    def go_on(self) -> object:
        """The result of the call that said something, or what the board says next."""
        if not self._goes_on:
            raise RuntimeError("the board's process was started anew")
        return self._next()

    def missing(self, files: Sequence[TravellingFile]) -> tuple[TravellingFile, ...]:
        """Which of these files are not here."""
        return missing(files)

    def unpack(self, parcels: Sequence[Parcel], below: Path) -> None:
        """Put files where they belong."""
        unpack(parcels, below)

    def close(self) -> None:
        """Release the board."""
        self._board.close()

    def _open(self) -> None:
        try:
            self._board = self._load()
            self._board.open()
        except BoardError as error:
            self._refusal = error
            raise
        self._refusal = None

    def _begin(self, work: Callable[[], object]) -> object:
        # Of this call alone: the result of an earlier one that was given up would come first.
        answers: queue.SimpleQueue[Said | Future[object]] = queue.SimpleQueue()
        self._answers = answers

        def run() -> object:
            with told_of_silence(lambda text: answers.put(Said(text))):
                return work()

        self._thread.submit(run).add_done_callback(answers.put)
        return self._next()

    def _next(self) -> object:
        answer = self._answers.get()
        self._goes_on = isinstance(answer, Said)
        return answer if isinstance(answer, Said) else answer.result()
