"""Where a search loses its score: python benchmarks/search/search_losses.py [--spaces FOLDER].

The score of a search is the mean over its trials of the part of the way from random search to the
optimum. What it lacks of 1 is split twice: by the number of the trial, and by where the best so far
lies. It is `there` within 2% of the optimum's time. It is `near` if changes of single parameters,
each the best one, lead from it to such a configuration, and `elsewhere` if they end in another
valley. Spaces are those of the development half, or files in T4 in a folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.replays.recorded_space import RecordedSpace
from engine.replays.runs import Job, Run, run_all
from engine.replays.shipped import shipped_files
from engine.replays.space_file import read_space
from engine.search.model.candidates import Candidates
from foundation.command_line import run_script
from foundation.processors import cores

__all__ = ["main"]

Floats = npt.NDArray[np.float64]

_THERE = 1.02
_CONFIGS_PER_TRIAL = 4
_UNTIL = (10, 25)
_WHERE = ("there", "near", "elsewhere")


class _Valleys:
    """A space by where single changes lead.

    Args:
        of: the space.
    """

    def __init__(self, of: RecordedSpace) -> None:
        self._of = of
        self._candidates = Candidates(of.space)
        configs = [self._candidates.config(number) for number in range(len(self._candidates))]
        known = [of.table[config] for config in configs]
        self._times_s = np.array([of.worst_s if time_s is None else time_s for time_s in known])
        self._limit_s = _THERE * of.optimum_s
        self._ends: dict[int, int] = {}

    def place(self, number: int) -> int:
        """Where a configuration of the table lies, as a position in `_WHERE`."""
        candidate = self._candidates.number(self._of.configs[number])
        assert candidate is not None
        if self._times_s[candidate] <= self._limit_s:
            return 0
        return 1 if self._times_s[self._end(candidate)] <= self._limit_s else 2

    def _end(self, candidate: int) -> int:
        """Where the best changes of single parameters end."""
        path: list[int] = []
        while candidate not in self._ends:
            path.append(candidate)
            beside = self._candidates.neighbours(candidate)
            best = int(beside[self._times_s[beside].argmin()]) if len(beside) else candidate
            if self._times_s[best] >= self._times_s[candidate]:
                self._ends[candidate] = candidate
            else:
                candidate = best
        end = self._ends[candidate]
        self._ends.update(dict.fromkeys(path, end))
        return end


def losses(of: RecordedSpace, valleys: _Valleys, run: Run, trials: int) -> Floats:
    """Shape (3, 3), what a search lacks of the score 1, by the part of the trials and by place."""
    curve = of.best_so_far(run.tried, trials)
    lost = (1 - of.performance(curve[None, :])[0]) / trials
    result = np.zeros((len(_UNTIL) + 1, len(_WHERE)))
    best, place = np.inf, len(_WHERE) - 1
    for trial in range(trials):
        number = run.tried[trial] if trial < len(run.tried) else None
        if number is not None and curve[trial] < best:
            best, place = curve[trial], valleys.place(number)
        result[np.searchsorted(_UNTIL, trial, side="right"), place] += lost[trial]
    return result


def main() -> None:
    """Replay the default search and print the table."""
    parser = argparse.ArgumentParser(description="Prints where a search loses its score.")
    parser.add_argument("--spaces", type=Path, help="folder of T4 files")
    parser.add_argument("--search", default="auto")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--runs", type=Path, default=Path("studies/bench/runs.jsonl"))
    arguments = parser.parse_args()
    folder = arguments.spaces
    paths = sorted(folder.glob("*.json.gz")) if folder else shipped_files("development")
    spaces = {path: read_space(path) for path in paths}
    least = _CONFIGS_PER_TRIAL * arguments.trials
    spaces = {path: of for path, of in spaces.items() if len(of.table) >= least}
    jobs = [
        Job(path, arguments.search, seed, arguments.trials, of.name)
        for path, of in spaces.items()
        for seed in range(arguments.seeds)
    ]
    runs = run_all(jobs, arguments.runs, cores(), lambda done, of, last: None)
    _print(spaces, runs)


def _print(spaces: Mapping[Path, RecordedSpace], runs: Mapping[Job, Run]) -> None:
    print("| space | lost | trials 1-10 | 11-25 | later | there | near | elsewhere |")
    print("|---|---|---|---|---|---|---|---|")
    every = []
    for path, of in spaces.items():
        valleys = _Valleys(of)
        each = [
            losses(of, valleys, run, job.trials) for job, run in runs.items() if job.space == path
        ]
        every.append(np.mean(each, axis=0))
        _print_row(of.name, every[-1])
    _print_row("mean", np.mean(every, axis=0))


def _print_row(name: str, lost: Floats) -> None:
    parts = [lost.sum(), *lost.sum(axis=1), *lost.sum(axis=0)]
    print(f"| {name} |", " | ".join(f"{part:.3f}".replace("0.", ".") for part in parts), "|")


if __name__ == "__main__":
    run_script(main)
