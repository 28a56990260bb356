"""One run of a study: open it, try configurations until the budget is used up, sum it up."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from engine.artifacts import ARTIFACT_FOLDER, digest
from engine.events import Listener, RunEnded
from engine.history import history_of
from engine.loop import Budget, TuningLoop
from engine.results.summary import Summary, summarise
from engine.search import Search
from engine.study import DEFAULT_STORAGE, StudyIdentity, open_study
from engine.toolchain import toolchain_versions
from engine.workbench import boards_at_once, workbench
from kernels.registry import load_kernel, make_problem
from kernels.spec import OWN_OUTPUTS, Outputs, Problem
from rvv_runner.board import BoardInfo
from rvv_runner.devices import load_board
from search_spaces.registry import space_for

__all__ = ["TuningRequest", "TuningResult", "identity_of", "made_with", "tune"]

_STATUS_AT_SECOND_SIGNAL = 130  # what a shell reports for a process that Ctrl-C ended
_SHOW_CURSOR = b"\x1b[?25h"  # the live progress line hides it


@dataclass(frozen=True)
class TuningRequest:
    """What the user asked for.

    Args:
        kernel: registered name.
        shape: sizes that differ from the kernel's default.
        dtype: element type, None for the kernel's first.
        devices: names of boards of one kind.
        sampler: name of the sampler.
        trials: distinct configurations to try in the study, earlier runs included; None for all.
        timeout_s: start nothing new after so many seconds; None for no limit.
        storage: a journal file or an Optuna URL; None for the default.
        study: name of the study; None for one made from the problem.
        jobs: builds at once.
        ray_address: of a Ray cluster to build on; None for this machine.
        seed: of the sampler.
        until_converged: stop once little more may be expected.
        use_history: begin with what an earlier study of the kernel found quick.
        repeats: timed runs of a measurement where the board does not repeat itself to the bit; None
            for ten.
        outputs: what is asked of the kernel's outputs.
    """

    kernel: str
    shape: Mapping[str, int]
    dtype: str | None
    devices: Sequence[str]
    sampler: str
    trials: int | None
    timeout_s: float | None
    storage: str | None
    study: str | None
    jobs: int
    ray_address: str | None
    seed: int
    until_converged: bool = False
    use_history: bool = True
    repeats: int | None = None
    outputs: Outputs = OWN_OUTPUTS


@dataclass(frozen=True)
class TuningResult:
    """What came of it.

    Args:
        problem, device, sampler: what was tuned, where and how.
        storage, study: where the trials are.
        history: name of the study whose quickest were tried early, None where there was none.
        other_studies: names of those in the storage that are about the same, and were made with
            another compiler, board model or kernel source.
        builds: folder of the ELFs and what they were made from.
        space_size: number of valid configurations.
        forbidden: number of combinations that each rule takes out of the space.
        ended: how this run ended.
        summary: of all runs of the study.
    """

    problem: Problem
    device: str
    sampler: str
    storage: str
    study: str
    history: str | None
    other_studies: tuple[str, ...]
    builds: Path
    space_size: int
    forbidden: Mapping[str, int]
    ended: RunEnded
    summary: Summary


def tune(request: TuningRequest, listeners: Sequence[Listener]) -> TuningResult:
    """Go on with the request's study, or begin it. Ctrl-C and SIGTERM end the run early, not badly.

    Raises:
        UserError: for names and sizes that do not exist, and a storage that cannot be used.
        BoardError: where the board cannot be used.
    """
    problem = make_problem(
        load_kernel(request.kernel), request.shape, request.dtype, request.outputs
    )
    info = load_board(request.devices[0]).info
    space = space_for(problem, info)
    storage = request.storage or DEFAULT_STORAGE
    identity = identity_of(problem, info, request.sampler)
    stored = open_study(storage, identity, space, request.study)
    past = history_of(stored, identity) if request.use_history else None
    search = Search(
        space, request.sampler, request.seed, stored, history=past.trials if past else ()
    )
    trials = search.size if request.trials is None else request.trials
    if search.tried >= trials and (info.deterministic or search.comparison is not None):
        ended = RunEnded("trials", search.tried, measured=0, wall_s=0.0)
    else:
        ended = _run(request, listeners, problem=problem, info=info, search=search, trials=trials)
    return TuningResult(
        problem=problem,
        device=info.study_device,
        sampler=request.sampler,
        storage=storage,
        study=stored.study_name,
        history=past.name if past else None,
        other_studies=tuple(filter(identity.is_made_otherwise, stored.names_in_storage())),
        builds=ARTIFACT_FOLDER,
        space_size=search.size,
        forbidden=search.census.removed,
        ended=ended,
        summary=summarise(search.trials(), space.default, search.comparison),
    )


def identity_of(problem: Problem, info: BoardInfo, sampler: str) -> StudyIdentity:
    """What the study of a problem on a board is about, as the code stands now."""
    return StudyIdentity(
        kernel=problem.spec.name,
        shape=problem.shape,
        dtype=problem.dtype,
        device=info.study_device,
        sampler=sampler,
        made_with=made_with(problem.spec.source_digest, info, problem.outputs),
    )


def made_with(source: str, info: BoardInfo, outputs: Outputs) -> dict[str, str]:
    """What decides a kernel's times besides its problem, by what people call it.

    Args:
        source: digest of the kernel's source.
        info: of the board.
        outputs: what is asked of the outputs.
    """
    asked = str(outputs)
    return {
        "board model": info.kind,
        "compiler": digest(sorted(toolchain_versions().items())),
        "kernel source": source,
        **({"choice of outputs": asked} if asked else {}),
    }


def _run(
    request: TuningRequest,
    listeners: Sequence[Listener],
    *,
    problem: Problem,
    info: BoardInfo,
    search: Search,
    trials: int,
) -> RunEnded:
    devices = [name for name in request.devices for _ in range(boards_at_once(info))]
    # Signals are handled until Ray has ended, and only from when it has begun: it sets its own.
    with (
        contextlib.ExitStack() as signals,
        workbench(
            problem,
            devices,
            info,
            jobs=request.jobs,
            ray_address=request.ray_address,
            repeats=request.repeats,
        ) as bench,
    ):
        loop = TuningLoop(
            search,
            bench.builders,
            bench.boards,
            budget=Budget(trials, request.timeout_s, request.until_converged),
            in_flight=len(devices) + request.jobs,
            repeats=bench.repeats,
            estimated=info.estimated,
            listeners=listeners,
        )
        signals.enter_context(_stopped_by_signals(loop))
        return loop.run()


@contextlib.contextmanager
def _stopped_by_signals(loop: TuningLoop) -> Iterator[None]:
    """Within the block Ctrl-C and SIGTERM stop the loop; a second one ends the process at once."""
    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if received:
            os.write(sys.stderr.fileno(), _SHOW_CURSOR if sys.stderr.isatty() else b"")
            os._exit(_STATUS_AT_SECOND_SIGNAL)  # every worker ends with this process
        received.append(number)
        loop.stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
