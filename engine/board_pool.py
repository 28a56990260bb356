"""Boards in worker processes: one job a board, and a board's fault is never the configuration's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from engine.ray_workers import Blueprint, WorkerDied, WorkerPool, WorkerTimeout
from rvv_runner.board import Board
from rvv_runner.measurement import Artifact, Measurement

__all__ = ["BoardPool"]

_ATTEMPTS = 3
_GRACE_S = 15.0  # a board returns within its limit and a few seconds; later, its worker hangs


class _BoardWorker:
    """Lives in a worker process; owns one board."""

    def __init__(self, load: Callable[[], Board]) -> None:
        self._load = load

    def open(self) -> None:
        self._board = self._load()
        self._board.open()

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        return self._board.measure(artifact, repeats, timeout_s)

    def close(self) -> None:
        self._board.close()


class BoardPool:
    """Measures on whichever board is free. Ray has to be ready.

    Boards are attached to this machine, so their workers run here even where the builds run on a
    cluster.

    Args:
        loaders: one for each board, called in the board's own process; picklable.
    """

    def __init__(self, loaders: Sequence[Callable[[], Board]]) -> None:
        blueprints = [
            Blueprint(_BoardWorker, (load,), cpus=0, on_this_machine=True) for load in loaders
        ]
        self._workers = WorkerPool(blueprints)

    def wait_open(self) -> None:
        """Wait until every board is ready.

        Raises:
            BoardError: where one cannot be used.
        """
        self._workers.wait_open()

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        """Measure on the first free board; may be called from any thread.

        After a board's fault the board is opened anew and the job goes to the next free one, three
        times in all; only then is the measurement's status "board".

        Raises:
            PoolClosed: where the pool is closed before the measurement is done.
            BoardError: where a board cannot be opened again.
        """
        measurement: Measurement = Measurement(status="board", reason="not measured")
        for _ in range(_ATTEMPTS):
            with self._workers.lend() as worker:
                try:
                    measurement = worker.call(
                        "measure", artifact, repeats, timeout_s, timeout_s=timeout_s + _GRACE_S
                    )
                except (WorkerTimeout, WorkerDied) as error:
                    measurement = Measurement(
                        status="board", reason=f"the board's own process failed: {error}"
                    )
                    continue
                if measurement.status != "board":
                    break
                worker.replace()
        else:
            reason = f"{measurement.reason} ({_ATTEMPTS} attempts)"
            measurement = replace(measurement, reason=reason)
        return measurement

    def close(self) -> None:
        """End every board's process at once."""
        self._workers.close()
