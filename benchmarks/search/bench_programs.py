"""Compares ways to divide trials among a program's kernels:
python benchmarks/search/bench_programs.py.

A program is made of recorded spaces (`replays.py`), each of which stands for one kernel signature;
how much of the program's time each takes is drawn with a written seed, from a lognormal
distribution. Searches are real ones, and a task's search is warm-started from the best-known task
of the same kernel, as the engine does it. Printed, for three budgets: which part of the time that
could be gained is left after a round-robin, after an even split and after the scheduler, on average
over the programs; and in which part of their trials the scheduler reaches the same.

`--set work` is what the scheduler was made with; `--set check` was drawn by another seed, and
looked at once.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from replays import recorded

from engine.programs.scheduler import SLICE_TRIALS, TaskState, next_task, program_time_s
from engine.replays.recorded_space import RecordedSpace
from engine.search import Search
from foundation.command_line import run_script
from foundation.config import Config

__all__ = ["main"]

SEEDS = {"work": 20261101, "check": 20261123}
BUDGETS = (5, 10, 20)  # trials per task
SPREAD = 1.5  # of the logarithm of the shares
FEWEST_FOR_HISTORY = 5  # correct trials, as in engine/study/history.py
FEWEST_CONFIGS = 4  # in a space

Floats = npt.NDArray[np.float64]
Policy = Callable[["Program"], "int | None"]


class Task:
    """One recorded space within a program, and its search so far."""

    def __init__(self, of: RecordedSpace, share: float, seed: int) -> None:
        default_s = of.table.get(of.default) if of.default is not None else None
        self._of = of
        self._seed = seed
        self._search: Search | None = None
        self._default = of.default if default_s is not None else None
        self.deployed_s = default_s if default_s is not None else of.worst_s
        self.launches = share / self.deployed_s
        self.best_s = self.deployed_s
        self.trials: list[tuple[Config, float | None]] = []
        self.family = f"{of.name.partition('-')[0]} on {of.about.get('device', 'a GPU')}"
        self.size = len(of.table)
        self.optimum_s = of.optimum_s

    @property
    def is_open(self) -> bool:
        return len(self.trials) < self.size

    @property
    def correct(self) -> int:
        return sum(time_s is not None for _, time_s in self.trials)

    def try_one(self, others: Sequence[Task]) -> None:
        """One trial of the task's search."""
        if self._search is None:
            known = [o for o in others if o.family == self.family and o is not self]
            near = max(known, key=lambda other: other.correct, default=None)
            enough = near is not None and near.correct >= FEWEST_FOR_HISTORY
            history = near.trials if enough and near is not None else ()
            space = dataclasses.replace(self._of.space, default=self._default)
            self._search = Search(space, "auto", self._seed, history=history)
        config = self._search.ask()
        assert config is not None
        time_s = self._of.table[config]
        self._search.tell(config, time_s)
        self.trials.append((config, time_s))
        self.best_s = min(self.best_s, time_s if time_s is not None else self.best_s)

    def state(self) -> TaskState:
        gain = self._search.expected_gain() if self._search else None
        return TaskState(
            self.launches,
            self.deployed_s,
            self.best_s,
            len(self.trials),
            self.size,
            self.family,
            gain,
        )


class Program:
    """Recorded spaces with their shares of the time.

    Args:
        replays: to draw from, without repetition.
        tasks: how many.
        seed: of the draw.
    """

    def __init__(self, replays: Sequence[RecordedSpace], tasks: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        chosen = rng.choice(len(replays), tasks, replace=False)
        shares = rng.lognormal(0, SPREAD, tasks)
        self.tasks = [
            Task(replays[place], share / shares.sum(), seed)
            for place, share in zip(chosen, shares, strict=True)
        ]

    def time_s(self) -> float:
        return sum(task.launches * task.best_s for task in self.tasks)

    def optimum_s(self) -> float:
        return sum(task.launches * min(task.optimum_s, task.deployed_s) for task in self.tasks)

    def curve(self, policy: Policy, trials: int, slice_trials: int) -> list[float]:
        """The program's time after each trial, and before the first."""
        times = [self.time_s()]
        while len(times) <= trials and (number := policy(self)) is not None:
            for _ in range(slice_trials):
                if self.tasks[number].is_open and len(times) <= trials:
                    self.tasks[number].try_one(self.tasks)
                    times.append(self.time_s())
        return times + [times[-1]] * (trials + 1 - len(times))


def round_robin(program: Program) -> int | None:
    """The task with the fewest trials."""
    open_ = [n for n, task in enumerate(program.tasks) if task.is_open]
    return min(open_, key=lambda n: len(program.tasks[n].trials)) if open_ else None


def even_split(each: int) -> Policy:
    """One task after another, the heaviest first, with so many trials each."""

    def choose(program: Program) -> int | None:
        tasks = program.tasks
        open_ = [n for n, t in enumerate(tasks) if t.is_open and len(t.trials) < each]
        return max(open_, key=lambda n: tasks[n].launches * tasks[n].deployed_s, default=None)

    return choose


def scheduled(program: Program) -> int | None:
    """The scheduler's choice."""
    states = [task.state() for task in program.tasks]
    assert np.isclose(program_time_s(states), program.time_s())
    return next_task(states)


def left(program: Program, curve: Sequence[float]) -> Floats:
    """Shape (trials + 1,), the part of what could be gained that is left after each trial."""
    before_s, optimum_s = curve[0], program.optimum_s()
    result: Floats = (np.array(curve) - optimum_s) / (before_s - optimum_s)
    return result


def first_at(curve: Floats, value: float) -> int:
    """After how many trials a falling curve is at most this value; its length if it never is."""
    reached = np.flatnonzero(curve <= value)
    return int(reached[0]) if len(reached) else len(curve)


def main() -> None:
    """Print a line for each budget."""
    parser = argparse.ArgumentParser(description="Compares schedulers on recorded spaces.")
    parser.add_argument("--set", choices=SEEDS, default="work", help="which programs")
    parser.add_argument("--programs", type=int, default=20, help="how many programs")
    parser.add_argument("--tasks", type=int, default=24, help="kernels in each")
    arguments = parser.parse_args()
    replays, count = recorded(FEWEST_CONFIGS), arguments.tasks
    most = max(BUDGETS) * count
    robin, ours = [], []
    even: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    for number in range(arguments.programs):
        new = functools.partial(Program, replays, count, SEEDS[arguments.set] + number)
        robin.append(left(new(), new().curve(round_robin, most, 1)))
        ours.append(left(new(), new().curve(scheduled, most, SLICE_TRIALS)))
        for each in BUDGETS:
            curve = new().curve(even_split(each), each * count, each)
            even[each].append(left(new(), curve)[-1])
    mean_robin, mean_ours = np.mean(robin, axis=0), np.mean(ours, axis=0)
    print(f"set {arguments.set}: {arguments.programs} programs of {count} kernels")
    for each in BUDGETS:
        trials, of_even = each * count, float(np.mean(even[each]))
        parts = [first_at(mean_ours, value) / trials for value in (mean_robin[trials], of_even)]
        print(
            f"{each:3} trials per kernel: gain left: {mean_robin[trials]:.3f} by round-robin, "
            f"{of_even:.3f} by an even split, {mean_ours[trials]:.3f} by the scheduler, which "
            f"needs {parts[0]:.2f} and {parts[1]:.2f} of their trials for theirs",
            flush=True,
        )


if __name__ == "__main__":
    run_script(main)
