"""Worker processes on Ray: started once, lent one at a time, replaced if they hang or die."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import ray
from ray.exceptions import GetTimeoutError, OutOfMemoryError, RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from engine.workers.ray_nodes import (
    check_head,
    is_head_lost,
    node_answers,
    node_named,
    this_node,
)
from foundation.errors import TooBusyError, UserError
from foundation.processors import used_cpu_s

__all__ = [
    "Blueprint",
    "Lease",
    "NodeLost",
    "PoolClosed",
    "WorkerDied",
    "WorkerOutOfMemory",
    "WorkerPool",
    "WorkerTimeout",
]

# A worker imports for seconds. On a machine that runs more than it has cores, the wait is repeated,
# since the worker may still get its turn.
_OPEN_LIMIT_S = 120.0
_WAITS_WHILE_BUSY = 8
_CLOSE_LIMIT_S = 2.0
_STARTS = 3  # a process may be killed while it starts, for example if memory is short


class WorkerTimeout(Exception):
    """A call did not return within its time limit.

    Attributes:
        cpu_s: processor time that its process used meanwhile; None on another machine.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.cpu_s: float | None = None


class WorkerDied(Exception):
    """The worker's process ended during a call."""


class NodeLost(WorkerDied):
    """The worker's machine does not answer any more."""


class WorkerOutOfMemory(WorkerDied):
    """Ray ended the worker's process since the machine's memory ran out."""


class PoolClosed(Exception):
    """The pool was closed while the call was waiting or running."""


def _is_busy() -> bool:
    """Whether more wants to run on this machine than it has cores."""
    return os.getloadavg()[0] > (os.cpu_count() or 1)


class _Place(NamedTuple):
    """Where a worker runs: Ray's id of its machine, the machine's name, its process there."""

    node: str
    host: str
    pid: int


def _place_of(_worker: object) -> _Place:
    """In a worker: where it runs."""
    return _Place(this_node(), socket.gethostname(), os.getpid())


@dataclass(frozen=True)
class Blueprint:
    """How to start a worker.

    Args:
        worker_class: has a method `open()`, called once before any other, and a method `close()`;
            the worker must be able to import it.
        args: its constructor's arguments; picklable.
        cpus: how many processors Ray reserves for it.
        on_this_machine: whether it must run here, and not on another node of a cluster.
        machine: of a cluster, where it must run; "" for any.
    """

    worker_class: type
    args: tuple[object, ...] = ()
    cpus: float = 1
    on_this_machine: bool = False
    machine: str = ""

    @property
    def node(self) -> str | None:
        """Ray's id of the machine where it must run now; None for any."""
        if self.machine:
            return node_named(self.machine)
        return this_node() if self.on_this_machine else None


class _Worker:
    """One process, which runs one call at a time."""

    def __init__(self, blueprint: Blueprint, number: int) -> None:
        self._blueprint = blueprint
        self._number = number
        self.start()

    @property
    def name(self) -> str:
        """Its class, for messages."""
        return self._blueprint.worker_class.__name__

    def start(self) -> None:
        check_head()
        blueprint = self._blueprint
        options: dict[str, Any] = {"num_cpus": blueprint.cpus, "max_restarts": 0}
        if (node := blueprint.node) is not None:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node, soft=False)
        self._handle = ray.remote(blueprint.worker_class).options(**options).remote(*blueprint.args)
        self._told_place = self._handle.__ray_call__.remote(_place_of)
        self._place: _Place | None = None  # until it was asked for
        self._opened = self._handle.open.remote()

    def wait_open(self) -> None:
        check_head()
        for waits in range(1, _WAITS_WHILE_BUSY + 1):
            try:
                self._get(self._opened, _OPEN_LIMIT_S)
                return
            except WorkerTimeout:
                late = f"a worker ({self.name}) was not ready after {waits * _OPEN_LIMIT_S:.0f} s"
                if not _is_busy():
                    raise UserError(
                        f"{late}, though this machine is not busy: run the command again"
                    ) from None
        raise TooBusyError(f"{late}, since this machine is busy: end other programs")

    def call(self, method: str, *args: object, timeout_s: float) -> Any:
        check_head()
        before_s = self._cpu_s()
        try:
            return self._get(getattr(self._handle, method).remote(*args), timeout_s)
        except (WorkerTimeout, WorkerDied) as error:
            self._check_machines(error)
            if isinstance(error, WorkerTimeout):
                after_s = self._cpu_s()
                if before_s is not None and after_s is not None:
                    error.cpu_s = after_s - before_s
            raise

    @property
    def place(self) -> str:
        if self._place is None or not self.is_elsewhere:
            return f"builder {self._number}"
        return f"builder {self._number} on {self._place.host}"

    @property
    def is_elsewhere(self) -> bool:
        """Whether an open worker is on another machine."""
        if self._place is None:
            self._place = self._get(self._told_place, _OPEN_LIMIT_S)
        return self._place.node != this_node()

    def _check_machines(self, error: Exception) -> None:
        """Raise something else if a machine, and not the worker, is why a call has failed."""
        check_head()
        if self._place is not None and self.is_elsewhere and not node_answers(self._place.node):
            raise NodeLost("its machine left the cluster") from error

    def _cpu_s(self) -> float | None:
        """Processor time that an open worker has used; None if it is on another machine."""
        if self.is_elsewhere or self._place is None:
            return None
        return used_cpu_s(self._place.pid)

    def begin_close(self) -> Any:
        return self._handle.close.remote()

    def kill(self) -> None:
        """End the process; Ray also ends the processes that it started."""
        check_head()
        ray.kill(self._handle, no_restart=True)

    @staticmethod
    def _get(reference: Any, timeout_s: float) -> Any:
        try:
            return ray.get(reference, timeout=timeout_s)
        except GetTimeoutError:
            raise WorkerTimeout(f"no answer within {timeout_s:g} s") from None
        except OutOfMemoryError as error:
            raise WorkerOutOfMemory("the machine's memory ran out") from error
        except RayActorError as error:
            raise WorkerDied(str(error).splitlines()[0]) from error
        except RayTaskError as error:
            raise error.cause from error


