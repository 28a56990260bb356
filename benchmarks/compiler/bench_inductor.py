"""Compares torch.compile on this project's host target with Inductor's own C++.

python benchmarks/compiler/bench_inductor.py [--threads 2] [--rounds 20] [--only NAME]
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import functools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from inductor_functions import FUNCTIONS, MODELS, Case
from torch.utils._pytree import tree_leaves

import triton_rvv
import triton_rvv.inductor
from foundation.command_line import run_script

# One sample runs a function so often that it takes about this long.
_SAMPLE_S = 0.004

RIGHT = "right"

# Numbers of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


@dataclass(frozen=True)
class Row:
    """How one function did; times in seconds are the best of all rounds."""

    case: Case
    triton_s: float
    cpp_s: float
    eager_s: float
    result: str

    @property
    def ratio(self) -> float:
        return self.cpp_s / self.triton_s


def main() -> None:
    """Measure and print the tables as Markdown."""
    arguments = _parse()
    _keep_freed_memory()
    torch.set_num_threads(arguments.threads)
    triton_rvv.set_num_threads(arguments.threads)
    triton_rvv.inductor.register()
    for title, cases in (("function", FUNCTIONS), ("model", MODELS)):
        chosen = [case for case in cases if arguments.only in case.name]
        rows = []
        print(f"| {title} | size | result | Triton µs | C++ µs | eager µs | C++ / Triton |")
        print("|---|---|---|---|---|---|---|")
        for case in chosen:
            row = _measure(case, arguments.rounds)
            rows.append(row)
            print(_line(row), flush=True)
        _print_summary(rows)


def _keep_freed_memory() -> None:
    """Else some calls, now of one and now of the other, get memory that has to be found first."""
    libc = ctypes.CDLL(None)
    libc.mallopt(_M_MMAP_THRESHOLD, 1 << 30)
    libc.mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="")
    return parser.parse_args()


def _measure(case: Case, rounds: int) -> Row:
    torch._dynamo.reset()
    torch.manual_seed(0)
    inputs = case.inputs()
    triton, cpp = (_compiled(case, backend) for backend in ("triton", "cpp"))
    with torch.no_grad():
        try:
            result = _verdict(case, triton(*inputs), inputs)
        except Exception as failed:
            reason = f"{type(failed).__name__}: {str(failed).splitlines()[0]}"
            return Row(case, math.nan, math.nan, math.nan, reason)
        calls = [functools.partial(run, *inputs) for run in (triton, cpp, case.function)]
        triton_s, cpp_s, eager_s = _best_times_s(calls, rounds)
    return Row(case, triton_s, cpp_s, eager_s, result)


def _compiled(case: Case, backend: str) -> Callable[..., Any]:
    return torch.compile(case.function, dynamic=case.dynamic, options={"cpu_backend": backend})


def _verdict(case: Case, got: Any, inputs: tuple[Any, ...]) -> str:
    """Whether a result is right: compared with eager mode's, computed in double precision."""
    expected = copy.deepcopy(case.function)(*inputs) if case.random else _exact(case, inputs)
    for one, other in zip(tree_leaves(got), tree_leaves(expected), strict=True):
        if case.random:
            # Twice 1 / (1 - p), for one element in four nothing.
            pairs = [(one.mean(), other.mean()), ((one == 0).float().mean(), torch.tensor(0.25))]
            is_right = all(torch.allclose(a, b, atol=0.02) for a, b in pairs)
        else:
            epsilon = torch.finfo(one.dtype).eps if one.dtype.is_floating_point else 0
            scale = other.abs().max().item() if epsilon else 0
            is_right = torch.allclose(
                one.to(other.dtype), other, 16 * epsilon, 16 * epsilon * scale
            )
        if not is_right:
            return "wrong"
    return RIGHT


def _exact(case: Case, inputs: tuple[Any, ...]) -> Any:
    function = copy.deepcopy(case.function)
    if isinstance(function, torch.nn.Module):
        function = function.double()
    return function(*(x.double() if x.is_floating_point() else x for x in inputs))


def _best_times_s(runs: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """The best time of each, measured in turns, since the machine's load changes."""
    counts = [max(int(_SAMPLE_S / _sample_s(run, 3)), 1) for run in runs]
    best = [math.inf] * len(runs)
    for _ in range(rounds):
        for number, (run, count) in enumerate(zip(runs, counts, strict=True)):
            best[number] = min(best[number], _sample_s(run, count))
    return best


def _sample_s(run: Callable[[], Any], count: int) -> float:
    """Seconds a call: of this thread's processor time where it is the only one, else by the wall.

    Other programs do not take processor time from a thread, so one thread's times repeat.
    """
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    start_s = clock()
    for _ in range(count):
        run()
    return (clock() - start_s) / count


def _line(row: Row) -> str:
    times = " | ".join(f"{time_s * 1e6:.0f}" for time_s in (row.triton_s, row.cpp_s, row.eager_s))
    return f"| {row.case.name} | {row.case.size} | {row.result} | {times} | {row.ratio:.2f} |"


def _print_summary(rows: list[Row]) -> None:
    right = [row for row in rows if row.result == RIGHT]
    if not right:
        return
    mean = math.exp(sum(math.log(row.ratio) for row in right) / len(right))
    print(f"\n{len(right)} of {len(rows)} right; geometric mean of the last column {mean:.2f}\n")


if __name__ == "__main__":
    run_script(main)
