"""Times a proposal in a long study: python benchmarks/bench_search.py."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from engine.search import Search
from engine.study.storage import StudyIdentity, open_study
from foundation.config import Config
from search_spaces.space import Parameter, SearchSpace

__all__ = ["main"]

TRIALS = 1000
TIMED = 60

SPACE = SearchSpace(tuple(Parameter(f"P{p}", tuple(range(6))) for p in range(5)))


def time_of(config: Config) -> float:
    """A made-up time in seconds: smooth, with an interaction of two parameters."""
    values = [int(value) for value in config.values()]
    return 1 + sum((value - 2) ** 2 for value in values) + 3 * abs(values[0] - values[1])


def seconds_per_trial(sampler: str, storage: str) -> float:
    """Mean time of ask and tell together, over the last trials of a study in a journal file."""
    identity = StudyIdentity("made-up", {}, "fp32", "none", sampler, {})
    filling = Search(SPACE, "random", 0, open_study(storage, identity, SPACE))
    for _ in range(TRIALS - TIMED):
        config = filling.ask()
        assert config is not None
        filling.tell(config, time_of(config))
    search = Search(SPACE, sampler, 0, open_study(storage, identity, SPACE))
    samples = []
    for _ in range(TIMED):
        start = time.perf_counter()
        config = search.ask()
        assert config is not None
        search.tell(config, time_of(config))
        samples.append(time.perf_counter() - start)
    return statistics.mean(samples)


def main() -> None:
    """Print a line for each sampler that learns."""
    with tempfile.TemporaryDirectory() as folder:
        for sampler in ("auto", "gp", "tpe", "ga"):
            seconds = seconds_per_trial(sampler, str(Path(folder) / f"{sampler}.journal"))
            print(f"{sampler}: {seconds:.4f} s for ask and tell at {TRIALS} trials", flush=True)


if __name__ == "__main__":
    main()