class Lease:
    """A worker while it is lent to a borrower."""

    def __init__(self, pool: WorkerPool, worker: _Worker) -> None:
        self._pool = pool
        self._worker = worker

    def call(self, method: str, *args: object, timeout_s: float) -> Any:
        """What the worker's `method(*args)` returns; an exception raised there is raised here.

        Raises:
            WorkerTimeout: after `timeout_s`; the worker has been replaced.
            WorkerDied: if its process ended; the worker has been replaced. If its machine was
                lost, it is a NodeLost, and the pool does without the worker unless it is the last.
            PoolClosed: if the pool was closed meanwhile.
            UserError: if the worker could not start, or the head of the cluster is lost.
        """
        self._pool.wait_open_of(self._worker)
        try:
            return self._worker.call(method, *args, timeout_s=timeout_s)
        except NodeLost:
            if self.retire() == 1:
                self.replace()
            raise
        except (WorkerTimeout, WorkerDied):
            self.replace()
            raise

    @property
    def place(self) -> str:
        """The worker by its number in the pool, and its machine if that is another one."""
        return self._worker.place

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
            _Worker(blueprint, number) for number, blueprint in enumerate(blueprints, start=1)
        ]
        self._failed: dict[_Worker, Exception] = {}
        self._idle: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()
        self._opening = [
            threading.Thread(target=self._offer_once_open, args=(worker,), daemon=True)
            for worker in self._workers
        ]
        for thread in self._opening:
            thread.start()

    def wait_open_of(self, worker: _Worker) -> None:
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
            except WorkerDied as error:
                if start == _STARTS:
                    raise TooBusyError(
                        f"a worker ({worker.name}) died {_STARTS} times while it started "
                        f"({error}): end other programs"
                    ) from error
                self.restart(worker)

    def _offer_once_open(self, worker: _Worker) -> None:
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

    def restart(self, worker: _Worker) -> None:
        """End `worker`'s process and start another."""
        with self._lock:
            if self._closed:
                raise PoolClosed
            worker.kill()
            worker.start()
            self._failed.pop(worker, None)

    def retire(self, worker: _Worker) -> int:
        """End `worker`'s process for good, if it is not the last; returns how many are left."""
        with self._lock:
            if self._closed:
                raise PoolClosed
            if len(self._workers) > 1:
                self._workers.remove(worker)
                worker.kill()
            return len(self._workers)

    def close(self) -> None:
        """Close the idle workers and end the others; their borrowers get PoolClosed."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        idle = self._take_idle()
        self._idle.put(None)
        if is_head_lost():
            return
        closing = [worker.begin_close() for worker in idle]
        for worker in self._workers:
            if worker not in idle:
                worker.kill()
        for thread in self._opening:  # which ask Ray, and it may end next
            thread.join(_CLOSE_LIMIT_S)
        if closing:
            ray.wait(closing, num_returns=len(closing), timeout=_CLOSE_LIMIT_S)
        for worker in idle:
            worker.kill()

    def _take_idle(self) -> list[_Worker]:
        idle = []
        with contextlib.suppress(queue.Empty):
            while worker := self._idle.get_nowait():
                idle.append(worker)
        return idle
