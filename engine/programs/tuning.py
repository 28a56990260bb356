"""Tunes a program's tasks within one budget: each in a study of its own, a few trials at a time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.programs.scheduler import SLICE_TRIALS, next_task
from engine.programs.standing import ProgramTask, TaskStanding, states_of
from engine.run.events import Listener
from engine.run.identity import identity_of
from engine.run.request import TuningRequest
from engine.run.tuning import tune
from engine.study.storage import read_studies
from engine.workers.devices import board_info
from engine.workers.ray_session import ray_session
from engine.workers.workbench import Workbench, shared_workbench
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from search_spaces.enumeration import take_census

__all__ = ["ProgramBudget", "ProgramListener", "tune_program"]

# Called after each change with all standings, and the position of the task that changed.
ProgramListener = Callable[[Sequence[TaskStanding], int], None]


@dataclass(frozen=True)
class ProgramBudget:
    """When to stop; at the first that is reached.

    Args:
        trials: of all tasks together, earlier runs included; None for no limit.
        time_s: seconds after which no trial is started; None for no limit.
    """

    trials: int | None
    time_s: float | None


class _StoppedError(Exception):
    """The user stopped the run."""


def tune_program(
    tasks: Sequence[ProgramTask],
    request: TuningRequest,
    budget: ProgramBudget,
    *,
    listener_of: Callable[[ProgramTask], Listener],
    changed: ProgramListener,
) -> list[TaskStanding]:
    """Tune the tasks; resumes their studies. Ctrl-C ends the run early, with a result.

    Args:
        tasks: of the program.
        request: what their studies have in common: its kernel and number of trials are ignored.
        budget: for all of them.
        listener_of: makes what gets the events of a task's run.
        changed: called after each run of a task.

    Returns:
        The standings, in the order of the tasks.

    Raises:
        UserError: if the storage cannot be used.
        BoardError: if the board cannot be used.
    """
    run = _ProgramRun(tasks, request, budget, listener_of, changed)
    with ray_session(request.work.jobs, request.work.ray_address), run.benches:
        try:
            run.resume()
            run.spend()
            run.compare()
        except _StoppedError:
            pass
    return run.standings


class _ProgramRun:
    """One run of the command."""

    def __init__(
        self,
        tasks: Sequence[ProgramTask],
        request: TuningRequest,
        budget: ProgramBudget,
        listener_of: Callable[[ProgramTask], Listener],
        changed: ProgramListener,
    ) -> None:
        self.standings = [TaskStanding(task) for task in tasks]
        self._request = request
        self._budget = budget
        self._listener_of = listener_of
        self._changed = changed
        self._start_s = time.monotonic()
        self._info = board_info(request.devices[0], request.work.ray_address)
        self._problems: dict[str, Problem] = {}
        self._bench_of: Callable[[Problem], Workbench] | None = None
        self.benches = contextlib.ExitStack()

    def resume(self) -> None:
        """Read what earlier runs have stored; starts no trial."""
        stored = {study.study_name for study in read_studies(self._request.study.storage)}
        for number, standing in enumerate(self.standings):
            try:
                problem = make_problem(load_kernel(standing.task.load_name), {})
            except UserError as error:
                self._refuse(number, error)
                continue
            self._problems[standing.task.load_name] = problem
            size = take_census(problem.space(self._info)).valid
            self.standings[number] = replace(standing, size=size)
            identity = identity_of(problem, self._info, self._request.search.sampler)
            if identity.name in stored:
                self._run(number, trials=0)

    def spend(self) -> None:
        """Give slices of the budget to the tasks from which the program gains most."""
        while self._trials_left() > 0 and self._time_left_s() != 0.0:
            number = next_task(states_of(self.standings))
            if number is None:
                return
            tried = self.standings[number].tried
            self._run(number, tried + min(SLICE_TRIALS, self._trials_left()))

    def compare(self) -> None:
        """Compare each task's leaders, which decides on boards whose times vary."""
        for number, standing in enumerate(self.standings):
            if standing.trials and standing.size > 1 and not standing.refusal:
                self._run(number, standing.tried, compares=True)

    def _run(self, number: int, trials: int, *, compares: bool = False) -> None:
        standing = self.standings[number]
        search = replace(
            self._request.search,
            trials=trials,
            timeout_s=None if compares else self._time_left_s(),
            compares_leaders=compares,
        )
        request = replace(self._request, kernel=standing.task.load_name, search=search)
        began_s = time.monotonic()
        try:
            bench = self._bench(standing.task) if trials else None
            result = tune(request, [self._listener_of(standing.task)], bench=bench)
        except UserError as error:
            self._close_bench()  # it closed with the failed run
            self._refuse(number, error)
            return
        self.standings[number] = standing.after(result, time.monotonic() - began_s)
        self._changed(self.standings, number)
        if result.ended.reason == "interrupted":
            raise _StoppedError

    def _bench(self, task: ProgramTask) -> Workbench:
        """The workbench of a task; all tasks share its processes."""
        if self._bench_of is None:
            self._bench_of = self.benches.enter_context(
                shared_workbench(
                    list(self._problems.values()),
                    self._request.devices,
                    self._info,
                    jobs=self._request.work.jobs,
                    ray_address=self._request.work.ray_address,
                    repeats=self._request.repeats,
                )
            )
        return self._bench_of(self._problems[task.load_name])

    def _close_bench(self) -> None:
        self._bench_of = None
        self.benches.close()

    def _refuse(self, number: int, error: UserError) -> None:
        self.standings[number] = replace(self.standings[number], refusal=str(error))
        self._changed(self.standings, number)

    def _trials_left(self) -> int:
        if self._budget.trials is None:
            return SLICE_TRIALS
        return self._budget.trials - sum(standing.tried for standing in self.standings)

    def _time_left_s(self) -> float | None:
        if self._budget.time_s is None:
            return None
        return max(0.0, self._budget.time_s - (time.monotonic() - self._start_s))
