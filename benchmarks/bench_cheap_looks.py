"""Whether a cheap look at a configuration tells its time: python benchmarks/bench_cheap_looks.py.

Configurations drawn at random are measured in full on the emulated board, and looked at: what was
built is counted, and the same executable runs a smaller problem (`looks.py`). Printed is, for each
look, how well it ranks them, what it costs and where a search ends that looks before it runs; then
whether what violates a soft rule is slower.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from looks import CASES, NO_LOOK, SMALLER, Case, Laboratory, Trial
from scipy.stats import rankdata, spearmanr
from vector_guesses import fits_in_l1, fits_in_registers, short_code

from engine.search import Search
from foundation.config import Config
from rvv_runner import BoardInfo
from rvv_runner.devices import load_board
from search_spaces.blocks import TOTAL_BYTES
from search_spaces.rules import lanes_in_register
from search_spaces.space import SearchSpace

__all__ = ["main"]

SEEDS = 20
# A search may take the seconds of so many configurations in full. It runs so many to learn which
# way a look points, and from then on one of so many proposals.
BUDGET, LEARNT_FROM, SCREENED = 8, 3, 3

LOOKS = """
| look | correlation | best tenth kept | of a trial | of its run | above the best | builds free |
|---|---|---|---|---|---|---|"""
GUESSES = """
| soft rule | violations | their median time over that of the others |
|---|---|---|"""

Trials = Mapping[Config, Trial]


def measured(laboratory: Laboratory, configs: Sequence[Config]) -> Trials:
    """Every configuration that does not fail."""
    laboratory.trial(laboratory.problem.default_config)  # imports, and the linker's libc
    found = {config: laboratory.trial(config) for config in configs}
    return {config: trial for config, trial in found.items() if trial is not None}


def correlation(values: Sequence[float], times_s: Sequence[float]) -> float:
    """Spearman's, and 0 if there is nothing to tell apart."""
    return float(spearmanr(values, times_s)[0]) if len(set(values)) > 1 else 0.0


def lost(trials: Trials, look: str, seed: int, build_price: float) -> float:
    """By what part the best that a search finds in its budget is slower than the best there is.

    Args:
        trials: the whole space of the search.
        look: decides which one of some proposals is run, less or more being better as the trials
            so far have it.
        seed: of the sampler.
        build_price: what a second of building counts as.
    """
    search = Search(SearchSpace.from_configs(trials), seed=seed)
    fulls = [trial.full for trial in trials.values()]
    left_s = BUDGET * statistics.mean(build_price * full.build_s + full.run_s for full in fulls)
    looked_at: set[Config] = set()
    values: list[float] = []
    times_s: list[float] = []
    while left_s > 0:
        is_of_use = look.startswith(SMALLER) or (look != NO_LOOK and len(values) >= LEARNT_FROM)
        asked = search.ask(SCREENED if is_of_use else 1)
        if not asked:
            break
        seen = {config: trials[config].looks[look] for config in asked}
        sign = 1 if look.startswith(SMALLER) else math.copysign(1, correlation(values, times_s))
        config = min(asked, key=lambda config: sign * seen[config].value)
        full = trials[config].full
        new = [seen[config] for config in asked if config not in looked_at]
        build_s = sum(look.build_s for look in new) + max(0, full.build_s - seen[config].build_s)
        left_s -= build_price * build_s + sum(look.run_s for look in new) + full.run_s
        looked_at.update(asked)
        if left_s < 0 and times_s:
            break
        for other in asked:
            # What is left aside may be proposed again.
            if other != config:
                search.tell(other, None, status="board")
        search.tell(config, full.value)
        values.append(seen[config].value)
        times_s.append(full.value)
    return min(times_s) / min(full.value for full in fulls) - 1


def print_looks(trials: Trials) -> None:
    """A row of a table for each look."""
    fulls = [trial.full for trial in trials.values()]
    times_s = [full.value for full in fulls]
    run_s = sum(full.run_s for full in fulls)
    full_s = run_s + sum(full.build_s for full in fulls)
    fastest = rankdata(times_s) <= max(1, round(len(times_s) / 10))
    for name in next(iter(trials.values())).looks:
        looks = [trial.looks[name] for trial in trials.values()]
        rho = correlation([look.value for look in looks], times_s)
        ranks = rankdata([math.copysign(1, rho) * look.value for look in looks])
        kept = ranks[fastest] <= len(ranks) / 3
        small_s = sum(look.run_s for look in looks)
        look_s = small_s + sum(look.build_s for look in looks)
        shares = f"{look_s / full_s:.0%} | {small_s / run_s:.0%}"
        seen = f"{rho:.2f} | {sum(kept)} of {len(kept)} | {shares}"
        ends = [[lost(trials, name, seed, price) for seed in range(SEEDS)] for price in (1, 0)]
        above = " | ".join(
            f"{statistics.mean(parts):.0%} ± {statistics.stdev(parts) / math.sqrt(SEEDS):.0%}"
            for parts in ends
        )
        print(f"| {name} | {'- | - | - | -' if name == NO_LOOK else seen} | {above} |")


def print_guesses(trials: Trials, case: Case, info: BoardInfo) -> None:
    """A line for each soft rule: how much slower what it soft_violations is."""
    assert info.l1d_bytes is not None
    guesses = (
        fits_in_l1(case.blocks, TOTAL_BYTES, info.l1d_bytes),
        fits_in_registers(case.sums, lanes_in_register(info.vlen_bits, TOTAL_BYTES)),
        short_code(lambda config: int(trials[config].looks["instructions"].value)),
    )
    for rule in guesses:
        doubted: list[float] = []
        others: list[float] = []
        for config, trial in trials.items():
            (doubted if rule.forbids(config) else others).append(trial.full.value)
        both = doubted and others
        ratio = f"{statistics.median(doubted) / statistics.median(others):.2f}" if both else "-"
        print(f"| {rule.name} | {len(doubted)} of {len(trials)} | {ratio} |")


def main() -> None:
    """Draw, measure and print."""
    parser = argparse.ArgumentParser(description="Compares looks at configurations with times.")
    parser.add_argument("--kernels", default=",".join(CASES), help="names, with commas between")
    parser.add_argument("--draws", type=int, default=60, help="configurations of each")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    board = load_board("emulated")
    board.open()
    for kernel in arguments.kernels.split(","):
        with tempfile.TemporaryDirectory() as folder:
            laboratory = Laboratory(kernel, board, Path(folder).resolve())
            configs = list(laboratory.problem.space(board.info).valid_configs())
            drawn = random.Random(0).sample(configs, min(arguments.draws, len(configs)))
            trials = measured(laboratory, drawn)
        failed = len(drawn) - len(trials)
        print(f"{laboratory.problem.name}: {len(drawn)} of {len(configs)}, {failed} failed")
        print(LOOKS)
        print_looks(trials)
        print(GUESSES)
        print_guesses(trials, CASES[kernel], board.info)


if __name__ == "__main__":
    main()
