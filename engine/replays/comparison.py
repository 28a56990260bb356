"""Several searches replayed on the same spaces, with everything that the outputs show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.replays.labels import search_labels, space_labels
from engine.replays.ranks import Difference, Ranks, differences, ranks_of
from engine.replays.recorded_space import RecordedSpace
from engine.replays.runs import Job, Run, run_all
from engine.replays.scores import BUDGETS, Scores, scores_of
from engine.replays.shipped import family_of

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """What was replayed, and the scores.

    Args:
        spaces: by a name that tells each from the others.
        trials, seeds: of each search of each space.
        runs: by search and space, one per seed.
        scores: one per search; each but the first is compared with the first.
    """

    spaces: Mapping[str, RecordedSpace]
    trials: int
    seeds: int
    runs: Mapping[str, Mapping[str, Sequence[Run]]]
    scores: Sequence[Scores]

    @cached_property
    def budgets(self) -> list[int]:
        """The numbers of trials that scores are given after."""
        return [*(budget for budget in BUDGETS if budget < self.trials), self.trials]

    @cached_property
    def families(self) -> dict[str, list[str]]:
        """The names of the spaces of each family."""
        found: dict[str, list[str]] = {}
        for name, space in self.spaces.items():
            found.setdefault(family_of(space.about.get("kernel")), []).append(name)
        return found

    @cached_property
    def labels(self) -> dict[str, str]:
        """Short names of the searches."""
        return search_labels([one.search for one in self.scores])

    @cached_property
    def ranks(self) -> Ranks | None:
        """By the score after all trials."""
        return ranks_of(self.scores, list(self.spaces), self.trials)

    @cached_property
    def differences(self) -> list[Difference]:
        """Of the score after all trials."""
        return differences(self.scores, list(self.spaces), self.trials)


def compare(
    spaces: Mapping[Path, RecordedSpace],
    searches: Sequence[str],
    trials: int,
    seeds: int,
    file: Path,
    processes: int,
    tell: Callable[[int, int, str], None],
) -> Comparison:
    """Replay searches and score them.

    Args:
        spaces: by file.
        searches: their names.
        trials, seeds: of each search of each space.
        file, processes, tell: as of `run_all`.

    Raises:
        UserError: for a search that does not exist.
    """
    names = space_labels({path: of.name for path, of in spaces.items()})
    jobs = {
        (search, name, seed): Job(path.resolve(), search, seed, trials, name)
        for seed in range(seeds)
        for path, name in names.items()
        for search in searches
    }
    found = run_all(list(jobs.values()), file, processes, tell)
    runs = {
        search: {
            name: [found[jobs[search, name, seed]] for seed in range(seeds)]
            for name in names.values()
        }
        for search in searches
    }
    named = {names[path]: of for path, of in spaces.items()}
    scores = [scores_of(search, runs[search], named, trials) for search in searches]
    return Comparison(named, trials, seeds, runs, scores)
