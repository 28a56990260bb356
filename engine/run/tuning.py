"""One run of a study: open it, try configurations until the budget is used up, sum it up."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.run.budget import Budget
from engine.run.checked_file import checked_file
from engine.run.disturbed_trials import note_on_disturbed
from engine.run.estimates import note_on_times
from engine.run.events import Event, Listener, RunEnded, StageStarted, StudyOpened
from engine.run.exactness import note_on_exactness
from engine.run.identity import identity_of, made_otherwise
from engine.run.later_runs import notes_of_later_runs
from engine.run.loop import TuningLoop
from engine.run.made_by import OpenProposals, keep_run, runs_of
from engine.run.matrix_unit import note_on_matrix_unit
from engine.run.measured_on import store_measured_on
from engine.run.request import SearchOptions, TuningRequest
from engine.run.sizes import on_sizes_left_out
from engine.run.stop_signals import stopped_by_signals
from engine.run.stored_summary import with_sizes
from engine.run.summary import Summary, summarise
from engine.run.wrong_everywhere import note_on_reference
from engine.search import Search
from engine.search.convergence import NO_OUTLOOK, Outlook, outlook_of
from engine.study.check_notes import WRONG_ELSEWHERE, keep_notes, kept_notes, probably_wrong
from engine.study.history import history_of
from engine.study.identity import StudyIdentity
from engine.study.last_space import keep_space, note_on_removed
from engine.study.objectives import Robust
from engine.study.robust import ROBUST, robust_of
from engine.study.robust_changes import keep_change, note_on_changes
from engine.study.storage import open_study
from engine.study.trials import StoredTrials
from engine.workers.artifacts import ARTIFACT_FOLDER
from engine.workers.devices import board_info
from engine.workers.workbench import Workbench, check_fits, seats, workbench
from foundation.config import Config
from foundation.errors import UserError
from foundation.shapes import shape_text
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner.board import BoardInfo
from rvv_runner.event_costs import event_costs
from search_spaces.joint import joint_space
from search_spaces.space import SearchSpace

__all__ = ["TuningResult", "tune"]

# Wrong configurations for which a run looks for inputs on which they are right: a second each.
_LOOKED_AT = 3


@dataclass(frozen=True)
class TuningResult:
    """The result of a run.

    Args:
        problem, device, sampler, seed: what was tuned, where and how.
        device_name: of one of the boards, as the user gave it.
        storage, study: where the trials are.
        warm_started_from: name of an earlier study; None if there was none.
        other_studies: the storage's studies of the same problem, by name, and in what they
            differ: the compiler, the board model, the kernel source, or several of these.
        builds: folder of the ELFs and their IR.
        space_size: number of valid configurations.
        pruned: number of combinations that each rule prunes.
        ended: how this run ended.
        summary: of all runs of the study.
        more_problems: in a study of several shapes, the kernel at the others.
        notes: on the search space, sentences for the user.
        outlook: what the search may still gain.
        cores: of the board that ran the kernel at once; None where it has no cores to choose.
        seed: of the sampler.
        runs: what made the trials, as `runs_of` gives it.
    """

    problem: Problem
    device: str
    device_name: str
    sampler: str
    storage: str
    study: str
    warm_started_from: str | None
    other_studies: Mapping[str, tuple[str, ...]]
    builds: Path
    space_size: int
    pruned: Mapping[str, int]
    ended: RunEnded
    summary: Summary
    more_problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    outlook: Outlook = NO_OUTLOOK
    cores: int | None = None
    seed: int = 0
    runs: Sequence[Mapping[str, object]] = ()


@dataclass(frozen=True)
class _Opened:
    """A study before a run.

    Args:
        stored: its trials.
        identity: its name's parts.
        search: what proposes configurations.
        robust: what it minimises.
        warm_started_from: as in `TuningResult`.
    """

    stored: StoredTrials
    identity: StudyIdentity
    search: Search
    robust: Robust
    warm_started_from: str | None


def tune(
    request: TuningRequest,
    listeners: Sequence[Listener],
    *,
    owns_process: bool = True,
    bench: Workbench | None = None,
) -> TuningResult:
    """Start or resume the request's study. Ctrl-C and SIGTERM end the run early, with a result.

    Args:
        request: the study.
        listeners: get each event.
        owns_process: whether a second signal ends the process at once; otherwise it is a
            KeyboardInterrupt.
        bench: of this problem, which stays open for other studies unless the run is stopped or
            fails, and for which the time of the search begins at once; None for one of its own.

    Raises:
        UserError: for unknown names, invalid sizes, and a storage that cannot be used.
        BoardError: if the board cannot be used.
    """
    begun_s = time.monotonic() if bench is not None else None
    problem, *more_problems = problems = _problems(request)
    _tell(listeners, StageStarted("opening the study"))
    info = board_info(request.devices[0], request.work.ray_address)
    check_fits(problem, info)
    space = _space_for(problems, info)
    opened = _open(request, problems, info, space)
    search, stored = opened.search, opened.stored
    _tell(listeners, StudyOpened(stored.study_name, search.tried, opened.warm_started_from))
    budget = _budget(request.search, search.size, begun_s)
    notes = on_sizes_left_out(request, problem) + space.notes + note_on_times(info)
    notes += (_ORDERED,) if problem.spec.ordered else ()
    notes += note_on_changes(stored, opened.robust) + note_on_removed(stored)
    if _is_complete(search, budget, info):
        notes += kept_notes(stored)
        ended = RunEnded(budget.end_of(search.size), search.tried, measured=0, wall_s=0.0)
    else:
        checked = checked_file(problem, info, lambda text: _tell(listeners, StageStarted(text)))
        notes += keep_notes(stored, checked)
        open_together = OpenProposals(request.work.jobs, len(seats(request.devices, info)))
        keep_run(stored, request.search.sampler, space, search.size, open_together, info)
        ended = _run(
            request,
            listeners,
            problems=problems,
            info=info,
            search=search,
            budget=budget,
            owns_process=owns_process,
            shared=bench,
        )
    summary = _summary(search, info, opened.robust)
    notes += note_on_reference(search.trials(), is_own=problem.spec.file is not None)
    notes += note_on_exactness(summary)
    notes += note_on_disturbed(search.trials())
    if _cores(problem, info) and info.target.matrix_unit:
        notes += note_on_matrix_unit(summary)
    if ended.reason != "interrupted":
        notes += notes_of_later_runs(problems, request.devices[0], summary, stored, _wrong(search))
    doubt = probably_wrong(notes)
    return TuningResult(
        problem=problem,
        device=info.study_device,
        device_name=request.devices[0],
        sampler=request.search.sampler,
        storage=request.study.storage,
        study=stored.study_name,
        warm_started_from=opened.warm_started_from,
        other_studies={
            name: parts
            for name, parts in made_otherwise(opened.identity, stored.other_studies()).items()
            if stored.trials_of(name)
        },
        builds=ARTIFACT_FOLDER,
        space_size=search.size,
        pruned=search.census.removed,
        ended=ended,
        summary=replace(
            with_sizes(summary, stored.attribute(WRONG_ELSEWHERE)), probably_wrong=doubt
        ),
        more_problems=tuple(more_problems),
        notes=tuple(note for note in notes if note != doubt),
        outlook=outlook_of(search),
        cores=_cores(problem, info),
        seed=request.search.seed,
        runs=runs_of(stored),
    )


def _open(
    request: TuningRequest, problems: Sequence[Problem], info: BoardInfo, space: SearchSpace
) -> _Opened:
    """Make the study, or open it, and find its warm start.

    Raises:
        UserError: for options that do not go with the board, and a storage that cannot be used.
    """
    options, sampler, seed = request.study, request.search.sampler, request.search.seed
    identity = identity_of(problems[0], info, sampler, problems[1:], options.objectives, seed)
    _check_robust(options.robust, info)
    stored = open_study(options.storage, identity, space, options.name)
    robust = _robust(stored, options.robust, info)
    store_measured_on(stored, info)
    keep_space(stored, space)
    past = history_of(stored, identity, space, may_warm_start=options.use_history)
    known = past.trials if past else ()
    # On other boards, outcomes are told as they come, and no run can be repeated.
    in_flight = _in_flight(request, info) if info.deterministic else 1
    search = Search(space, sampler, seed, stored, known, robust, in_flight)
    return _Opened(stored, identity, search, robust, past.name if past else None)


def _in_flight(request: TuningRequest, info: BoardInfo) -> int:
    """How many proposals are open at once: one for each board and each build."""
    return len(seats(request.devices, info)) + request.work.jobs


_ORDERED = (
    "the kernel's file says ordered = True: its programs ran in order alone, one after another, so "
    "the winner is right on this board, and elsewhere only if they run so there"
)


def _wrong(search: Search) -> list[Config]:
    """The first configurations that were wrong."""
    wrong = (trial.config for trial in search.trials() if trial.status == "wrong")
    return list(itertools.islice(wrong, _LOOKED_AT))


def _cores(problem: Problem, info: BoardInfo) -> int | None:
    """A GPU runs a grid on all that it has, and a callable does as it likes."""
    return None if info.gpu or problem.spec.callable_file else info.used_cores


def _tell(listeners: Sequence[Listener], event: Event) -> None:
    for listener in listeners:
        listener(event)


def _check_robust(asked: Robust | None, info: BoardInfo) -> None:
    """Refuse to weigh models where there are none."""
    if asked not in (None, "off") and not info.estimated:
        raise UserError(f"{info.name} measures times and has no models: leave out --robust")


def _robust(stored: StoredTrials, asked: Robust | None, info: BoardInfo) -> Robust:
    """What the study minimises from now on; stored, so that its winner is the same elsewhere."""
    if not info.estimated:
        return "off"
    known = stored.attribute(ROBUST)
    robust = asked or robust_of(known)
    if robust != known:
        keep_change(stored, robust_of(known), robust)
        stored.set_attribute(ROBUST, robust)
    return robust


def _summary(search: Search, info: BoardInfo, robust: Robust) -> Summary:
    costs = event_costs(info.study_device)
    default = search.space.default
    return summarise(search.trials(), default, search.comparison, costs, robust)


def _is_complete(search: Search, budget: Budget, info: BoardInfo) -> bool:
    """Whether earlier runs have done everything, the comparison of the leaders included."""
    must_compare = budget.rounds.most > 0 and not info.deterministic
    is_compared = search.comparison is not None
    return (is_compared or not must_compare) and search.tried >= min(budget.trials, search.size)


def _budget(options: SearchOptions, space_size: int, begun_s: float | None) -> Budget:
    trials = space_size if options.trials is None else options.trials
    return Budget(
        trials,
        options.timeout_s,
        begun_s,
        options.until_converged,
        options.rounds,
        options.ending_builds,
    )


def _problems(request: TuningRequest) -> list[Problem]:
    """The kernel at each shape, sorted, so that the order of the request does not matter."""
    spec = load_kernel(request.kernel)
    problems = [
        make_problem(spec, shape, request.dtype, request.outputs, request.space)
        for shape in request.shapes
    ]
    problems.sort(key=lambda problem: tuple(problem.shape.values()))
    for problem, following in itertools.pairwise(problems):
        if problem.shape == following.shape:
            raise UserError(f"the shape {shape_text(problem.shape)} is given twice: give it once")
    return problems


def _space_for(problems: Sequence[Problem], info: BoardInfo) -> SearchSpace:
    spaces = {shape_text(problem.shape): problem.space(info) for problem in problems}
    return joint_space(spaces) if len(spaces) > 1 else next(iter(spaces.values()))


def _run(
    request: TuningRequest,
    listeners: Sequence[Listener],
    *,
    problems: Sequence[Problem],
    info: BoardInfo,
    search: Search,
    budget: Budget,
    owns_process: bool,
    shared: Workbench | None,
) -> RunEnded:
    devices = seats(request.devices, info)
    own = workbench(
        problems[0],
        devices,
        info,
        jobs=request.work.jobs,
        ray_address=request.work.ray_address,
        repeats=request.repeats,
        more_problems=problems[1:],
        first=search.space.default,
        tell=lambda stage: _tell(listeners, StageStarted(stage)),
    )
    # Ray sets its own signal handlers at its start: ours go in after it, and stay until it ends.
    with (
        contextlib.ExitStack() as signals,
        own if shared is None else contextlib.nullcontext(shared) as bench,
    ):
        loop = TuningLoop(
            search,
            bench.builders,
            bench.boards,
            budget=budget,
            in_flight=_in_flight(request, info),
            repeats=bench.repeats,
            deterministic=info.deterministic,
            estimated=info.estimated,
            # Builds do not disturb a GPU, and a processor's board may share its cores with them.
            rounds_while_idle=info.gpu is not None,
            shares_pools=shared is not None,
            problems=problems,
            listeners=listeners,
        )
        signals.enter_context(stopped_by_signals(loop, owns_process))
        return loop.run()
