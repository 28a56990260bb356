"""Tunes a program's tasks within one budget: each in a study of its own, a few trials at a time."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from engine.programs.budget import ProgramBudget
from engine.programs.comparing import (
    has_ties,
    heaviest_first,
    is_for_more_trials,
    rounds_of,
    trials_part,
)
from engine.programs.examining import Examinations
from engine.programs.scheduler import (
    first_trials,
    next_task,
    part_after_slice,
    part_after_trial,
    slice_trials,
)
from engine.programs.standing import ProgramTask, TaskStanding, states_of
from engine.repeats.rounds import NO_ROUNDS, Rounds
from engine.run.budget import EndingBuilds
from engine.run.events import Listener
from engine.run.identity import identity_of
from engine.run.request import SearchOptions, TuningRequest
from engine.run.tuning import TuningResult, tune
from engine.study.storage import read_studies
from engine.workers.devices import board_info
from engine.workers.ray_session import ray_session
from engine.workers.workbench import Workbench, shared_workbench
from foundation.errors import UserError
from kernels.captured.examination import Examiner
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner.board import BoardError
from search_spaces.enumeration import take_census

__all__ = ["ProgramListener", "tune_program"]

# Called after each change with all standings, and the position of the task that changed.
ProgramListener = Callable[[Sequence[TaskStanding], int], None]


class _StoppedError(Exception):
    """The user stopped the run."""


def tune_program(
    tasks: Sequence[ProgramTask],
    request: TuningRequest,
    budget: ProgramBudget,
    *,
    listener_of: Callable[[ProgramTask], Listener],
    begun: Callable[[str], None],
    changed: ProgramListener,
    examiner: Examiner,
) -> list[TaskStanding]:
    """Tune the tasks; resumes their studies. Ctrl-C ends the run early, with a result.

    Args:
        tasks: of the program.
        request: what their studies have in common: its kernel and number of trials are ignored.
        budget: for all of them.
        listener_of: makes what gets the events of a task's run.
        begun: called with what is about to be done, before trials and before a comparison.
        changed: called after each run of a task.
        examiner: of the tasks of which it is not known yet what varies.

    Returns:
        The standings, in the order of the tasks.

    What goes wrong with one task is that task's refusal; the others go on.

    Raises:
        UserError: if the storage or this machine cannot be used.
        BoardError: if the board cannot be used, or failed on each task that it was given.
    """
    run = _ProgramRun(tasks, request, budget, listener_of, begun, changed, examiner)
    with ThreadPoolExecutor(1) as meanwhile:
        first = meanwhile.submit(run.examine_first)
        with ray_session(request.work.jobs, request.work.ray_address), run.benches:
            try:
                run.resume(first.result())
                run.spend()
            except (_StoppedError, KeyboardInterrupt):
                return run.standings
    run.check_board()
    return run.standings


class _ProgramRun:
    """One run of the command."""

    def __init__(
        self,
        tasks: Sequence[ProgramTask],
        request: TuningRequest,
        budget: ProgramBudget,
        listener_of: Callable[[ProgramTask], Listener],
        begun: Callable[[str], None],
        changed: ProgramListener,
        examiner: Examiner,
    ) -> None:
        self._request = request
        self._budget = budget
        self._listener_of = listener_of
        self._begun = begun
        self._changed = changed
        self._examinations = Examinations(examiner, budget)
        self._slice_trials = slice_trials(
            request.work.jobs, limits_trials=budget.trials is not None
        )
        self._info = board_info(request.devices[0], request.work.ray_address)
        is_noisy = not self._info.deterministic
        self.standings = [
            TaskStanding(task, waits=not task.is_examined, is_noisy=is_noisy) for task in tasks
        ]
        self._problems: dict[str, Problem] = {}
        self._bench_of: Callable[[Problem], Workbench] | None = None
        self._board_error: BoardError | None = None
        self._measured = 0  # configurations, of all tasks
        self._has_tried = False  # any task
        self.benches = contextlib.ExitStack()

    def examine_first(self) -> list[int]:
        """Examine a task if there is nothing else to begin with; return its position if so.

        It needs no Ray, so it need not wait until that has started.
        """
        return self._examinations.first(self.standings)

    def resume(self, examined: Sequence[int]) -> None:
        """Read what earlier runs have stored; starts no trial.

        Args:
            examined: the tasks that this run has examined.
        """
        known = [n for n, standing in enumerate(self.standings) if not standing.waits]
        self._take_up([*known, *examined])

    def _take_up(self, numbers: Sequence[int]) -> None:
        """Read what is stored of tasks that have been examined."""
        stored = {study.study_name for study in read_studies(self._request.study.storage)}
        for number in numbers:
            standing = self.standings[number]
            try:
                problem = make_problem(load_kernel(standing.task.load_name), {})
                size = take_census(problem.space(self._info)).valid
            except UserError as error:
                self._refuse(number, error)
                continue
            self._problems[standing.task.load_name] = problem
            self.standings[number] = replace(standing, size=size, waits=False)
            by = self._request.search
            identity = identity_of(problem, self._info, by.sampler, seed=by.seed)
            if identity.name_among(stored) in stored:
                self._run(number, trials=0)

    def spend(self) -> None:
        """Give the budget to trials, then to comparisons, and what those leave to both again."""
        left, before = 1.0, -1
        while self._measured > before and is_for_more_trials(left):
            before = self._measured
            self._try(trials_part(left))
            self._compare()
            left = self._time_left()

    def _try(self, trials_end: float) -> None:
        """Give slices to the tasks from which a program gains most, at least one.

        Args:
            trials_end: a part of the time; all of it is for trials until one was made.
        """
        while self._trials_left() > 0:
            part = 1.0 if self._info.deterministic or not self._measured else trials_end
            is_over = self._budget.left_s(part) == 0.0
            if is_over:
                if self._has_tried:  # else the same command would come no further the next time
                    break
            elif self._taken_up(self._examinations.more(self.standings, part)):
                continue
            states = states_of(self.standings)
            part_left = part_after_trial(states, self._part_left(part), self._budget.time_s)
            number = next_task(states, part_left)
            first = {} if self._budget.trials is None else first_trials(states, self._trials_left())
            if first and sum(first.values()) == self._trials_left():
                number = next(iter(first))
            if number is None or (is_over and self.standings[number].size <= 1):
                return
            kept = part_after_slice(states, number, part_left)
            of_others = sum(lacking for other, lacking in first.items() if other != number)
            kept_trials = max(of_others, math.ceil(kept * (self._budget.trials or 0)))
            most = self._trials_left() - kept_trials
            trials = self.standings[number].tried + min(self._slice_trials, max(1, most))
            self._begun(f"tuning {self.standings[number].task.label}")
            self._run(number, trials, part * (1.0 - kept))

    def _time_left(self) -> float:
        """What part of the time is left; none where there is no limit."""
        return (self._budget.left_s() or 0.0) / (self._budget.time_s or 1.0)

    def _taken_up(self, examined: Sequence[int]) -> bool:
        """Take up tasks that were examined; return whether there are any."""
        self._take_up(examined)
        if examined and self._request.work.ray_address is not None:
            self._close_bench()  # its machines get what is kept of the tasks when it opens
        return bool(examined)

    def _compare(self) -> None:
        """Compare the leaders of tasks whose trials leave open which one wins, in the time left."""
        if self._info.deterministic:
            return
        states = states_of(self.standings)
        tied = [number for number, standing in enumerate(self.standings) if has_ties(standing)]
        for number, part in heaviest_first(states, tied):
            left_s = self._budget.left_s()
            rounds = rounds_of(
                states,
                number,
                None if left_s is None else part * left_s,
                is_unconfirmed=self.standings[number].is_unconfirmed,
            )
            if rounds.allow_one_more(0, 0.0):
                self._begun(f"comparing the leaders of {self.standings[number].task.label}")
                self._run(number, self.standings[number].tried, rounds=rounds)

    def check_board(self) -> None:
        """Tell a board that works for no task from tasks that fail.

        Raises:
            BoardError: of the first task, if the board failed and measured nothing.
        """
        if self._board_error is not None and not self._measured:
            raise self._board_error

    def _run(
        self,
        number: int,
        trials: int,
        part: float = 1.0,
        rounds: Rounds = NO_ROUNDS,
    ) -> None:
        standing = self.standings[number]
        began_s = time.monotonic()
        # What keeps the workbench from opening, such as a board that is gone, concerns all tasks.
        bench = self._bench(standing.task) if trials else None
        self._has_tried = self._has_tried or bench is not None
        search = replace(self._in_time(part), trials=trials, rounds=rounds)
        request = replace(self._request, kernel=standing.task.load_name, search=search)
        refusal = ""
        try:
            result = tune(request, [self._listener_of(standing.task)], bench=bench)
        except UserError as error:
            self._close_bench()  # it closed with the failed run
            self._refuse(number, error)
            return
        except BoardError as error:
            self._close_bench()  # the next task finds out whether the board is still there
            self._board_error = self._board_error or error
            refusal, result = str(error), self._stored(request)
        stands = standing.after(result, time.monotonic() - began_s)
        self._measured += stands.tried - standing.tried if trials else 0
        self.standings[number] = replace(stands, refusal=refusal)
        self._changed(self.standings, number)
        if result.ended.reason == "interrupted":
            raise _StoppedError

    def _in_time(self, part: float) -> SearchOptions:
        """The search within what is left of a part of the time.

        What comes first may begin, and gets some seconds more: else a budget that is slightly
        shorter than to open the board and to build would do the same again each time.
        """
        left_s = self._budget.left_s(part)
        ending: EndingBuilds = "all" if self._measured else "all but the first"
        return replace(self._request.search, timeout_s=left_s, ending_builds=ending)

    def _stored(self, request: TuningRequest) -> TuningResult:
        """What the study of a run that failed holds."""
        return tune(
            replace(request, search=replace(request.search, trials=0, rounds=NO_ROUNDS)), []
        )

    def _bench(self, task: ProgramTask) -> Workbench:
        """The workbench of a task; all tasks share its processes."""
        if self._bench_of is None:
            self._bench_of = self.benches.enter_context(
                shared_workbench(
                    self._problems[task.load_name],
                    self._request.devices,
                    self._info,
                    jobs=self._request.work.jobs,
                    ray_address=self._request.work.ray_address,
                    repeats=self._request.repeats,
                    tell=self._begun,
                )
            )
        return self._bench_of(self._problems[task.load_name])

    def _close_bench(self) -> None:
        self._bench_of = None
        self.benches.close()

    def _refuse(self, number: int, error: UserError) -> None:
        standing = self.standings[number]
        self.standings[number] = replace(standing, refusal=str(error), waits=False)
        self._changed(self.standings, number)

    def _part_left(self, part: float) -> float:
        """What part of the budget is left, of the time that is for trials."""
        left_s, trials = self._budget.left_s(part), self._budget.trials
        of_time = 1.0 if left_s is None else left_s / (part * (self._budget.time_s or 1.0))
        return min(of_time, self._trials_left() / trials if trials else 1.0)

    def _trials_left(self) -> int:
        if self._budget.trials is None:
            return self._slice_trials
        return self._budget.trials - sum(standing.tried for standing in self.standings)
