"""Kernels on this machine against torch, both on one thread:
python benchmarks/compiler/bench_host.py.

Times are of the processor. Both take turns, so that all see the same machine, and the median of the
ratios of neighbours counts: on a busy machine single times say nothing.
"""

from __future__ import annotations

import os

# The libraries read these on import.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import argparse
import functools
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
import triton
from kernels_against_torch import (
    add_kernel,
    column_sum_kernel,
    embedding_kernel,
    layernorm_kernel,
    row_sum_kernel,
    softmax_kernel,
    transposed_kernel,
)

import triton_rvv
from kernels.matmul import matmul_kernel

__all__ = ["Case", "cases", "compared"]

SIZE = 512
BLOCKS = ((128, 128, 64), (128, 128, 256), (128, 256, 64), (256, 64, 64), (256, 128, 128))
ROWS, COLUMNS = 1024, 1000
SIDE = 1024  # of the matrix that is copied
WORDS, TOKENS, FEATURES = 20_000, 2048, 512
ROUNDS = 30
LEAST_S = 2e-3  # of a measured turn: shorter calls are repeated
# The check of each pair of arguments, over so many calls at a time.
CALLS = 200
# What is aimed at, in torch's speeds, by how a case's name begins; and of a call, in seconds.
GOALS = {
    f"matmul {SIZE}^3 fp32": 1.0,
    f"matmul {SIZE}^3 bf16": 0.9,
    f"matmul {SIZE}^3 i8": 0.9,
    "softmax": 1.3,
    "layernorm": 1.2,
    "row sum": 1.0,
    "column sum": 1.2,
    "transposed copy": 1.2,
    "embedding": 1.0,
}
CALL_GOAL_S = 4e-6


@dataclass(frozen=True)
class Case:
    """A kernel, and what computes the same in torch.

    Args:
        name: as it is printed.
        ways: calls of the kernel with different blocks, of which the fastest counts.
        theirs: the call of torch, which returns what it computes, in memory that is there already
            where torch's function takes any.
        out: what the kernel writes.
        tolerance: how far they may be apart, relative to an element and to 1.
    """

    name: str
    ways: Mapping[str, Callable[[], object]]
    theirs: Callable[[], torch.Tensor]
    out: torch.Tensor
    tolerance: float = 1e-4


def seconds(call: Callable[[], object], times: int) -> float:
    """Processor time of so many calls."""
    start_s = time.process_time()
    for _ in range(times):
        call()
    return time.process_time() - start_s


