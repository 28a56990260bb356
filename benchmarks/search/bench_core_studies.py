"""What the winner of a study of one core loses on four, and that of four on one:
python benchmarks/search/bench_core_studies.py [--kernels NAME,...] [--trials N] [--device BOARD]

Six kernels, drawn by a seed that was written down before the draw, at their default shapes:
`engine.tune KERNEL --cores 1,4` in a storage of its own. Both winners then run on both numbers of
cores. A loss is the mean over the board's models; a real board has one.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.run.request import SearchOptions, StudyOptions, TuningRequest
from engine.run.tuning import tune
from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.devices import on_cores
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.command_line import run_script
from foundation.config import Config
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board

__all__ = ["DRAWN", "main"]

# The seed 20261127 drew them from all kernels but two whose runs take minutes; kernels that come
# later would change the draw.
DRAWN = ("batched_matmul", "decode_attention", "fused_moe", "jacobi", "rope_bwd", "rope_fwd")
CORES = (1, 4)
REPEATS = 5  # on a board whose times vary
_LIMIT_S = 300.0
Times = Mapping[str, float]  # in seconds, by model; a real board's under ""


def winners(kernel: str, device: str, trials: int) -> dict[int, Config]:
    """What a study of each number of cores names, the later ones warm-started from the first."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        storage = str(Path(folder) / "cores.journal")
        for cores in CORES:
            request = TuningRequest(
                kernel,
                devices=(on_cores(device, cores),),
                search=SearchOptions(trials=trials),
                study=StudyOptions(storage),
            )
            winner = tune(request, []).summary.winner
            if winner is None:
                raise SystemExit(f"{kernel}: no configuration is correct on {cores} cores")
            found[cores] = winner.config
    return found


def times(kernel: str, config: Config, device: str) -> Times:
    """How long a configuration takes on a board."""
    board = load_board(device)
    board.open()
    try:
        problem = make_problem(load_kernel(kernel), {})
        with tempfile.TemporaryDirectory() as folder:
            store = ArtifactStore(Path(folder))
            request = BuildRequest(kernel, problem.shape, problem.dtype, board.info.target, store)
            built = KernelBuilder(request).build(config)
            if isinstance(built, BuildFailure):
                raise SystemExit(f"{kernel} {config} does not build: {built.reason}")
            measurement = board.measure(built, REPEATS, _LIMIT_S)
    finally:
        board.close()
    if measurement.time_s is None:
        raise SystemExit(f"{kernel} {config} is {measurement.status}: {measurement.reason}")
    return measurement.models_s or {"": measurement.time_s}


def loss(guest: Times, own: Times) -> float:
    """How much slower a winner is in another's place: the mean over the models of both."""
    return statistics.mean(guest[model] / own[model] for model in own) - 1


def row(kernel: str, device: str, trials: int) -> str:
    """One line of the table."""
    found = winners(kernel, device, trials)
    one, several = CORES
    spec = load_kernel(kernel)
    problem = make_problem(spec, {})
    cells = [kernel]
    for cores in CORES:
        programs = math.prod(spec.grid(problem, found[cores]))
        cells.append(f"{str(found[cores]).replace('BLOCK_SIZE_', '')}: {programs} programs")
    if found[one] == found[several]:
        return f"| {' | '.join([*cells, 'the same', 'the same'])} |"
    taken = {
        (of, on): times(kernel, found[of], on_cores(device, on)) for of in CORES for on in CORES
    }
    for of, on in ((one, several), (several, one)):
        cells.append(f"{100 * loss(taken[of, on], taken[on, on]):.0f}%")
    return f"| {' | '.join(cells)} |"


def main(argv: Sequence[str] | None = None) -> None:
    """Print one row for each kernel."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", default="", help="only these, in place of the drawn ones")
    parser.add_argument("--trials", type=int, default=24, help="of each study")
    parser.add_argument("--device", default="emulated", help="the board (default: %(default)s)")
    arguments = parser.parse_args(argv)
    names = list(filter(None, arguments.kernels.split(","))) or DRAWN
    one, several = CORES
    print(f"| kernel | winner on {one} core | winner on {several} cores |", end="")
    print(f" the first loses on {several} | the second loses on {one} |\n|{'---|' * 5}")
    for kernel in names:
        print(row(kernel, arguments.device, arguments.trials), flush=True)


if __name__ == "__main__":
    run_script(main)
