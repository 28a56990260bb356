"""The processes of workers, some of which outlive their pool for the next one.

Ray takes a second to start a process, and a builder imports torch and the compiler for three more.
A command that runs several studies starts its processes once.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

__all__ = ["ProcessKind", "end_spares", "forget_spares", "keep_spare", "process_for"]


class ProcessKind(NamedTuple):
    """Processes of one kind can take each other's place.

    Args:
        worker_class: what runs in it.
        cpus: how many processors Ray reserves for it.
        node: Ray's id of its machine; None for any.
    """

    worker_class: type
    cpus: float
    node: str | None


class _WorkerProcess:
    """Runs in the process: one worker after another."""

    def open(
        self, worker_class: type, args: Sequence[object], folders: Sequence[str], program: str
    ) -> None:
        # Behind its own: modules that a user's program finds by a path of its own.
        sys.path.extend(folder for folder in folders if folder not in sys.path)
        sys.argv[0] = program  # so that messages name commands as the program does
        self._worker: Any = worker_class(*args)
        self._worker.open()

    def call(self, method: str, *args: object) -> object:
        return getattr(self._worker, method)(*args)

    def close(self) -> None:
        worker, self._worker = self._worker, None
        worker.close()


_lock = threading.Lock()
_spares: list[tuple[ProcessKind, Any]] = []


def process_for(kind: ProcessKind, *, may_be_spare: bool) -> Any:
    """The handle of a process without a worker.

    Args:
        kind: of the process.
        may_be_spare: whether it may have had other workers.
    """
    if may_be_spare:
        with _lock:
            # The last one first: it has been idle for the least time.
            for place in reversed(range(len(_spares))):
                if _spares[place][0] == kind:
                    return _spares.pop(place)[1]
    if kind.cpus:  # which spare ones may hold
        end_spares()
    options: dict[str, Any] = {"num_cpus": kind.cpus, "max_restarts": 0}
    if kind.node is not None:
        options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(kind.node, soft=False)
    return ray.remote(_WorkerProcess).options(**options).remote()


def keep_spare(kind: ProcessKind, handle: Any) -> None:
    """Keep a process, whose worker has closed, for the next one of its kind."""
    with _lock:
        _spares.append((kind, handle))


def end_spares() -> None:
    """End the spare processes that hold processors."""
    with _lock:
        ended = [handle for kind, handle in _spares if kind.cpus]
        _spares[:] = [(kind, handle) for kind, handle in _spares if not kind.cpus]
    for handle in ended:
        ray.kill(handle, no_restart=True)


def forget_spares() -> None:
    """Spare processes end with their Ray."""
    with _lock:
        _spares.clear()
