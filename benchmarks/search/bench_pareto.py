"""How much of the Pareto front a search finds: python benchmarks/search/bench_pareto.py.

The space is that of `matmul`, recorded in full on the emulated board, with each configuration's
code size. It prints the hypervolume of the front that the trials find, over that of the space's own
front, with logarithms of both objectives. The reference point is once the worst value of each
objective, and once the default: then only what is faster and smaller than the default counts.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from replays import EMULATED

from engine.replays.space_file import read_results, read_space
from engine.search import Search
from engine.study.objectives import CODE_BYTES, TIME_S, Values, front
from engine.study.trials import StoredTrials
from foundation.command_line import run_script
from foundation.config import Config
from search_spaces.space import SearchSpace

__all__ = ["main"]

PATH = EMULATED / "matmul-M256-N512-K256-fp32.json.gz"


def hypervolume(points: Sequence[Values], reference: Values) -> float:
    """Area between the points and a reference point, in logarithms of both objectives."""
    inside = [p for p in points if p[0] < reference[0] and p[1] < reference[1]]
    area, height = 0.0, reference[1]
    for time_s, size_bytes in sorted({inside[place] for place in front(inside)}):
        area += math.log(reference[0] / time_s) * math.log(height / size_bytes)
        height = size_bytes
    return area


def found(
    space: SearchSpace, table: Mapping[Config, Values | None], sampler: str, seed: int, trials: int
) -> list[Values]:
    """The objectives of the configurations that a search tried."""
    search = Search(space, sampler, seed, StoredTrials.in_memory((TIME_S, CODE_BYTES)))
    while search.tried < trials and (config := search.ask()) is not None:
        time_s, size_bytes = table[config] or (None, None)
        search.tell(config, time_s, attributes={CODE_BYTES: size_bytes})
    return [trial.values for trial in search.trials() if trial.values]


def main() -> None:
    """Print a line for each sampler and number of trials."""
    parser = argparse.ArgumentParser(description="Searches a recorded space for its Pareto front.")
    parser.add_argument("--samplers", default="auto,random", help="names, separated by commas")
    parser.add_argument("--trials", default="30,60", help="numbers, separated by commas")
    parser.add_argument("--seeds", type=int, default=20, help="searches")
    arguments = parser.parse_args()
    of = read_space(PATH)
    space, results = replace(of.space, default=of.default), read_results(PATH)[1]
    table = {
        config: None if each.time_s is None else (each.time_s, each.code_bytes or math.inf)
        for config, each in results.items()
    }
    known = [values for values in table.values() if values is not None]
    default = table[space.default] if space.default else None
    assert default is not None
    references = (tuple(np.max(known, axis=0).tolist()), default)
    whole = [hypervolume(known, reference) for reference in references]
    print(f"{len(known)} configurations, {len(set(front(known)))} of them on the front")
    for trials in map(int, arguments.trials.split(",")):
        for sampler in arguments.samplers.split(","):
            shares = []
            for seed in range(arguments.seeds):
                points = found(space, table, sampler, seed, trials)
                shares.append([hypervolume(points, r) for r in references] / np.array(whole))
            mean, error = np.mean(shares, axis=0), np.std(shares, axis=0) / len(shares) ** 0.5
            print(
                f"{trials} trials, {sampler:6}: {mean[0]:.3f} of the whole (standard error "
                f"{error[0]:.3f}), {mean[1]:.3f} of what beats the default ({error[1]:.3f})",
                flush=True,
            )


if __name__ == "__main__":
    run_script(main)
