"""Builds in worker processes, with a time limit each; a build that kills its worker has failed.

What the machine did is not the configuration's: a build that got no processor time or memory says
nothing about it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from engine.workers.artifacts import BuildFailure
from engine.workers.machine import memory_kills
from engine.workers.worker_pool import (
    Blueprint,
    Lease,
    WorkerDied,
    WorkerOutOfMemory,
    WorkerPool,
    WorkerTimeout,
)
from foundation.config import Config
from rvv_runner.measurement import Artifact
from rvv_runner.verdict import was_starved

__all__ = ["BUILD_LIMIT_S", "Builder", "BuilderPool"]

BUILD_LIMIT_S = 60.0
_ATTEMPTS = 2  # a worker may also die of something other than its build


class Builder(Protocol):
    """Turns configurations of one problem into ELFs."""

    def build(self, config: Config) -> Artifact | BuildFailure:
        """The ELF of `config`, or why there is none."""
        ...


class _BuilderWorker:
    """Runs in a worker process; imports the compiler once."""

    def __init__(self, make_builder: Callable[[], Builder]) -> None:
        self._make_builder = make_builder

    def open(self) -> None:
        self._builder = self._make_builder()

    def build(self, config: Config) -> Artifact | BuildFailure:
        return self._builder.build(config)

    def close(self) -> None:
        """Nothing to release."""


class BuilderPool:
    """Builds up to `jobs` configurations at once. Ray must be running.

    Args:
        make_builder: called once in each worker; picklable.
        jobs: number of workers.
        limit_s: seconds that one build may take.
    """

    def __init__(
        self, make_builder: Callable[[], Builder], jobs: int, limit_s: float = BUILD_LIMIT_S
    ) -> None:
        self._limit_s = limit_s
        blueprint = Blueprint(_BuilderWorker, (make_builder,))
        self._workers = WorkerPool([blueprint] * jobs)

    def build(self, config: Config) -> Artifact | BuildFailure:
        """Build in the first free worker; may be called from any thread.

        Raises:
            PoolClosed: if the pool is closed before the build is done.
            UserError: if a worker cannot start, or for a mistake in a user's own file.
        """
        kills_before = memory_kills()
        for _ in range(_ATTEMPTS):
            with self._workers.lend() as worker:
                try:
                    built: Artifact | BuildFailure = worker.call(
                        "build", config, timeout_s=self._limit_s
                    )
                    return built
                except WorkerTimeout as late:
                    return self._late(late.cpu_s)
                except WorkerOutOfMemory:
                    return _out_of_memory(worker)
                except WorkerDied:
                    if memory_kills() > kills_before:
                        return _out_of_memory(worker)
        return BuildFailure(f"the build ended its process {_ATTEMPTS} times")

    def _late(self, cpu_s: float | None) -> BuildFailure:
        if cpu_s is None or not was_starved(cpu_s, self._limit_s):
            return BuildFailure(f"the build took longer than {self._limit_s:g} s")
        reason = f"in {self._limit_s:g} s, the build got a processor for {cpu_s:.1f} s only"
        return BuildFailure(reason, "board")

    def close(self) -> None:
        """End every worker at once."""
        self._workers.close()


def _out_of_memory(worker: Lease) -> BuildFailure:
    """Go on with one builder less."""
    left = worker.retire()
    builders = "1 builder goes" if left == 1 else f"{left} builders go"
    return BuildFailure(f"this machine's memory ran out in the build: {builders} on", "board")
