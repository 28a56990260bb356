"""What a study of a sister kernel is worth: python benchmarks/search/bench_sisters.py.

Each recorded space is searched with the storage of a user who has tuned other kernels on that board
and never this one: each study has 50 trials of `auto`. Spaces without a sister there are left out
(docs/concepts/search.md, "Warm start"). Prints the performance score after 10 and 25 trials without
a history and with one, where 0 is random search and 1 the optimum at once.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from engine.replays.recorded_space import Floats, RecordedSpace
from engine.replays.shipped import shipped_files
from engine.replays.space_file import read_space
from engine.search import Search
from engine.search.model.warm_start import History
from engine.study.history import PastStudy, history_of
from engine.study.identity import StudyIdentity
from engine.study.imported import store_imported
from engine.study.storage import open_study
from foundation.command_line import positive_integer, run_script
from foundation.config import Config
from foundation.errors import UserError

__all__ = ["main"]

BUDGETS = (10, 25)
FEWEST = 20  # configurations of a space
_STUDY_TRIALS = 50
# Searches that make a history have other seeds than those that use it.
_FIRST_STUDY_SEED = 100


def identity_of(of: RecordedSpace) -> StudyIdentity | None:
    """What a recorded space is about; None if the file names no shape."""
    about = of.about
    shape, board = about.get("shape"), about.get("board")
    if not isinstance(shape, Mapping):
        return None
    device = board["kind"] if isinstance(board, Mapping) else about["device"]
    return StudyIdentity(str(about["kernel"]), shape, str(about["dtype"]), str(device), "auto", {})


@cache
def spaces_of(half: str) -> tuple[tuple[RecordedSpace, StudyIdentity], ...]:
    """Those of both sets."""
    every = [read_space(path) for part in (half, f"{half}-2") for path in shipped_files(part)]
    found = [(of, identity_of(of)) for of in every if len(of.table) >= FEWEST]
    return tuple((of, identity) for of, identity in found if identity is not None)


def searched(of: RecordedSpace, seed: int, trials: int, history: History = ()) -> Search:
    """A search of a recorded space."""
    search = Search(of.space, "auto", seed, history=history)
    while search.tried < trials and (config := search.ask()) is not None:
        search.tell(config, of.table[config])
    return search


@cache
def study_of(place: int, half: str, seed: int) -> tuple[tuple[Config, float | None], ...]:
    """Trials of a study of one of the spaces."""
    trials = searched(spaces_of(half)[place][0], _FIRST_STUDY_SEED + seed, _STUDY_TRIALS).trials()
    return tuple((trial.config, trial.time_s) for trial in trials)


def sister_of(half: str, place: int, seed: int) -> PastStudy | None:
    """What the search is warm-started from, of the other kernels of its half."""
    of, identity = spaces_of(half)[place]
    with tempfile.TemporaryDirectory() as folder:
        storage = str(Path(folder) / "sisters.journal")
        for number, (_, other) in enumerate(spaces_of(half)):
            if other.kernel != identity.kernel and set(other.shape) == set(identity.shape):
                store_imported(storage, other, study_of(number, half, seed))
        return history_of(open_study(storage, identity, of.space), identity, of.space)


def scores(of: RecordedSpace, search: Search) -> Floats:
    """Shape (budgets,), the score of a search."""
    numbers = {config: number for number, config in enumerate(of.configs)}
    tried = [numbers[trial.config] for trial in search.trials()]
    curve = of.best_so_far(tried, max(BUDGETS))
    return of.scores(curve[None])[0, [budget - 1 for budget in BUDGETS]]


def compared(half: str, place: int, seeds: Sequence[int]) -> Floats | None:
    """Shape (searches, 2, budgets), scores without and with a history; None without a sister."""
    of, _ = spaces_of(half)[place]
    rows = []
    for seed in seeds:
        past = sister_of(half, place, seed)
        if past is None:
            return None
        both = [searched(of, seed, max(BUDGETS), history) for history in ((), past.trials)]
        rows.append([scores(of, search) for search in both])
    return np.array(rows)


def row(name: str, each: Floats) -> str:
    """The mean scores, and the change with its standard error over the first axis."""
    change = each[:, 1] - each[:, 0]
    errors = change.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else change[0] * 0
    cells = [
        f"P@{budget} {off:.2f} {on:.2f} ({error:.2f})"
        for budget, (off, on), error in zip(BUDGETS, each.mean(axis=0).T, errors, strict=True)
    ]
    return "\t".join([name, *cells])


def main() -> None:
    """Print a line for each space, and the mean with its error over spaces."""
    parser = argparse.ArgumentParser(description="Scores searches that start from other kernels.")
    parser.add_argument("--seeds", type=positive_integer, default=10, help="searches of each space")
    parser.add_argument("--half", choices=("development", "test"), default="test")
    arguments = parser.parse_args()
    means = []
    for place, (of, _) in enumerate(spaces_of(arguments.half)):
        each = compared(arguments.half, place, range(arguments.seeds))
        if each is not None:
            means.append(each.mean(axis=0))
            print(row(f"{of.name}\t{len(of.table)}", each), flush=True)
    if not means:
        raise UserError(f"no recorded space of the {arguments.half} half has a sister there")
    print(row(f"mean\t{len(means)} spaces", np.array(means)))
    worst = min((on - off)[0] for off, on in means)
    print(f"largest loss at P@{BUDGETS[0]}\t{min(worst, 0.0):.2f}")


if __name__ == "__main__":
    run_script(main)
