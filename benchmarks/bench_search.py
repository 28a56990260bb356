"""Processor time of proposals in a long study: python benchmarks/bench_search.py."""

from __future__ import annotations

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
BATCH = 16

SPACE = SearchSpace(tuple(Parameter(f"P{p}", tuple(range(6))) for p in range(5)))


def time_of(config: Config) -> float:
    """A made-up time in seconds: smooth, with an interaction of two parameters."""
    values = [int(value) for value in config.values()]
    return 1 + sum((value - 2) ** 2 for value in values) + 3 * abs(values[0] - values[1])


def long_search(sampler: str, storage: str) -> Search:
    """A search that resumes a study of a thousand trials in a journal file."""
    identity = StudyIdentity("made-up", {}, "fp32", "none", sampler, {})
    filling = Search(SPACE, "random", 0, open_study(storage, identity, SPACE))
    for _ in range(TRIALS):
        config = filling.ask()
        assert config is not None
        filling.tell(config, time_of(config))
    return Search(SPACE, sampler, 0, open_study(storage, identity, SPACE))


def seconds_per_trial(search: Search) -> float:
    """Mean processor time of ask and tell together."""
    start_s = time.process_time()
    for _ in range(TIMED):
        config = search.ask()
        assert config is not None
        search.tell(config, time_of(config))
    return (time.process_time() - start_s) / TIMED


def seconds_per_batch(search: Search) -> float:
    """Processor time of one call that asks for a batch."""
    start_s = time.process_time()
    assert len(search.ask(BATCH)) == BATCH
    return time.process_time() - start_s


def main() -> None:
    """Print a line for each sampler that learns."""
    with tempfile.TemporaryDirectory() as folder:
        for sampler in ("auto", "gp", "tpe", "ga"):
            search = long_search(sampler, str(Path(folder) / f"{sampler}.journal"))
            each_s, batch_s = seconds_per_trial(search), seconds_per_batch(search)
            print(
                f"{sampler}: processor time at {TRIALS} trials: {each_s:.4f} s for ask and tell, "
                f"{batch_s:.3f} s for ask({BATCH})",
                flush=True,
            )


if __name__ == "__main__":
    main()
