"""Worker processes on Ray: started once, lent one at a time, replaced if they hang or die."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import ray

from engine.workers.ray_nodes import is_head_lost
from engine.workers.worker import (
    Blueprint,
    NodeLost,
    Worker,
    WorkerDied,
    WorkerGone,
    WorkerLacks,
    WorkerTimeout,
)
from foundation.errors import TooBusyError, UserError
from foundation.refusals import full_temporary_folder

__all__ = ["Lease", "PoolClosed", "WorkerPool"]

_CLOSE_LIMIT_S = 2.0
_STARTS = 3  # a process may be killed while it starts, for example if memory is short


class PoolClosed(Exception):
    """The pool was closed while the call was waiting or running."""


class Lease:
    """A worker while it is lent to a borrower."""

    def __init__(self, pool: WorkerPool, worker: Worker) -> None:
        self._pool = pool
        self._worker = worker
        # The worker by its number in the pool, and its machine if that is another one.
        self.place = ""

    def call(self, method: str, *args: object, timeout_s: float) -> Any:
        """What the worker's `method(*args)` returns; an exception raised there is raised here.

        A worker whose process ended since its last call is replaced before this one.

        Raises:
            WorkerTimeout: after `timeout_s`; the worker has been replaced.
            WorkerDied: if its process ended; the worker has been replaced. If its machine was
                lost, it is a NodeLost, and the pool does without the worker unless it is the last.
            PoolClosed: if the pool was closed meanwhile.
            UserError: if the worker could not start, or the head of the cluster is lost.
        """
        try:
            return self._called(method, args, timeout_s)
        except NodeLost:
            if self.retire() == 1:
                self.replace()
            raise
        except (WorkerTimeout, WorkerDied):
            self.replace()
            raise

    def _called(self, method: str, args: Sequence[object], timeout_s: float) -> Any:
        for _ in range(_STARTS):
            self._pool.wait_open_of(self._worker)
            try:
                self.place = self._worker.place
                return self._worker.call(method, *args, timeout_s=timeout_s)
            except WorkerGone:
                self.replace()
        raise TooBusyError(
            f"a worker died {_STARTS} times before it was called: end other programs"
        )

    @property
    def is_elsewhere(self) -> bool:
        """Whether the worker, which was called before, is on another machine."""
        return self._worker.is_elsewhere

    def replace(self) -> None:
        """End the worker's process and start another in its place."""
        self._pool.restart(self._worker)

    def retire(self) -> int:
        """Do without this worker from now on, if it is not the last.

        Returns:
            How many are left.
        """
        return self._pool.retire(self._worker)


class WorkerPool:
    """Workers, each lent to one thread at a time; every method may be called from any thread.

    Ray must be running. Workers start in the background, and each is lent once it is ready, so that
    nobody waits for one while another is free.
    """

    def __init__(self, blueprints: Sequence[Blueprint]) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._workers = [
            Worker(blueprint, number) for number, blueprint in enumerate(blueprints, start=1)
        ]
        self._failed: dict[Worker, Exception] = {}
        self._idle: queue.SimpleQueue[Worker | None] = queue.SimpleQueue()
        self._opening = [
            threading.Thread(target=self._offer_once_open, args=(worker,), daemon=True)
            for worker in self._workers
        ]
        for thread in self._opening:
            thread.start()

    def wait_open_of(self, worker: Worker) -> None:
        """Wait until `worker` is ready; if its process dies meanwhile, it is started again.

        Raises:
            UserError: if it does not start; a TooBusyError if fewer workers might.
            PoolClosed: if the pool was closed meanwhile.
        """
        if worker in self._failed:
            raise self._failed[worker]
        for start in range(1, _STARTS + 1):
            try:
                worker.wait_open()
                return
            except WorkerLacks as error:
                raise UserError(
                    f"a worker ({worker.name}) cannot begin ({error}): install what is missing for "
                    f"{sys.executable}, or rename what hides it"
                ) from error
            except WorkerDied as error:
                if start == _STARTS:
                    if folder := full_temporary_folder():
                        raise UserError(
                            f"a worker ({worker.name}) died {_STARTS} times while it started, and "
                            f"the disk of {folder} is full: free some space there, or set TMPDIR "
                            "to a folder on another disk"
                        ) from error
                    raise TooBusyError(
                        f"a worker ({worker.name}) died {_STARTS} times while it started "
                        f"({error}): end other programs"
                    ) from error
                self.restart(worker)

    def _offer_once_open(self, worker: Worker) -> None:
        """Make a worker idle once it is ready; if it fails, whoever borrows it is told why."""
        try:
            self.wait_open_of(worker)
        except Exception as error:
            self._failed[worker] = error
        self._idle.put(worker)

    @contextlib.contextmanager
    def lend(self) -> Iterator[Lease]:
        """An idle worker, as soon as there is one; one that failed to open counts as idle.

        Raises:
            PoolClosed: if the pool is closed before or while the worker is lent.
        """
        worker = self._idle.get()
        if worker is None:
            self._idle.put(None)
            raise PoolClosed
        try:
            yield Lease(self, worker)
        finally:
            if worker in self._workers:
                self._idle.put(worker)

    def restart(self, worker: Worker) -> None:
        """End `worker`'s process and start another."""
        with self._lock:
            if self._closed:
                raise PoolClosed
            worker.kill()
            worker.start()
            self._failed.pop(worker, None)

    def retire(self, worker: Worker) -> int:
        """End `worker`'s process for good, if it is not the last; returns how many are left."""
        with self._lock:
            if self._closed:
                raise PoolClosed
            if len(self._workers) > 1:
                self._workers.remove(worker)
                worker.kill()
            return len(self._workers)

    def close(self) -> None:
        """Close the idle workers and end the others; their borrowers get PoolClosed.

        Processes of idle workers that leave nothing in them are kept for other pools.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
        idle = self._take_idle()
        self._idle.put(None)
        if is_head_lost():
            return
        closing = {worker: worker.begin_close() for worker in idle}
        for worker in self._workers:
            if worker not in idle:
                worker.kill()
        for thread in self._opening:  # which ask Ray, and it may end next
            thread.join(_CLOSE_LIMIT_S)
        if closing:
            ray.wait([*closing.values()], num_returns=len(closing), timeout=_CLOSE_LIMIT_S)
        for worker, closed in closing.items():
            worker.end(closed)

    def _take_idle(self) -> list[Worker]:
        idle = []
        with contextlib.suppress(queue.Empty):
            while worker := self._idle.get_nowait():
                idle.append(worker)
        return idle
