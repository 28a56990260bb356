"""One board in a process of its own, on the machine that reaches it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.workers.artifacts import ARTIFACT_FOLDER
from engine.workers.board_events import BoardEvent, BoardNote, BoardRecord, BoardSilent
from engine.workers.board_process import BoardWorker, Said
from engine.workers.parcels import files_of, packed
from engine.workers.ray_nodes import ClusterLost
from engine.workers.worker import Blueprint, WorkerDied, WorkerTimeout
from engine.workers.worker_pool import Lease, PoolClosed, WorkerPool
from foundation.errors import CommandError, FileMistake
from rvv_runner.board import Board, BoardError
from rvv_runner.board_queue import QUEUE, USED_BY
from rvv_runner.measurement import Artifact, Measurement
from rvv_runner.verdict import longest_s

__all__ = ["BoardSeat", "BoardSource"]

_GRACE_S = 15.0  # a board returns within its limit and a few seconds; later, its worker hangs

_SEND_LIMIT_S = 120.0  # one artifact with its data, to another machine

_OPEN_LIMIT_S = 120.0  # opening a board that still boots waits up to a minute


@dataclass(frozen=True)
class BoardSource:
    """Where a pool gets a board from.

    Args:
        name: for messages; several boards may have the same.
        load: called in the board's own process; picklable.
        machine: of the cluster, which reaches the board; "" for this one.
        builds: absolute path of the folder below which builds lie, on each machine.
        leaves_nothing: whether its process may have another board afterwards.
        by_processor_time: whether its limits are of processor time, so that a busy machine takes
            longer.
    """

    name: str
    load: Callable[[], Board]
    machine: str = ""
    builds: Path = ARTIFACT_FOLDER
    leaves_nothing: bool = True
    by_processor_time: bool = False


class BoardSeat:
    """A board's place in a pool. One thread at a time opens it or measures on it.

    Args:
        source: where the board comes from.
        place: a name distinct from those of other boards with the same name.
        tell: takes notes for the user, each once.

    Attributes:
        error: why the pool gives it no jobs, None while it does.
        record: what it did.
    """

    def __init__(self, source: BoardSource, place: str, tell: Callable[[BoardEvent], None]) -> None:
        self.name = source.name
        self.place = place
        self.error: Exception | None = None
        self.record = BoardRecord(source.name)
        self._source = source
        self._tell = tell
        self._told: set[str] = set()
        self._workers = _worker_pool(source)
        self._was_tried = False
        self._is_open = False  # in its process

    def open(self, failed: Artifact | None = None) -> Exception | None:
        """Open it, again if it was open; returns why it cannot be used, or None.

        Args:
            failed: what it could not measure, whose files it has to have room for.

        Raises:
            PoolClosed: if it was closed meanwhile.
            ClusterLost: if the cluster's head is gone.
        """
        error = self._error_of_opening(failed)
        self._was_tried = True
        self._is_open = error is None
        return error

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        """The board's measurement; if its process fails or does not open, the fault is its own.

        Raises:
            PoolClosed, ClusterLost: like `open`.
            FileMistake: for a mistake in the user's own file, which no board is to blame for.
        """
        limit_s = longest_s(timeout_s) if self._source.by_processor_time else timeout_s
        try:
            with self._workers.lend() as worker:
                self._bring(artifact, worker)
                measurement: Measurement = self._answer(
                    worker, "measure", artifact, repeats, timeout_s, limit_s=limit_s + _GRACE_S
                )
        except (PoolClosed, ClusterLost, FileMistake):
            raise
        except (CommandError, WorkerDied, WorkerTimeout) as error:
            reason = str(error)
        except Exception as error:  # whatever it is, it says nothing about the configuration
            reason = f"{type(error).__name__}: {error}"
        else:
            self._tell_of_sharing(measurement.conditions)
            return measurement
        reason = f"the board's process failed: {reason}"
        return Measurement(status="board", reason=reason, board=self.name)

    def proves_itself(self, artifact: Artifact, took_s: float) -> Exception | None:
        """Why it fails to measure what took so long before, or None if it measures it."""
        measurement = self.measure(artifact, 1, max(_GRACE_S, 10 * took_s))
        if measurement.status == "correct":
            return None
        return BoardError(f"its check failed: {measurement.reason}")

    def close(self) -> None:
        """End its process at once."""
        self._workers.close()

    def _error_of_opening(self, failed: Artifact | None) -> Exception | None:
        try:
            with self._workers.lend() as worker:
                if self._was_tried and not self._is_open:
                    worker.replace()
                method = "open_again" if self._is_open else "opened"
                self._answer(worker, method, limit_s=_OPEN_LIMIT_S)
                if failed is not None:
                    self._bring(failed, worker)
                    self._answer(worker, "ship", failed, limit_s=_SEND_LIMIT_S)
                for note in worker.call("notes", timeout_s=_GRACE_S):
                    self._tell_once(note, note)
        except (PoolClosed, ClusterLost):
            raise
        except OSError as error:
            return BoardError(f"the board's process cannot work on this machine: {error}")
        except Exception as error:  # a bug is told like a fault, and ends a run that has no board
            return error
        return None

    def _bring(self, artifact: Artifact, worker: Lease) -> None:
        """Bring an artifact's files to its process, if that is on another machine."""
        if self._source.machine and worker.is_elsewhere:
            _send(artifact, worker, self._source.builds)

    def _answer(self, worker: Lease, method: str, *args: object, limit_s: float) -> Any:
        """The result of a call; what the board says before is told, unless it is out."""
        end_s = time.monotonic() + limit_s
        answer = worker.call(method, *args, timeout_s=limit_s)
        while isinstance(answer, Said):
            if self.error is None:
                self._tell(BoardSilent(self.name, answer.text))
            answer = worker.call("go_on", timeout_s=max(end_s - time.monotonic(), 0.0))
        return answer

    def _tell_of_sharing(self, conditions: Mapping[str, float | str]) -> None:
        """Say whom a measurement had to wait for; once for each of them."""
        if USED_BY in conditions:
            note = f"measurements wait for each other, in the order they come: {conditions[QUEUE]}"
            self._tell_once(note, f"shared with {conditions[USED_BY]}")

    def _tell_once(self, note: str, about: str) -> None:
        if about not in self._told:
            self._told.add(about)
            self._tell(BoardNote(self.name, note))


def _worker_pool(source: BoardSource) -> WorkerPool:
    is_here = not source.machine
    blueprint = Blueprint(
        BoardWorker,
        (source.load,),
        cpus=0,
        on_this_machine=is_here,
        machine=source.machine,
        leaves_nothing=source.leaves_nothing,
    )
    return WorkerPool([blueprint])


def _send(artifact: Artifact, worker: Lease, builds: Path) -> None:
    """Bring an artifact's files to a worker on another machine, if they are not there yet."""
    wanted = worker.call("missing", files_of(artifact), timeout_s=_SEND_LIMIT_S)
    if wanted:
        worker.call("unpack", packed(wanted), builds, timeout_s=_SEND_LIMIT_S)
