"""Checks kernels that are right in several configurations, and prints each that is refused.

`python tests/honest/honest_kernels.py KERNEL...` takes kernels as `rvv-tune tune` does: names of
this project's, FILE.py:KERNEL, captures, each of whose kernels counts once, and files for each
kernel with arguments of its own. "project" stands for all of this project's, at the small shapes of
its tests. Each is built and checked for this machine, or with `--device cuda` for its GPU, as the
tuner does it: in its default configuration and in three others, drawn by a written seed.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "kernels"))

from small_shapes import EVEN, RAGGED

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.devices import load_board
from engine.workers.gpu_builder import GpuBuildRequest, GpuKernelBuilder
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from foundation.errors import UserError
from foundation.scratch import scratch_folder
from kernels.captured.names import task_name
from kernels.captured.task_file import is_capture_file, read_capture
from kernels.on_device import ProblemArguments
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner.board import Board
from rvv_runner.host import run_once
from rvv_runner.measurement import ElfArtifact
from rvv_runner.verdict import judge
from search_spaces.enumeration import take_census
from triton_rvv.targets.host_target import host_target

SEED = 20261127
OTHERS = 3
_LIMIT_S = 60.0
_KERNEL = re.compile(r"^def (\w+)_arguments\(", re.MULTILINE)
# One timed run more than needed, so that the shuffled order runs as well.
_REPEATS = 2


@dataclass(frozen=True)
class _Kernel:
    """One that is to be checked: what to call it, its name as the tuner takes it, and its sizes."""

    called: str
    name: str
    shape: Mapping[str, int]


def kernels(name: str, most: int | None) -> Iterator[_Kernel]:
    """The kernels of an argument.

    Args:
        name: of a kernel, a file or a capture.
        most: of a capture, how many of its kernels, in an order drawn by the seed.
    """
    if name == "project":
        for kernel, shape in (*RAGGED.items(), *EVEN.items()):
            yield _Kernel(f"{kernel} {shape}", kernel, shape)
    elif is_capture_file(name):
        yield from _captured(Path(name), most)
    elif name.endswith(".py"):
        found = _KERNEL.findall(Path(name).read_text())
        for kernel in found:
            yield _Kernel(kernel, f"{name}:{kernel}", {})
        if not found:
            yield _Kernel(Path(name).stem, name, {})
    else:
        yield _Kernel(name.rpartition("/")[2], name, {})


def _captured(path: Path, most: int | None) -> Iterator[_Kernel]:
    first = {f"{task.kernel.module}.{task.kernel.name}": task for task in read_capture(path).tasks}
    names = sorted(first)
    random.Random(SEED).shuffle(names)
    for name in sorted(names[:most]):
        yield _Kernel(name, task_name(path, first[name].key), {})


def configurations(problem: Problem, board: Board) -> list[Config]:
    """The default configuration, and others that the seed draws of the valid ones."""
    space = problem.space(board.info)
    default = space.default or problem.default_config
    every = [space.config_of(ranks) for ranks in take_census(space).ranks]
    others = [config for config in every if config != default]
    return [default, *random.Random(SEED).sample(others, min(OTHERS, len(others)))]


def verdicts(
    problem: Problem, store: ArtifactStore, board: Board
) -> Iterator[tuple[Config, str, str, float]]:
    """Of each configuration, its status, the reason and the share of its tolerance that it takes,
    the default first."""
    on_gpu = board.info.gpu is not None
    request = BuildRequest(
        problem.spec.load_name, problem.shape, problem.dtype, host_target(), store
    )
    for_gpu = GpuBuildRequest(ProblemArguments.of(problem), board.info, store)
    builder = GpuKernelBuilder(for_gpu) if on_gpu else KernelBuilder(request)
    for config in configurations(problem, board):
        built = builder.build(config)
        if isinstance(built, BuildFailure):
            yield config, built.status, built.reason, 0.0
        elif on_gpu:
            found = board.measure(built, 1, _LIMIT_S)
            yield config, found.status, found.reason, found.max_share or 0.0
        else:
            assert isinstance(built, ElfArtifact)
            verdict = judge(run_once(built, _REPEATS, _LIMIT_S), _LIMIT_S, _REPEATS)
            yield config, verdict.status, verdict.reason, verdict.launcher.max_share or 0.0


def checked(kernel: _Kernel, device: str) -> list[tuple[str, str]]:
    """Of each configuration, its status and the reason; in a process of its own, which it may end.

    Notes on the check are printed.
    """
    with scratch_folder("honest-") as folder:
        try:
            problem = make_problem(load_kernel(kernel.name), kernel.shape)
            board = load_board(device)
            if board.info.gpu is None:
                for note in problem.spec.check(problem) if problem.spec.check else ():
                    print(f"  note: {note}", flush=True)
            else:
                board.open()
            found = list(verdicts(problem, ArtifactStore(folder), board))
            board.close()
            usual, most = found[0][3], max(share for *_, share in found)
            if usual:
                print(f"  errors up to {most / usual:.2f} times the default's", flush=True)
            return [
                (status, f"{dict(config)}: {reason}" if reason else "")
                for config, status, reason, _ in found
            ]
        except UserError as error:
            return [("not checked", str(error))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="+", metavar="KERNEL")
    parser.add_argument("--most", type=int, help="of each capture, so many kernels")
    parser.add_argument("--device", choices=("host", "cuda"), default="host")
    arguments = parser.parse_args()
    statuses: Counter[str] = Counter()
    worst: Counter[str] = Counter()
    process = ProcessPoolExecutor(1)
    for kernel in [one for name in arguments.kernels for one in kernels(name, arguments.most)]:
        try:
            found = process.submit(checked, kernel, arguments.device).result()
        except BrokenProcessPool:
            found = [("crashed", "its process ended")]
            process = ProcessPoolExecutor(1)
        statuses.update(status for status, _ in found)
        first = next((one for one in found if one[0] != "correct"), ("correct", ""))
        worst[first[0]] += 1
        print(f"{kernel.called}: {len(found)} configurations, {' '.join(first)}", flush=True)
    print(f"kernels: {dict(worst)}; configurations: {dict(statuses)}")


if __name__ == "__main__":
    main()
