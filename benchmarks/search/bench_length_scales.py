"""What fits find of length scales: python benchmarks/search/bench_length_scales.py.

A Gaussian process is fitted to random configurations of each space that is made up or recorded
here. For each kind of property this prints the mean, the median and the standard deviation, over
properties and spaces, of the logarithm of the length scale per square root of the number of
properties; then those of the logarithms of the variances. The priors of the search
(`engine/search/model/columns.py` and `fit.py`) are close to these, and pull on them a little.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
from made_up_spaces import FAMILIES
from replays import made_up, recorded

from engine.replays.recorded_space import RecordedSpace
from engine.search.model.candidates import Candidates
from engine.search.model.columns import columns_of
from engine.search.model.fit import MAX_FITTED_ROWS, fit
from engine.search.model.gaussian_process import Inputs
from engine.search.model.targets import targets
from foundation.command_line import run_script
from search_spaces.space import Parameter

# Failures at random, of which a process can find nothing.
PATTERNLESS = ("half_fails", "most_fails", "random_failures", "nearly_all_fails")


def kinds(parameters: tuple[Parameter, ...]) -> list[str]:
    """The kind of each property, in the order of the length scales."""
    several = [parameter for parameter in parameters if len(parameter.values) > 1]
    found = [
        "two values" if len(each.values) == 2 else "ordered" if each.is_ordered else "named"
        for each in several
    ]
    return found + ["alignment"] * (len(columns_of(parameters)) - len(several))


def logarithms(of: RecordedSpace) -> list[tuple[str, float]]:
    """What the fit to one space finds: the kind of each hyperparameter and its logarithm."""
    candidates = Candidates(of.space)
    drawn = np.random.default_rng(0).permutation(len(candidates))[:MAX_FITTED_ROWS].tolist()
    times_s = [of.table[candidates.config(number)] for number in drawn]
    found = fit(candidates.levels, Inputs(candidates.indicators(drawn)), targets(times_s))
    scales = found.length_scales / np.sqrt(candidates.levels.parameters)
    pairs = zip(kinds(of.space.parameters), np.log(scales).tolist(), strict=True)
    variances = {
        "joint variance": found.joint_variance,
        "additive variance": found.additive_variance,
        "noise variance": found.noise_variance,
    }
    return [*pairs, *((name, float(np.log(value))) for name, value in variances.items())]


def main() -> int:
    """Print a line for each kind."""
    parser = argparse.ArgumentParser(description="Prints what fits find of length scales.")
    parser.add_argument("--fewest", type=int, default=100, help="smaller spaces are left out")
    fewest = parser.parse_args().fewest
    families = [family for family in FAMILIES if family not in PATTERNLESS]
    found: dict[str, list[float]] = defaultdict(list)
    for of in [*made_up(families, 2), *recorded(fewest)]:
        for kind, value in logarithms(of):
            found[kind].append(value)
    print(f"{'kind':18} {'mean':>6} {'median':>6} {'deviation':>9} {'count':>6}")
    for kind, values in found.items():
        figures = f"{np.mean(values):6.2f} {np.median(values):6.2f} {np.std(values):9.2f}"
        print(f"{kind:18} {figures} {len(values):6}")
    return 0


if __name__ == "__main__":
    run_script(main)
