"""Builds in worker processes, with a time limit each; a build that kills its worker has failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from engine.workers.artifacts import BuildFailure
from engine.workers.worker_pool import Blueprint, WorkerDied, WorkerPool, WorkerTimeout
from foundation.config import Config
from rvv_runner.measurement import Artifact

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
        for _ in range(_ATTEMPTS):
            with self._workers.lend() as worker:
                try:
                    built: Artifact | BuildFailure = worker.call(
                        "build", config, timeout_s=self._limit_s
                    )
                    return built
                except WorkerTimeout:
                    return BuildFailure(f"the build took longer than {self._limit_s:g} s")
                except WorkerDied:
                    continue
        return BuildFailure(f"the build ended its process {_ATTEMPTS} times")

    def close(self) -> None:
        """End every worker at once."""
        self._workers.close()
