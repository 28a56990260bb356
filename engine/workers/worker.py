"""One worker process on Ray: what it runs, where it runs, and how a call to it may end."""

from __future__ import annotations

import os
import re
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import ray
from ray.exceptions import (
    GetTimeoutError,
    OutOfMemoryError,
    RayActorError,
    RayError,
    RayTaskError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from engine.workers.ray_nodes import check_head, node_answers, node_named, this_node
from engine.workers.worker_process import ProcessKind, keep_spare, process_for
from foundation.errors import TooBusyError, UserError
from foundation.processors import used_cpu_s

__all__ = [
    "Blueprint",
    "NodeLost",
    "Worker",
    "WorkerDied",
    "WorkerGone",
    "WorkerLacks",
    "WorkerOutOfMemory",
    "WorkerTimeout",
]

_MISSING = re.compile(r"(ModuleNotFound|Import)Error\b")  # as tracebacks end

# A worker imports for seconds. On a machine that runs more than it has cores, the wait is repeated,
# since the worker may still get its turn.
_OPEN_LIMIT_S = 120.0
_WAITS_WHILE_BUSY = 8
_ANSWER_LIMIT_S = 30.0  # of another machine, which may start a process for it


class WorkerTimeout(Exception):
    """A call did not return within its time limit.

    Attributes:
        cpu_s: processor time that its process used meanwhile; None if that process has ended.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.cpu_s: float | None = None


class WorkerDied(Exception):
    """The worker's process ended during a call."""


class WorkerGone(WorkerDied):
    """The worker's process had ended before it was called."""


class WorkerLacks(WorkerDied):
    """The worker cannot import a module, and no other worker could."""


class NodeLost(WorkerDied):
    """The worker's machine does not answer any more."""


class WorkerOutOfMemory(WorkerDied):
    """Ray ended the worker's process since the machine's memory ran out."""


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


def _own_cpu_s(_worker: object) -> float | None:
    """In a worker: processor time that its process has used."""
    return used_cpu_s(os.getpid())


def _cpu_elsewhere_s(place: _Place) -> float | None:
    """Processor time that a process of another machine and its children have used; None if it
    cannot be asked."""
    there = NodeAffinitySchedulingStrategy(place.node, soft=False)
    asked = ray.remote(used_cpu_s).options(num_cpus=0, scheduling_strategy=there)
    try:
        told = asked.remote(place.pid, with_children=True)
        answer: float | None = ray.get(told, timeout=_ANSWER_LIMIT_S)
    except RayError:
        return None
    return answer


def _still_starts(node: str) -> bool:
    """Whether a machine starts what it is asked to run now.

    Where one of Ray's own processes has ended, Ray ends all workers of the machine, one after the
    other, and only then does the machine stop to answer.
    """
    there = NodeAffinitySchedulingStrategy(node, soft=False)
    asked = ray.remote(this_node).options(num_cpus=0, max_retries=0, scheduling_strategy=there)
    try:
        ray.get(asked.remote(), timeout=_ANSWER_LIMIT_S)
    except GetTimeoutError:
        return True  # it is busy
    except RayError:
        return False
    return True


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
        leaves_nothing: whether its process, once it has closed, may have another such worker.
    """

    worker_class: type
    args: tuple[object, ...] = ()
    cpus: float = 1
    on_this_machine: bool = False
    machine: str = ""
    leaves_nothing: bool = False

    @property
    def node(self) -> str | None:
        """Ray's id of the machine where it must run now; None for any."""
        if self.machine:
            return node_named(self.machine)
        return this_node() if self.on_this_machine else None


class Worker:
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
        self._kind = ProcessKind(blueprint.worker_class, blueprint.cpus, blueprint.node)
        self._handle = process_for(self._kind, may_be_spare=blueprint.leaves_nothing)
        self._told_place = self._handle.__ray_call__.remote(_place_of)
        self._place: _Place | None = None  # until it was asked for
        folders = [str(Path(folder).absolute()) for folder in sys.path]
        self._opened = self._handle.open.remote(
            blueprint.worker_class, blueprint.args, folders, sys.argv[0]
        )

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
        before_s = self._cpu_before_s()
        try:
            return self._get(self._handle.call.remote(method, *args), timeout_s)
        except WorkerTimeout as late:
            self._check_machines(late)
            after_s = self._cpu_after_s()
            late.cpu_s = None if after_s is None else after_s - before_s
            raise
        except WorkerDied as error:
            self._check_machines(error)
            if not isinstance(error, WorkerOutOfMemory) and not _still_starts(self.where.node):
                check_head()
                raise NodeLost("its machine starts nothing any more") from error
            raise

    @property
    def where(self) -> _Place:
        """Where an open worker runs.

        Raises:
            WorkerGone: if its process has ended.
        """
        if self._place is None:
            self._place = self._told(self._told_place)
        return self._place

    @property
    def place(self) -> str:
        builder = f"builder {self._number}"
        return f"{builder} on {self.where.host}" if self.is_elsewhere else builder

    @property
    def is_elsewhere(self) -> bool:
        """Whether an open worker is on another machine."""
        return self.where.node != this_node()

    def _check_machines(self, error: Exception) -> None:
        """Raise something else if a machine, and not the worker, is why a call has failed."""
        check_head()
        if self._place is not None and self.is_elsewhere and not node_answers(self._place.node):
            raise NodeLost("its machine left the cluster") from error

    def _cpu_before_s(self) -> float:
        """Processor time that it has used.

        Raises:
            WorkerGone: if it does not tell, as its process has ended.
        """
        if self.is_elsewhere:
            used_s: float | None = self._told(self._handle.__ray_call__.remote(_own_cpu_s))
        else:
            used_s = used_cpu_s(self.where.pid)
        if used_s is None:
            raise WorkerGone("its process has ended")
        return used_s

    def _told(self, answer: Any) -> Any:
        """What it answers at once between two calls."""
        try:
            return self._get(answer, _ANSWER_LIMIT_S)
        except (WorkerTimeout, WorkerDied) as error:
            self._check_machines(error)
            raise WorkerGone(str(error)) from error

    def _cpu_after_s(self) -> float | None:
        """The same while a call runs, with the programs that it started; None if its process has
        ended."""
        if self.is_elsewhere:
            return _cpu_elsewhere_s(self.where)
        return used_cpu_s(self.where.pid, with_children=True)

    def begin_close(self) -> Any:
        return self._handle.close.remote()

    def end(self, closed: Any) -> None:
        """End the process, or keep it for another worker.

        Args:
            closed: what `begin_close` returned.
        """
        if self._blueprint.leaves_nothing and self._is_done(closed):
            keep_spare(self._kind, self._handle)
        else:
            self.kill()

    @staticmethod
    def _is_done(closed: Any) -> bool:
        try:
            ray.get(closed, timeout=0)
        except Exception:  # whatever closing raises, or it is not done
            return False
        return True

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
            lines = str(error).splitlines()
            # Behind the first, a process that could not begin has a traceback, whose last says why.
            why = lines[-1 if error.actor_init_failed else 0]
            raise (WorkerLacks if _MISSING.match(why) else WorkerDied)(why) from error
        except RayTaskError as error:
            raise error.cause from error
