"""Builders and boards for one problem, running on Ray."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.workers.artifacts import ARTIFACT_FOLDER, ArtifactStore, BuildFailure
from engine.workers.board_pool import BoardPool
from engine.workers.board_seat import BoardSource
from engine.workers.builders import BUILD_LIMIT_S, Builder, BuilderPool, Builders
from engine.workers.callables import CallableBuilder
from engine.workers.devices import PYTHON_NAMES, load_board, machine_of
from engine.workers.distant_boards import distant_source
from engine.workers.gpu_board import loading_gpu
from engine.workers.gpu_builder import GpuBuildRequest, GpuKernelBuilder
from engine.workers.joint import JointBuilder, joint_board
from engine.workers.parcels import sources
from engine.workers.ray_nodes import cluster_cpus
from engine.workers.ray_session import ray_session
from engine.workers.shared_builders import ProblemBuilders, SharedBuilder
from foundation.config import Config
from foundation.errors import UserError
from foundation.processors import cores
from foundation.shapes import shape_text
from kernels.captured.names import split_task_name
from kernels.on_device import ProblemArguments, does_not_fit
from kernels.own.kernel_path import split_path
from kernels.registry import is_captured_task, is_kernel_file
from kernels.spec import Problem
from rvv_runner.board import Board, BoardInfo
from rvv_runner.measurement import Artifact, Measurement
from triton_rvv.codegen.link import LinkError, warm_up
from triton_rvv.codegen.zig import ZigError, has_libc
from triton_rvv.targets.target import Backend

__all__ = [
    "Workbench",
    "boards_at_once",
    "build_limit_s",
    "check_fits",
    "prepare_links",
    "prepare_runs_here",
    "seats",
    "shared_workbench",
    "workbench",
]


# Timed runs if the board is not deterministic. Over several shapes, a time is the mean of one run
# at each, so fewer of them say as much.
_REPEATS = 10
_FEWEST_REPEATS = 4


@dataclass(frozen=True)
class Workbench:
    """What turns a configuration into a measurement.

    Args:
        builders, boards: where the work is done.
        repeats: timed runs per measurement.
    """

    builders: Builders
    boards: BoardPool
    repeats: int

    def measure(self, config: Config, limit_s: float) -> tuple[Measurement, Artifact | None]:
        """Build and measure one configuration.

        Args:
            config: what to measure.
            limit_s: seconds that the board may take.

        Returns:
            The measurement, and what was measured: None if the build failed.

        Raises:
            UserError: for a mistake in a user's own file.
            BoardError: if no board is left.
        """
        built = self.builders.build(config)
        if isinstance(built, BuildFailure):
            return built.measurement, None
        return self.boards.measure(built, self.repeats, limit_s), built


def boards_at_once(info: BoardInfo) -> int:
    """How many boards a device stands for.

    Parallel runs do not disturb a deterministic board, so there is one per core.
    """
    return cores() if info.deterministic else 1


def seats(devices: Sequence[str], info: BoardInfo) -> list[str]:
    """The devices' names, each as often as it stands for a board."""
    return [name for name in devices for _ in range(boards_at_once(info))]


@contextlib.contextmanager
def shared_workbench(
    problem: Problem,
    devices: Sequence[str],
    info: BoardInfo,
    *,
    jobs: int,
    ray_address: str | None = None,
    repeats: int | None = None,
    tell: Callable[[str], None],
) -> Iterator[Callable[[Problem], Workbench]]:
    """Builders and boards for the kernels of one file, which all have names of their own.

    They are closed at the end of the block.

    Args:
        problem: any of them.
        devices, info, jobs, ray_address, repeats, tell: as for `workbench`.

    Yields:
        The workbench of a problem.

    Raises:
        UserError, BoardError: like `workbench`.
    """
    limit_s = build_limit_s(problem, info)
    prepare_links(info.backend, tell)
    prepare_runs_here(problem, info, tell)
    with ray_session(jobs, ray_address):
        if ray_address is not None:
            jobs = min(jobs, cluster_cpus())
        builders = BuilderPool(SharedBuilder, jobs, limit_s, _kernel_files(problem), info.backend)
        names = seats(devices, info)
        boards = BoardPool([_source_of(name, load_board, problem, info) for name in names])
        runs = 1 if info.deterministic else repeats or _REPEATS
        try:
            boards.wait_open(tell)
            yield lambda one: Workbench(
                ProblemBuilders(builders, one.spec.load_name, _builder_of(one, info)), boards, runs
            )
        finally:
            builders.close()
            boards.close()


