"""Builds in worker processes, with a time limit each; a build that kills its worker has failed.

What the machine did is not the configuration's: a build that got no processor time or memory says
nothing about it.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from engine.workers.artifacts import ARTIFACT_FOLDER, BuildFailure
from engine.workers.machine import memory_kills
from engine.workers.parcels import (
    Parcel,
    TravellingFile,
    files_of,
    missing,
    packed,
    place_sources,
    sources,
    unpack,
)
from engine.workers.spans import Span, span
from engine.workers.toolchain import check_toolchain, toolchain_versions
from engine.workers.worker import (
    Blueprint,
    NodeLost,
    WorkerDied,
    WorkerOutOfMemory,
    WorkerTimeout,
)
from engine.workers.worker_pool import Lease, WorkerPool
from foundation.config import Config
from rvv_runner.measurement import Artifact
from rvv_runner.verdict import was_starved

__all__ = ["BUILD_LIMIT_S", "NO_TIME_LEFT", "Builder", "BuilderPool", "Builders"]

BUILD_LIMIT_S = 60.0
_NICENESS = 5  # a board measures first; on a busy machine, builds still get on
_ATTEMPTS = 2  # a worker may also die of something other than its build
_MACHINES = 3  # one may be lost by chance, but a build that ends each ends a whole cluster
NO_TIME_LEFT = BuildFailure("the time of the run was over before it was built", "board")


class Builder(Protocol):
    """Turns configurations of one problem into ELFs."""

    def build(self, config: Config) -> Artifact | BuildFailure:
        """The ELF of `config`, or why there is none."""
        ...


class Builders(Protocol):
    """Builds configurations of one problem, several at once."""

    def build(
        self, config: Config, spans: list[Span] | None = None, end_s: float | None = None
    ) -> Artifact | BuildFailure:
        """Build in the first free worker, as `BuilderPool.build` does."""
        ...

    def close(self) -> None:
        """End every worker at once."""
        ...


class _BuilderWorker:
    """Runs in a worker process; imports the compiler once."""

    def __init__(
        self,
        make_builder: Callable[[], Builder],
        kernel_files: Sequence[Parcel],
        tools: Mapping[str, str],
        backend: str,
    ) -> None:
        self._make_builder = make_builder
        self._kernel_files = kernel_files
        self._tools = tools
        self._backend = backend

    def open(self) -> None:
        _step_back()
        check_toolchain(self._tools, self._backend)
        place_sources(self._kernel_files)
        self._builder = self._make_builder()

    def build(self, config: Config) -> Artifact | BuildFailure:
        return self._builder.build(config)

    def files_of(self, artifact: Artifact) -> tuple[TravellingFile, ...]:
        return files_of(artifact)

    def packed(self, files: Sequence[TravellingFile]) -> tuple[Parcel, ...]:
        return packed(files)

    def close(self) -> None:
        """Nothing to release."""


@functools.cache
def _step_back() -> None:
    """Lower this process's priority, once."""
    os.nice(_NICENESS)


class BuilderPool:
    """Builds up to `jobs` configurations at once. Ray must be running.

    What another machine of a cluster has built is brought to this one.

    Args:
        make_builder: called once in each worker; picklable.
        jobs: number of workers.
        limit_s: seconds that one build may take.
        kernel_files: the user's own, which other machines get.
        backend: the kind of code that is built.
    """

    def __init__(
        self,
        make_builder: Callable[[], Builder],
        jobs: int,
        limit_s: float = BUILD_LIMIT_S,
        kernel_files: Sequence[Path] = (),
        backend: str = "rvv",
    ) -> None:
        self._limit_s = limit_s
        tools = toolchain_versions(backend)
        arguments = (make_builder, sources(kernel_files), tools, backend)
        # What a user's file imports stays in its process.
        blueprint = Blueprint(_BuilderWorker, arguments, leaves_nothing=not kernel_files)
        self._workers = WorkerPool([blueprint] * jobs)

    def build(
        self, config: Config, spans: list[Span] | None = None, end_s: float | None = None
    ) -> Artifact | BuildFailure:
        """Build in the first free worker; may be called from any thread.

        Args:
            config: what to build.
            spans: takes when and where it was built.
            end_s: when to end it, as `time.monotonic` gives it; None for its own limit alone.

        Raises:
            PoolClosed: if the pool is closed before the build is done.
            UserError: if a worker cannot start, or for a mistake in a user's own file.
        """
        spans = [] if spans is None else spans
        kills_before = memory_kills()
        deaths = losses = 0
        while deaths < _ATTEMPTS and losses < _MACHINES:
            with self._workers.lend() as worker, span(spans, "build", lambda: worker.place):
                limit_s = self._limit_s if end_s is None else end_s - time.monotonic()
                if limit_s <= 0:
                    return NO_TIME_LEFT
                try:
                    built: Artifact | BuildFailure = worker.call(
                        "build", config, timeout_s=min(limit_s, self._limit_s)
                    )
                    return self._brought_here(built, worker)
                except NodeLost:
                    losses += 1
                except WorkerTimeout as late:
                    return NO_TIME_LEFT if limit_s < self._limit_s else self._late(late.cpu_s)
                except WorkerOutOfMemory:
                    return _out_of_memory(worker)
                except WorkerDied:
                    deaths += 1
                    if memory_kills() > kills_before:
                        return _out_of_memory(worker)
        if losses == _MACHINES:
            return BuildFailure(f"{losses} machines were lost while they built it", "board")
        return BuildFailure(f"the build ended its process {_ATTEMPTS} times")

    def _brought_here(
        self, built: Artifact | BuildFailure, worker: Lease
    ) -> Artifact | BuildFailure:
        """What was built, once its files are on this machine."""
        if isinstance(built, BuildFailure) or not worker.is_elsewhere:
            return built
        try:
            wanted = missing(worker.call("files_of", built, timeout_s=self._limit_s))
            unpack(worker.call("packed", wanted, timeout_s=self._limit_s), ARTIFACT_FOLDER)
        except NodeLost:
            raise
        except (OSError, WorkerTimeout, WorkerDied) as error:
            return BuildFailure(f"what another machine built cannot be kept: {error}", "board")
        return built

    def _late(self, cpu_s: float | None) -> BuildFailure:
        limit = f"{self._limit_s:g} s"
        if cpu_s is None:
            return BuildFailure(
                f"the build gave no answer in {limit}, and its process ended", "board"
            )
        if not was_starved(cpu_s, self._limit_s):
            return BuildFailure(f"the build took longer than {limit}")
        return BuildFailure(
            f"in {limit}, the build got a processor for {cpu_s:.1f} s only", "board"
        )

    def close(self) -> None:
        """End every worker at once."""
        self._workers.close()


def _out_of_memory(worker: Lease) -> BuildFailure:
    """Go on with one builder less."""
    left = worker.retire()
    builders = "1 builder goes" if left == 1 else f"{left} builders go"
    return BuildFailure(f"this machine's memory ran out in the build: {builders} on", "board")
