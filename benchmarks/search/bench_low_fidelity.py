"""How well low-fidelity proxies predict times: python benchmarks/search/bench_low_fidelity.py.

Random configurations are measured in full on the emulated board, and by each proxy (`proxies.py`):
counts of what was built, and the time of a smaller problem. For each proxy, it prints how well it
ranks the configurations, what it costs, and what a search finds that uses it to choose what to run.
Then it prints whether configurations that violate a soft rule are slower.
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

from proxies import CASES, NO_PROXY, SMALLER, Case, Laboratory, Trial
from scipy.stats import rankdata, spearmanr
from vector_guesses import fits_in_l1, fits_in_registers, short_code

from engine.search import Search
from foundation.command_line import run_script
from foundation.config import Config
from rvv_runner import BoardInfo
from rvv_runner.devices import load_board
from search_spaces.blocks import ACCUMULATOR_BYTES
from search_spaces.rules import lanes_in_register
from search_spaces.space import SearchSpace

__all__ = ["main"]

SEEDS = 20
# A search may take as long as BUDGET full trials. It runs LEARNT_FROM of them to learn whether a
# lower or a higher value of the proxy is better, and from then on one of SCREENED proposals.
BUDGET, LEARNT_FROM, SCREENED = 8, 3, 3

PROXIES = """
| proxy | correlation | best tenth kept | of a trial | of its run | above the best | builds free |
|---|---|---|---|---|---|---|"""
SOFT_RULES = """
| soft rule | violate it | their median time over that of the others |
|---|---|---|"""

Trials = Mapping[Config, Trial]


def measured(laboratory: Laboratory, configs: Sequence[Config]) -> Trials:
    """A trial of each configuration that does not fail."""
    laboratory.trial(laboratory.problem.default_config)  # imports, and the linker's libc
    found = {config: laboratory.trial(config) for config in configs}
    return {config: trial for config, trial in found.items() if trial is not None}


def correlation(values: Sequence[float], times_s: Sequence[float]) -> float:
    """Spearman's rank correlation, or 0 if all values are equal."""
    return float(spearmanr(values, times_s)[0]) if len(set(values)) > 1 else 0.0


def excess(trials: Trials, proxy: str, seed: int, build_price: float) -> float:
    """How much slower than the fastest trial a search ends within its budget: 0.1 is a tenth.

    Args:
        trials: the whole space of the search.
        proxy: decides which of several proposals is run; the trials so far decide whether a lower
            or a higher value is better.
        seed: of the sampler.
        build_price: weight of a second of building.
    """
    search = Search(SearchSpace.from_configs(trials), seed=seed)
    fulls = [trial.full for trial in trials.values()]
    left_s = BUDGET * statistics.mean(build_price * full.build_s + full.run_s for full in fulls)
    judged: set[Config] = set()
    values: list[float] = []
    times_s: list[float] = []
    while left_s > 0:
        is_usable = proxy.startswith(SMALLER) or (proxy != NO_PROXY and len(values) >= LEARNT_FROM)
        asked = search.ask(SCREENED if is_usable else 1)
        if not asked:
            break
        seen = {config: trials[config].proxies[proxy] for config in asked}
        sign = 1 if proxy.startswith(SMALLER) else math.copysign(1, correlation(values, times_s))
        config = min(asked, key=lambda config: sign * seen[config].value)
        full = trials[config].full
        new = [seen[config] for config in asked if config not in judged]
        build_s = sum(one.build_s for one in new) + max(0, full.build_s - seen[config].build_s)
        left_s -= build_price * build_s + sum(one.run_s for one in new) + full.run_s
        judged.update(asked)
        if left_s < 0 and times_s:
            break
        for other in asked:
            # The others may be proposed again.
            if other != config:
                search.tell(other, None, status="board")
        search.tell(config, full.value)
        values.append(seen[config].value)
        times_s.append(full.value)
    return min(times_s) / min(full.value for full in fulls) - 1


def print_proxies(trials: Trials) -> None:
    """Print a row for each proxy."""
    fulls = [trial.full for trial in trials.values()]
    times_s = [full.value for full in fulls]
    run_s = sum(full.run_s for full in fulls)
    full_s = run_s + sum(full.build_s for full in fulls)
    fastest = rankdata(times_s) <= max(1, round(len(times_s) / 10))
    for name in next(iter(trials.values())).proxies:
        proxies = [trial.proxies[name] for trial in trials.values()]
        rho = correlation([proxy.value for proxy in proxies], times_s)
        ranks = rankdata([math.copysign(1, rho) * proxy.value for proxy in proxies])
        kept = ranks[fastest] <= len(ranks) / 3
        small_s = sum(proxy.run_s for proxy in proxies)
        proxy_s = small_s + sum(proxy.build_s for proxy in proxies)
        shares = f"{proxy_s / full_s:.0%} | {small_s / run_s:.0%}"
        seen = f"{rho:.2f} | {sum(kept)} of {len(kept)} | {shares}"
        ends = [[excess(trials, name, seed, price) for seed in range(SEEDS)] for price in (1, 0)]
        above = " | ".join(
            f"{statistics.mean(parts):.0%} ± {statistics.stdev(parts) / math.sqrt(SEEDS):.0%}"
            for parts in ends
        )
        print(f"| {name} | {'- | - | - | -' if name == NO_PROXY else seen} | {above} |")


def print_soft_rules(trials: Trials, case: Case, info: BoardInfo) -> None:
    """Print a row for each soft rule: how much slower the configurations are that violate it."""
    assert info.l1d_bytes is not None
    rules = (
        fits_in_l1(case.blocks, ACCUMULATOR_BYTES, info.l1d_bytes),
        fits_in_registers(case.sums, lanes_in_register(info.vlen_bits, ACCUMULATOR_BYTES)),
        short_code(lambda config: int(trials[config].proxies["instructions"].value)),
    )
    for rule in rules:
        violating: list[float] = []
        others: list[float] = []
        for config, trial in trials.items():
            (violating if rule.forbids(config) else others).append(trial.full.value)
        both = violating and others
        ratio = f"{statistics.median(violating) / statistics.median(others):.2f}" if both else "-"
        print(f"| {rule.name} | {len(violating)} of {len(trials)} | {ratio} |")


def main() -> None:
    """Draw, measure and print."""
    parser = argparse.ArgumentParser(description="Compares low-fidelity proxies with times.")
    parser.add_argument("--kernels", default=",".join(CASES), help="names, separated by commas")
    parser.add_argument("--draws", type=int, default=60, help="configurations per kernel")
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
        print(PROXIES)
        print_proxies(trials)
        print(SOFT_RULES)
        print_soft_rules(trials, CASES[kernel], board.info)


if __name__ == "__main__":
    run_script(main)
