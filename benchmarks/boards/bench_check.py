"""What the check costs: python benchmarks/boards/bench_check.py [--kernels N] [--own N] [--seed N]
[--rounds N] [--trials N] [--device NAME,...].

A written seed draws kernels of this project, and files with a `reference` among those of
benchmarks/compiler/hand, which stand for a user's own. Each is built and measured at its default
shape with the whole check, and without what looks for races, other orders of programs, other
inputs than the file's and a reference in fp64, in turns:

- a trial: the default configuration, once the inputs are made; the least of all rounds.
- a study: what is said of the file, the inputs, so many configurations, drawn by the seed, and what
  is said of the winner, in one process. Nothing is kept of an earlier run.

All is processor time of this process and of those that it starts. On a board with a model, the
times have to be the same in both ways.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from foundation.scratch import scratch_folder
from kernels.own.telling import Telling
from kernels.registry import kernel_names, load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner import Board, ElfArtifact, Measurement
from rvv_runner.cpu_time import children_cpu_s
from rvv_runner.devices import load_board
from rvv_runner.host import run_once
from rvv_runner.verdict import judge
from search_spaces.enumeration import take_census

SEED = 2026112861
# They have atomic operations, or an array that they both load and store.
WATCHED = ("add_rms_norm", "layernorm_bwd", "split_k_matmul")
DEVICES = "emulated,host"
LIMIT_S = 300.0
# As `engine.tune` has the host run a configuration; a model's figures are the same each time.
HOST_REPEATS = 10
HAND = Path(__file__).parents[1] / "compiler" / "hand"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=6, help="of the project, drawn (6)")
    parser.add_argument("--own", type=int, default=6, help="files of a user's own, drawn (6)")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the draw ({SEED})")
    parser.add_argument("--rounds", type=int, default=3, help="of a trial, each way (3)")
    parser.add_argument("--trials", type=int, default=20, help="of a study; 0: no study (20)")
    parser.add_argument("--device", default=DEVICES, help=f"of these boards ({DEVICES})")
    arguments = parser.parse_args()
    for device in arguments.device.split(","):
        board = load_board(device)
        board.open()
        trials: list[float] = []
        studies: list[float] = []
        for name in drawn(arguments.kernels, arguments.own, arguments.seed):
            called = f"{device} {name.rpartition('/')[2]}"
            trials.append(_told(f"{called}: a trial", trial_costs(name, board, arguments.rounds)))
            if arguments.trials:
                study = study_costs(name, board, arguments.trials, arguments.seed)
                studies.append(_told(f"{called}: a study", study))
        for what, ratios in (("trials", trials), ("studies", studies)):
            if ratios:
                mean = math.prod(ratios) ** (1 / len(ratios))
                print(f"{device}: {what} {min(ratios):.2f} to {max(ratios):.2f}, mean {mean:.2f}")


def drawn(kernels: int, own: int, seed: int) -> list[str]:
    """Names of kernels, those that are watched among them, and of a user's own."""
    draw = random.Random(seed)
    sample = {*draw.sample(kernel_names(), kernels), *WATCHED} if kernels else set()
    return [*sorted(sample), *sorted(draw.sample(_own_names(), own))]


def _own_names() -> list[str]:
    return [
        f"{path}:{name}"
        for path in sorted(HAND.glob("*.py"))
        for name in re.findall(r"^def (\w+)_reference\(", path.read_text(), re.MULTILINE)
    ]


class _Bench:
    """Builds and measures configurations of a problem in a folder of its own.

    Args:
        problem, board: what is measured where.
        folder: for builds.
        whole: whether with the whole check.

    Attributes:
        default: the problem's configuration.
    """

    def __init__(self, problem: Problem, board: Board, folder: Path, *, whole: bool) -> None:
        self._board = board
        self._whole = whole
        self.default = problem.default_config
        self._builds = folder / problem.spec.name
        name, target = problem.spec.load_name, board.info.target
        store = ArtifactStore(folder)
        self._builder = KernelBuilder(
            BuildRequest(name, problem.shape, problem.dtype, target, store)
        )

    def measured(self, config: Config) -> Measurement:
        """As `engine.tune` does it."""
        built = self._builder.build(config)
        if isinstance(built, BuildFailure):
            return built.measurement
        assert isinstance(built, ElfArtifact)
        elf = built if self._whole else replace(built, ordered=True)
        if self._board.info.name != "host":
            return self._board.measure(elf, 1, LIMIT_S)
        # The board itself would wait until nothing else runs.
        ending = run_once(elf, HOST_REPEATS, LIMIT_S)
        verdict = judge(ending, LIMIT_S, HOST_REPEATS)
        return Measurement(verdict.status, verdict.launcher.times_s, reason=verdict.reason)

    def forget(self) -> None:
        """Have the next configuration built anew."""
        shutil.rmtree(self._builds, ignore_errors=True)


