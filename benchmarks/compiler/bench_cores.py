"""What kernels gain by several cores, and what the winner on one core costs on four and on eight:
python benchmarks/compiler/bench_cores.py [--drawn] [--kernels NAME,...] [--device BOARD --out FILE]
or --bandwidth.

Of each kernel, the default and some configurations of its space on one core, drawn by a written
seed, are measured on one, four and eight cores of a board, by default an emulated X60. The fastest
of them are the winners here; a search finds better ones. The file has every time, so that a board's
can be compared with the model's. With --bandwidth, the sum of two vectors that no cache holds says
how much all cores together move.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.command_line import run_script
from foundation.config import Config
from foundation.shapes import Shape, shape_text
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import Board
from rvv_runner.devices import load_board, on_cores

__all__ = ["DRAWN", "Case", "Tried", "measured_case"]

CORES = (1, 4, 8)
CONFIGS = 8
SEED = 20261126
REPEATS = 5  # on a board whose times vary
BANDWIDTH_N = 1 << 21
BANDWIDTH_CORES = (1, 2, 4, 8)
_LIMIT_S = 300.0


@dataclass(frozen=True)
class Case:
    """A kernel at a shape."""

    kernel: str
    shape: Shape

    def __str__(self) -> str:
        return f"{self.kernel} {shape_text(self.shape)}" if self.shape else self.kernel


# What the model of several cores was looked at with while it was made.
WORKED_ON = (
    Case("vector_add", {}),
    Case("softmax", {}),
    Case("matmul", {"M": 256, "N": 256, "K": 256}),
    Case("jacobi", {}),
)
# Of the others, eight that the seed drew; kernels that came later would change the draw.
DRAWN = tuple(
    Case(name, {})
    for name in (
        *("batched_matmul", "correlation", "flash_attention_fwd", "flash_attention_fwd_causal"),
        *("layernorm_bwd", "resize", "split_k_matmul", "warp"),
    )
)


@dataclass(frozen=True)
class Tried:
    """A configuration of a case.

    Args:
        config: the configuration.
        programs: how many programs its grid has.
        times_s: by the number of cores.
    """

    config: Config
    programs: int
    times_s: Mapping[int, float]


def measured_case(case: Case, boards: Mapping[int, Board], store: ArtifactStore) -> list[Tried]:
    """The default and drawn configurations of a case that are correct on each number of cores."""
    spec = load_kernel(case.kernel)
    problem = make_problem(spec, case.shape)
    one = boards[1].info
    space = problem.space(one)
    configs = list(space.valid_configs())
    drawn = random.Random(f"{SEED}{case}").sample(configs, min(CONFIGS, len(configs)))
    first = space.default or problem.default_config
    builder = KernelBuilder(
        BuildRequest(spec.load_name, problem.shape, problem.dtype, one.target, store)
    )
    tried: list[Tried] = []
    for config in dict.fromkeys([first, *drawn]):
        built = builder.build(config)
        if isinstance(built, BuildFailure):
            continue
        measured = {n: board.measure(built, REPEATS, _LIMIT_S) for n, board in boards.items()}
        times_s = {n: m.time_s for n, m in measured.items() if m.time_s is not None}
        if len(times_s) == len(boards):
            tried.append(Tried(config, math.prod(spec.grid(problem, config)), times_s))
    return tried


def _print_bandwidth(device: str, store: ArtifactStore) -> None:
    spec = load_kernel("vector_add")
    problem = make_problem(spec, {"N": BANDWIDTH_N})
    print("| cores | GB/s, each array counted once |\n|---|---|")
    for cores in BANDWIDTH_CORES:
        board = load_board(on_cores(device, cores))
        board.open()
        builder = KernelBuilder(
            BuildRequest("vector_add", problem.shape, "fp32", board.info.target, store)
        )
        built = builder.build(problem.default_config)
        if isinstance(built, BuildFailure):
            raise SystemExit(f"the kernel does not build: {built.reason}")
        time_s = board.measure(built, REPEATS, _LIMIT_S).time_s or math.nan
        print(f"| {cores} | {spec.traffic_bytes(problem) / time_s / 1e9:.1f} |", flush=True)


def _best(tried: Sequence[Tried], cores: int) -> Tried:
    return min(tried, key=lambda one: one.times_s[cores])


def _loss(guest: Tried, best: Tried, cores: int) -> str:
    return f"{100 * (guest.times_s[cores] / best.times_s[cores] - 1):.0f}%"


def _rule_costs(tried: Sequence[Tried], cores: int) -> str:
    """How much slower the best is that the rule program-for-each-core leaves."""
    least = min(cores, max(one.programs for one in tried))
    left = [one for one in tried if one.programs >= least]
    return _loss(_best(left, cores), _best(tried, cores), cores)


def _line(case: Case, tried: Sequence[Tried]) -> str:
    best = {cores: _best(tried, cores) for cores in CORES}
    cells = [str(case), str(len(tried))]
    for cores in CORES:
        config = str(best[cores].config).replace("BLOCK_SIZE_", "")
        cells.append(f"{config}: {best[cores].programs} programs")
    cells += [_loss(best[1], best[4], 4), _loss(best[1], best[8], 8), _loss(best[4], best[1], 1)]
    one_s = best[1].times_s[1]
    cells += [f"{one_s / best[cores].times_s[cores]:.1f}" for cores in CORES[1:]]
    cells += [f"{_rule_costs(tried, cores)}" for cores in CORES[1:]]
    return f"| {' | '.join(cells)} |"


_HEADINGS = (
    *("kernel", "tried", "winner on one core", "on 4", "on 8"),
    *("the first loses on 4", "on 8", "the second loses on one"),
    *("times faster on 4", "on 8", "the rule costs on 4", "on 8"),
)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table of the cases worked on, or of the drawn ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drawn", action="store_true", help="the held-out half")
    parser.add_argument("--bandwidth", action="store_true", help="bytes a second, no kernels")
    parser.add_argument("--kernels", default="", help="only these of them")
    parser.add_argument("--device", default="emulated", help="the board (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="a JSON file of all times")
    arguments = parser.parse_args(argv)
    store = ArtifactStore(Path("studies/builds").resolve())
    if arguments.bandwidth:
        _print_bandwidth(arguments.device, store)
        return
    wanted = set(filter(None, arguments.kernels.split(",")))
    boards = {cores: load_board(on_cores(arguments.device, cores)) for cores in CORES}
    for board in boards.values():
        board.open()
    print(f"| {' | '.join(_HEADINGS)} |\n|{'---|' * len(_HEADINGS)}")
    records: list[dict[str, object]] = []
    for case in DRAWN if arguments.drawn else WORKED_ON:
        if not wanted or case.kernel in wanted:
            tried = measured_case(case, boards, store)
            records += [_record(case, one, boards[1].info.kind) for one in tried]
            print(_line(case, tried) if tried else f"| {case} | 0 |", flush=True)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(records, indent=1), encoding="utf-8")


def _record(case: Case, one: Tried, board: str) -> dict[str, object]:
    return {
        "kernel": case.kernel,
        "shape": dict(case.shape),
        "config": dict(one.config),
        "programs": one.programs,
        "board": board,
        "times_s": {str(cores): time_s for cores, time_s in one.times_s.items()},
    }


if __name__ == "__main__":
    run_script(lambda: main(sys.argv[1:]))