@contextlib.contextmanager
def workbench(
    problem: Problem,
    devices: Sequence[str],
    info: BoardInfo,
    *,
    jobs: int,
    ray_address: str | None = None,
    repeats: int | None = None,
    more_problems: Sequence[Problem] = (),
    first: Config | None = None,
    tell: Callable[[str], None] = lambda stage: None,
) -> Iterator[Workbench]:
    """Builders and boards, closed at the end of the block.

    Args:
        problem: what is built.
        devices: names of boards of one kind; a name listed twice is opened twice.
        info: what is known about them.
        jobs: parallel builds.
        ray_address: of a Ray cluster to build on; None for this machine.
        repeats: timed runs per measurement if the board is not deterministic; None for ten, or
            fewer over several shapes.
        more_problems: the same kernel at other shapes; each configuration is also built for them
            and measured.
        first: a configuration whose arguments boards may make while kernels are built.
        tell: called with the next step, as shown to the user: "starting Ray".

    Raises:
        UserError: if the Ray cluster does not answer, or a GPU's memory cannot hold the arguments.
        BoardError: if no board can be used.
    """
    make_builder: Callable[[], Builder] = _builder_of(problem, info)
    problems = (problem, *more_problems)
    load: Callable[[str], Board] = load_board
    if first is not None and info.gpu is not None and info.name not in PYTHON_NAMES:
        for one in problems:
            too_large = does_not_fit(one, first, info.gpu)
            if too_large:
                raise UserError(f"{too_large}: give --shape smaller sizes")
        arguments = [ProblemArguments.of(one) for one in problems]
        load = loading_gpu(info, arguments, first)
    if more_problems:
        each = {shape_text(one.shape): _builder_of(one, info) for one in problems}
        make_builder = functools.partial(JointBuilder, each)
        load = functools.partial(joint_board, load)
    limit_s = len(problems) * build_limit_s(problem, info)
    if problem.spec.callable_file is None:
        prepare_links(info.backend, tell)
    prepare_runs_here(problem, info, tell)
    tell("starting Ray" if ray_address is None else f"joining the Ray cluster at {ray_address}")
    with ray_session(jobs, ray_address):
        names = list(dict.fromkeys(devices))
        tell(f"opening the board{'s' if len(names) > 1 else ''} {', '.join(names)}")
        if ray_address is not None:
            jobs = min(jobs, cluster_cpus())
        builders = BuilderPool(make_builder, jobs, limit_s, _kernel_files(problem), info.backend)
        pool = BoardPool([_source_of(name, load, problem, info) for name in devices])
        try:
            pool.wait_open(tell)
            usual = max(_REPEATS // len(problems), _FEWEST_REPEATS)
            runs = 1 if info.deterministic else repeats or usual
            yield Workbench(builders, pool, repeats=runs)
        finally:
            builders.close()
            pool.close()


def prepare_links(backend: Backend | Literal["cuda", "hip"], tell: Callable[[str], None]) -> None:
    """Let this machine's first static link be made before anything waits for it; only boards that
    run ELF files need one."""
    if backend not in ("rvv", "host") or has_libc(backend):
        return
    where = " of this machine" if backend == "host" else ""
    tell(f"building the C library for static links{where}, once: this takes minutes")
    with contextlib.suppress(LinkError, ZigError):  # the builders say what is wrong
        warm_up(backend)


def prepare_runs_here(problem: Problem, info: BoardInfo, tell: Callable[[str], None]) -> None:
    """The same for the runs of a user's own kernel on this machine, which find the inputs of the
    check: with a GPU, its own process has them."""
    spec = problem.spec
    if spec.file is not None and spec.callable_file is None and info.gpu is None:
        prepare_links("host", tell)


def build_limit_s(problem: Problem, info: BoardInfo) -> float:
    """Seconds that a build may take; for a GPU, it makes no contents of arguments."""
    return BUILD_LIMIT_S + (0.0 if info.gpu else problem.spec.arguments_limit_s)


def _builder_of(problem: Problem, info: BoardInfo) -> Callable[[], Builder]:
    """A function that makes the builder of a problem, in any process."""
    check_fits(problem, info)
    if problem.spec.callable_file is not None:
        return functools.partial(CallableBuilder, ProblemArguments.of(problem))
    store = ArtifactStore(ARTIFACT_FOLDER.resolve())
    if info.gpu is not None:
        source = ProblemArguments.of(problem)
        return functools.partial(GpuKernelBuilder, GpuBuildRequest(source, info, store))
    # LLVM is slow to import, and builds for a GPU do without it.
    from engine.workers.kernel_builder import BuildRequest, KernelBuilder

    request = BuildRequest(
        problem.spec.load_name, problem.shape, problem.dtype, info.target, store, problem.outputs
    )
    return functools.partial(KernelBuilder, request)


def check_fits(problem: Problem, info: BoardInfo) -> None:
    """Reject a callable on a board for kernels, and a kernel on one for callables.

    Raises:
        UserError: for either.
    """
    is_callable = problem.spec.callable_file is not None
    if is_callable != (info.name in PYTHON_NAMES):
        needed = " or ".join(PYTHON_NAMES) if is_callable else "a board"
        what = "a callable" if is_callable else "a Triton kernel"
        raise UserError(
            f"{problem.spec.name} is {what}, and {info.name} does not run one: give --device "
            f"{needed}"
        )


def _source_of(
    name: str, load: Callable[[str], Board], problem: Problem, info: BoardInfo
) -> BoardSource:
    """Where the pool gets a board from, on the machine that reaches it."""
    board, machine = machine_of(name)
    if machine:
        files = sources(_kernel_files(problem))
        found = distant_source(name, machine, board, load, info.backend, files)
    else:
        # A GPU's process keeps its memory, and Python's has run what a user wrote.
        kept = info.gpu is not None or board in PYTHON_NAMES
        found = BoardSource(name, functools.partial(load, name), leaves_nothing=not kept)
    is_machine = info.estimated or info.backend == "host"
    return dataclasses.replace(found, by_processor_time=is_machine)


def _kernel_files(problem: Problem) -> list[Path]:
    """The file of a user's own kernel, or of the capture of a program's."""
    name = problem.spec.load_name
    if is_captured_task(name):
        return [split_task_name(name)[0]]
    return [split_path(name)[0].resolve()] if is_kernel_file(name) else []