def compared(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """Seconds of one of our calls, and theirs / ours: medians over turns."""
    times = [max(1, round(LEAST_S / max(seconds(call, 3) / 3, 1e-7))) for call in (ours, theirs)]
    turns = [
        (seconds(ours, times[0]) / times[0], seconds(theirs, times[1]) / times[1])
        for _ in range(ROUNDS)
    ]
    ratio = statistics.median(their_s / our_s for our_s, their_s in turns)
    return statistics.median(our_s for our_s, _ in turns), ratio


def report(case: Case) -> None:
    """Check what each way computes, and print how fast the fastest is."""
    for way in case.ways.values():
        case.out.zero_()
        way()
        expected, tolerance = case.theirs(), case.tolerance
        torch.testing.assert_close(case.out, expected, atol=tolerance, rtol=tolerance)
    times_s = {name: min(seconds(way, 1) for _ in range(5)) for name, way in case.ways.items()}
    best = min(times_s, key=lambda name: times_s[name])
    our_s, ratio = compared(case.ways[best], case.theirs)
    block = f", block {best}" if len(case.ways) > 1 else ""
    goals = [f"{goal:.1f}" for name, goal in GOALS.items() if case.name.startswith(name)]
    goal = goals[0] if goals else f"{CALL_GOAL_S * 1e6:.0f} us"
    print(
        f"{case.name}{block}: {our_s * 1e6:.1f} us, {ratio:.2f} of torch's speed; to reach: {goal}",
        flush=True,
    )


def cases() -> Iterator[Case]:
    """Every line that is printed against torch."""
    yield from products()
    yield from rows()
    yield from moves()
    x, y, out = torch.randn(1), torch.randn(1), torch.empty(1)
    ways = {"1": lambda: add_kernel[(1,)](x, y, out, 1, BLOCK=1)}
    yield Case("a call, of one element", ways, lambda: torch.add(x, y, out=out), out)


def products() -> Iterator[Case]:
    """Matrix products of each type."""
    a, b = torch.randn(SIZE, SIZE), torch.randn(SIZE, SIZE)
    yield product("fp32", a, b, torch.float32, torch.mm, 1e-3)
    yield product("bf16", a.bfloat16(), b.bfloat16(), torch.bfloat16, torch.mm, 1e-2)
    a8, b8 = (torch.randint(-128, 128, (SIZE, SIZE), dtype=torch.int8) for _ in range(2))
    yield product("i8", a8, b8, torch.int32, torch._int_mm, 0)


def product(
    dtype: str,
    a: torch.Tensor,
    b: torch.Tensor,
    result: torch.dtype,
    theirs: Callable[..., torch.Tensor],
    tolerance: float,
) -> Case:
    """A matrix product with a few blocks."""
    c, other = (torch.empty(SIZE, SIZE, dtype=result) for _ in range(2))

    def run(block: tuple[int, int, int]) -> None:
        grid = (triton.cdiv(SIZE, block[0]) * triton.cdiv(SIZE, block[1]),)
        strides = (SIZE, 1) * 3
        matmul_kernel[grid](a, b, c, SIZE, SIZE, SIZE, *strides, *block, GROUP_SIZE_M=1)

    ways = {"x".join(map(str, block)): functools.partial(run, block) for block in BLOCKS}
    return Case(f"matmul {SIZE}^3 {dtype}", ways, lambda: theirs(a, b, out=other), c, tolerance)


def rows() -> Iterator[Case]:
    """Kernels over the rows or columns of a matrix."""
    x, out = torch.randn(ROWS, COLUMNS), torch.empty(ROWS, COLUMNS)
    w, b, block = torch.randn(COLUMNS), torch.randn(COLUMNS), triton.next_power_of_2(COLUMNS)
    of_rows, of_columns = torch.empty(ROWS), torch.empty(COLUMNS)
    shape, grid, other = f"{ROWS}x{COLUMNS} fp32", (ROWS,), torch.empty(ROWS, COLUMNS)
    other_rows, other_columns = torch.empty(ROWS), torch.empty(COLUMNS)

    def column_sum(rows: int, columns: int) -> None:
        programs = (triton.cdiv(COLUMNS, columns),)
        column_sum_kernel[programs](x, of_columns, ROWS, COLUMNS, ROWS=rows, COLUMNS=columns)

    yield Case(
        f"softmax {shape}",
        {"row": lambda: softmax_kernel[grid](x, out, COLUMNS, BLOCK=block)},
        lambda: torch.softmax(x, 1, out=other),
        out,
    )
    yield Case(
        f"layernorm {shape}",
        {"row": lambda: layernorm_kernel[grid](x, w, b, out, COLUMNS, 1e-5, BLOCK=block)},
        lambda: torch.nn.functional.layer_norm(x, (COLUMNS,), w, b, 1e-5),
        out,
    )
    yield Case(
        f"row sum {shape}",
        {"row": lambda: row_sum_kernel[grid](x, of_rows, COLUMNS, BLOCK=block)},
        lambda: torch.sum(x, 1, out=other_rows),
        of_rows,
    )
    blocks = ((16, 64), (16, 128), (32, 256), (8, 1024))
    yield Case(
        f"column sum {shape}",
        {f"{m}x{n}": functools.partial(column_sum, m, n) for m, n in blocks},
        lambda: torch.sum(x, 0, out=other_columns),
        of_columns,
        1e-3,
    )


def moves() -> Iterator[Case]:
    """Kernels that only move elements."""
    x, out, other = torch.randn(SIDE, SIDE), torch.empty(SIDE, SIDE), torch.empty(SIDE, SIDE)

    def transpose(block: int) -> None:
        side = triton.cdiv(SIDE, block)
        transposed_kernel[(side, side)](x, out, SIDE, SIDE, BLOCK=block)

    yield Case(
        f"transposed copy {SIDE}x{SIDE} fp32",
        {f"{block}x{block}": functools.partial(transpose, block) for block in (16, 32, 64)},
        lambda: other.copy_(x.t()),
        out,
        0,
    )
    table, ids = torch.randn(WORDS, FEATURES), torch.randint(0, WORDS, (TOKENS,))
    rows, other_rows = torch.empty(TOKENS, FEATURES), torch.empty(TOKENS, FEATURES)
    grid = (TOKENS,)
    yield Case(
        f"embedding of {TOKENS} rows of {FEATURES} fp32",
        {"row": lambda: embedding_kernel[grid](ids, table, rows, FEATURES, BLOCK=FEATURES)},
        lambda: torch.index_select(table, 0, ids, out=other_rows),
        rows,
        0,
    )


def report_check() -> None:
    """What of a call finds out whether arguments share memory."""
    left, right, out = (torch.zeros(16) for _ in range(3))

    def add(disjoint: bool) -> None:
        for _ in range(CALLS):
            add_kernel[(1,)](left, right, out, 16, BLOCK=16, disjoint_arguments=disjoint)

    add(False)
    add(True)
    turns = [(seconds(lambda: add(False), 1), seconds(lambda: add(True), 1)) for _ in range(ROUNDS)]
    check_s = statistics.median(checked - unchecked for checked, unchecked in turns) / CALLS / 2
    print(f"the check of each pair of arguments: {check_s * 1e6:.1f} us")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    triton_rvv.activate("host")
    triton_rvv.set_num_threads(1)
    for case in cases():
        report(case)
    report_check()


if __name__ == "__main__":
    main()