@contextlib.contextmanager
def in_way(folder: Path, *, whole: bool) -> Iterator[None]:
    """Within the block, the check is whole, or without what was added to it; what runs of kernels
    and references told is kept in a folder."""
    cache = folder / "cache"
    replaced: dict[str, object] = {
        f"kernels.own.{module}.cache_folder": lambda: cache
        for module in ("kept_answers", "kept_runs")
    }
    if not whole:
        replaced |= {
            "engine.workers.kernel_builder.may_race": lambda _: False,
            "kernels.own.expected.exact_answer": lambda *_: {},
            "kernels.own.own_arguments.kept_telling": lambda *_: Telling(),
        }
    with contextlib.ExitStack() as patches:
        for name, other in replaced.items():
            patches.enter_context(mock.patch(name, other))
        yield


def trial_costs(name: str, board: Board, rounds: int) -> tuple[float, float]:
    """Seconds for the default configuration without and with all, once its inputs are made."""
    costs_s: dict[bool, list[float]] = {False: [], True: []}
    times_s = set()
    with scratch_folder("bench-check-") as folder:
        benches: dict[bool, _Bench] = {}
        for _ in range(rounds + 1):
            for whole, of_way in costs_s.items():
                with in_way(folder / str(whole), whole=whole):
                    if whole not in benches:
                        problem = make_problem(load_kernel(name), {})
                        benches[whole] = _Bench(problem, board, folder / str(whole), whole=whole)
                    bench = benches[whole]
                    bench.forget()
                    begun_s = used_s()
                    found = bench.measured(bench.default)
                    of_way.append(used_s() - begun_s)
                assert found.status == "correct", found.reason
                times_s.add(found.times_s)
    assert board.info.name == "host" or len(times_s) == 1, f"{name}: the check changes times"
    return min(costs_s[False][1:]), min(costs_s[True][1:])


def study_costs(name: str, board: Board, trials: int, seed: int) -> tuple[float, float]:
    """Seconds for a study without and with all."""
    plain_s, whole_s = (_study_s(name, board, trials, seed, whole=whole) for whole in (False, True))
    return plain_s, whole_s


def _study_s(name: str, board: Board, trials: int, seed: int, *, whole: bool) -> float:
    with scratch_folder("bench-check-") as folder, in_way(folder, whole=whole):
        problem = make_problem(load_kernel(name), {})
        spec, default = problem.spec, problem.default_config
        begun_s = used_s()
        if whole and spec.check:
            spec.check(problem)
        else:
            problem.arguments(default)
        bench = _Bench(problem, board, folder / "builds", whole=whole)
        found = {c: bench.measured(c) for c in _configurations(problem, board, trials, seed)}
        right = [c for c, measurement in found.items() if measurement.status == "correct"]
        wrong = [c for c, measurement in found.items() if measurement.status == "wrong"]
        best = min(right, key=lambda c: found[c].time_s or math.inf)
        if whole and spec.on_other_sizes and best != default:
            spec.on_other_sizes(problem, best)
        if whole and spec.on_inputs and wrong:
            spec.on_inputs(problem, wrong[0])
        return used_s() - begun_s


def _configurations(problem: Problem, board: Board, trials: int, seed: int) -> list[Config]:
    """The default, and others that the seed draws, as far as there are so many."""
    space = problem.space(board.info)
    every = [space.config_of(ranks) for ranks in take_census(space).ranks]
    others = [config for config in every if config != problem.default_config]
    drawn_ones = random.Random(seed).sample(others, min(trials - 1, len(others)))
    return [problem.default_config, *drawn_ones]


def used_s() -> float:
    """Processor time of this process, and of those that it started and that have ended."""
    return time.process_time() + children_cpu_s()


def _told(what: str, costs_s: tuple[float, float]) -> float:
    plain_s, whole_s = costs_s
    print(f"{what}: {plain_s:.3f} s, {whole_s:.3f} s with all, {whole_s / plain_s:.2f}", flush=True)
    return whole_s / plain_s


if __name__ == "__main__":
    main()
