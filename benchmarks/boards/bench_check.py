"""What the check costs: python benchmarks/boards/bench_check.py [--kernels N] [--seed N]
[--rounds N].

On the emulated board and on the host, for kernels of this project that a written seed draws, and
those whose programs may learn of one another, at their default shapes: one configuration is built
and measured with the whole check, and without other orders of programs and the search for races, in
turns. Then, for files of the tests that stand for a user's own: what a study takes once to find
inputs that tell more, beside one configuration. All is processor time of this process and of those
that it starts, the least of all rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import shutil
import time
from dataclasses import replace
from pathlib import Path
from unittest import mock

from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.scratch import scratch_folder
from kernels.registry import kernel_names, load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner import Board, ElfArtifact
from rvv_runner.cpu_time import children_cpu_s
from rvv_runner.devices import load_board
from rvv_runner.host import run_once
from rvv_runner.verdict import judge

SEED = 2026112761
# They have atomic operations, or an array that they both load and store.
WATCHED = ("add_rms_norm", "layernorm_bwd", "split_k_matmul")
DEVICES = ("emulated", "host")
LIMIT_S = 300.0
# As `engine.tune` has the host run a configuration; a model's figures are the same each time.
HOST_REPEATS = 10
OWN = Path(__file__).parents[2] / "tests" / "cheating"
OWN_KERNELS = (
    *(f"{OWN / 'written_with_dull_inputs.py'}:{name}_kernel" for name in ("bias", "swallowed")),
    *(f"{OWN / 'written_for_usual_values.py'}:{name}_kernel" for name in ("floor", "segment")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=12, help="how many are drawn (12)")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the draw ({SEED})")
    parser.add_argument("--rounds", type=int, default=3, help="of each way (3)")
    arguments = parser.parse_args()
    sample = random.Random(arguments.seed).sample(kernel_names(), arguments.kernels)
    drawn = sorted({*sample, *WATCHED})
    for device in DEVICES:
        board = load_board(device)
        board.open()
        ratios = []
        for name in drawn:
            problem = make_problem(load_kernel(name), {})
            whole_s, plain_s = costs(problem, board, arguments.rounds)
            ratios.append(whole_s / plain_s)
            print(f"{device} {name}: {plain_s:.2f} s, {whole_s:.2f} s with all, {ratios[-1]:.2f}")
        mean = math.prod(ratios) ** (1 / len(ratios))
        print(f"{device}: {min(ratios):.2f} to {max(ratios):.2f}, geometric mean {mean:.2f}")
    for name in OWN_KERNELS:
        once_s, each_s = own_costs(name)
        called = name.rpartition(":")[2]
        print(f"{called}: {once_s:.2f} s once in a study, {each_s:.2f} s for a configuration")


def costs(problem: Problem, board: Board, rounds: int) -> tuple[float, float]:
    """Seconds for the default configuration, with the whole check and without the other orders and
    the search for races, once the inputs are made and the compiler is loaded."""
    with scratch_folder("bench-check-") as folder:
        store = ArtifactStore(folder)
        builder = builder_of(problem, board, store)
        one_configuration(builder, problem, board, whole=True)
        whole_s: list[float] = []
        plain_s: list[float] = []
        for _ in range(rounds):
            for whole, times_s in ((True, whole_s), (False, plain_s)):
                shutil.rmtree(folder / problem.spec.name)
                begun_s = used_s()
                one_configuration(builder, problem, board, whole=whole)
                times_s.append(used_s() - begun_s)
    return min(whole_s), min(plain_s)


def own_costs(name: str) -> tuple[float, float]:
    """Seconds for a user's own kernel on the host: to find inputs that tell more, where nothing is
    kept of an earlier run, and for its default configuration."""
    problem = make_problem(load_kernel(name), {})
    with (
        scratch_folder("bench-check-") as folder,
        mock.patch("kernels.own.kept_answers.cache_folder", return_value=folder),
    ):
        board = load_board("host")
        board.open()
        begun_s = used_s()
        problem.arguments(problem.default_config)
        once_s = used_s() - begun_s
    return once_s, costs(problem, board, 1)[0]


def builder_of(problem: Problem, board: Board, store: ArtifactStore) -> KernelBuilder:
    target = board.info.target
    name = problem.spec.load_name
    return KernelBuilder(BuildRequest(name, problem.shape, problem.dtype, target, store))


def one_configuration(
    builder: KernelBuilder, problem: Problem, board: Board, *, whole: bool
) -> None:
    """Build and measure the default configuration, as `engine.tune` does."""
    without_races = mock.patch("engine.workers.kernel_builder.may_race", return_value=False)
    with contextlib.nullcontext() if whole else without_races:
        built = builder.build(problem.default_config)
    assert isinstance(built, ElfArtifact), built.reason
    elf = built if whole else replace(built, ordered=True)
    if board.info.name == "host":  # which would wait until nothing else runs
        ending = run_once(elf, HOST_REPEATS, LIMIT_S)
        verdict = judge(ending, LIMIT_S, HOST_REPEATS)
        assert verdict.status == "correct", verdict.reason
    else:
        measurement = board.measure(elf, 1, LIMIT_S)
        assert measurement.status == "correct", measurement.reason


def used_s() -> float:
    """Processor time of this process, and of those that it started and that have ended."""
    return time.process_time() + children_cpu_s()


if __name__ == "__main__":
    main()
