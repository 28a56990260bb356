"""Builders and boards for one problem on one device, ready to use, with Ray underneath."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass

from engine.artifacts import ARTIFACT_FOLDER, ArtifactStore
from engine.board_pool import BoardPool
from engine.build import BuildRequest, KernelBuilder
from engine.builders import BuilderPool
from engine.ray_workers import ray_session
from kernels.spec import Problem
from rvv_runner.board import BoardInfo
from rvv_runner.devices import load_board
from triton_rvv.target import RVVTarget

__all__ = ["Workbench", "boards_at_once", "cores", "workbench"]


_REPEATS = 10  # where the board does not repeat itself to the bit


@dataclass(frozen=True)
class Workbench:
    """What turns a configuration into a measurement.

    Args:
        builders, boards: where the work is done.
        repeats: timed runs of a measurement.
    """

    builders: BuilderPool
    boards: BoardPool
    repeats: int


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0))


def boards_at_once(info: BoardInfo) -> int:
    """How many boards a device stands for.

    One that repeats itself to the bit is not disturbed by a neighbour, so there is one a core.
    """
    return cores() if info.deterministic else 1


@contextlib.contextmanager
def workbench(
    problem: Problem,
    device: str,
    info: BoardInfo,
    *,
    jobs: int,
    boards: int,
    ray_address: str | None = None,
) -> Iterator[Workbench]:
    """Builders and boards, which are closed at the end of the block.

    Args:
        problem: what is built.
        device, info: the name of the board and what is known of it.
        jobs: builds at once.
        boards: boards at once.
        ray_address: of a Ray cluster to build on; None for this machine.

    Raises:
        UserError: where the Ray cluster does not answer.
        BoardError: where a board cannot be used.
    """
    target = RVVTarget(vlen_bits=info.vlen_bits, cpu=info.cpu)
    store = ArtifactStore(ARTIFACT_FOLDER.resolve())
    request = BuildRequest(problem.spec.name, problem.shape, problem.dtype, target, store)
    with ray_session(jobs, ray_address):
        builders = BuilderPool(functools.partial(KernelBuilder, request), jobs)
        pool = BoardPool([functools.partial(load_board, device)] * boards)
        try:
            pool.wait_open()
            yield Workbench(builders, pool, repeats=1 if info.deterministic else _REPEATS)
        finally:
            builders.close()
            pool.close()
