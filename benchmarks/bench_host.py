"""Kernels here, NumPy and torch, all on one thread: python benchmarks/bench_host.py."""

from __future__ import annotations

import os

# The libraries read these on import.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import time
from collections.abc import Callable

import numpy as np
import torch
import triton
import triton.language as tl

import triton_rvv
from kernels.matmul import matmul_kernel

__all__ = ["fastest_s"]

SIZE = 512
BLOCKS = ((64, 64, 64), (128, 128, 64), (256, 64, 64), (128, 256, 64), (256, 128, 128))
ROWS, COLUMNS = 1024, 1000
ROUNDS = 30
CALLS = 200


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x))
    tl.store(out_ptr + row * n + at, numerator / tl.sum(numerator), mask=at < n)


@triton.jit
def layernorm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, n, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    centred = tl.where(at < n, x - tl.sum(x) / n, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred) / n + eps)
    w, b = tl.load(w_ptr + at, mask=at < n), tl.load(b_ptr + at, mask=at < n)
    tl.store(out_ptr + row * n + at, centred * scale * w + b, mask=at < n)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x_ptr + at, mask=at < n) + tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, total, mask=at < n)


def fastest_s(*calls: Callable[[], object]) -> list[float]:
    """Seconds of the fastest run of each; they take turns, so that all see the same machine."""
    times_s: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, taken_s in zip(calls, times_s, strict=True):
            start_s = time.perf_counter()
            call()
            taken_s.append(time.perf_counter() - start_s)
    return [min(taken_s) for taken_s in times_s]


def bench_matmul() -> None:
    """fp32, with the fastest of a few blocks."""
    a, b = torch.randn(SIZE, SIZE), torch.randn(SIZE, SIZE)
    c, expected = torch.empty(SIZE, SIZE), a.double() @ b.double()
    strides = (SIZE, 1) * 3

    def run(block: tuple[int, int, int]) -> None:
        grid = (triton.cdiv(SIZE, block[0]) * triton.cdiv(SIZE, block[1]),)
        matmul_kernel[grid](a, b, c, SIZE, SIZE, SIZE, *strides, *block, GROUP_SIZE_M=1)

    for block in BLOCKS:
        c.zero_()
        run(block)
        torch.testing.assert_close(c.double(), expected, atol=1e-3, rtol=1e-4)
    of_blocks_s = fastest_s(*(lambda block=block: run(block) for block in BLOCKS))
    best = BLOCKS[of_blocks_s.index(min(of_blocks_s))]
    left, right = a.numpy(), b.numpy()
    ours_s, numpy_s, torch_s = fastest_s(lambda: run(best), lambda: left @ right, lambda: a @ b)
    print(
        f"matmul {SIZE}^3 fp32, block {'x'.join(map(str, best))}: "
        f"{2e-9 * SIZE**3 / ours_s:.0f} GFLOP/s, {numpy_s / ours_s:.2f} of NumPy's speed, "
        f"{torch_s / ours_s:.2f} of torch's"
    )


def bench_rows() -> None:
    """Kernels with one row per program, against torch."""
    x, out = torch.randn(ROWS, COLUMNS), torch.empty(ROWS, COLUMNS)
    w, b, block = torch.randn(COLUMNS), torch.randn(COLUMNS), triton.next_power_of_2(COLUMNS)
    cases = {
        "softmax": (
            lambda: softmax_kernel[(ROWS,)](x, out, COLUMNS, BLOCK=block),
            lambda: torch.softmax(x, 1),
        ),
        "layernorm": (
            lambda: layernorm_kernel[(ROWS,)](x, w, b, out, COLUMNS, 1e-5, BLOCK=block),
            lambda: torch.nn.functional.layer_norm(x, (COLUMNS,), w, b, 1e-5),
        ),
    }
    for name, (ours, theirs) in cases.items():
        ours()
        torch.testing.assert_close(out, theirs(), atol=1e-5, rtol=1e-5)
        ours_s, torch_s = fastest_s(ours, theirs)
        print(
            f"{name} {ROWS}x{COLUMNS} fp32: {ours_s * 1e6:.0f} us, "
            f"{torch_s / ours_s:.2f} of torch's speed"
        )


def bench_launch() -> None:
    """The overhead of a call, and what of it finds out whether arguments share memory."""
    x = np.zeros(16, np.float32)
    triton_rvv.set_num_threads(1)
    (one_s,) = fastest_s(lambda: softmax_kernel[(1,)](x, x, 16, BLOCK=16))
    print(f"a call of one small program: {one_s * 1e6:.0f} us")
    left, right, out = (torch.zeros(16) for _ in range(3))

    def add(disjoint: bool) -> None:
        for _ in range(CALLS):
            add_kernel[(1,)](left, right, out, 16, BLOCK=16, disjoint_arguments=disjoint)

    checked_s, unchecked_s = fastest_s(lambda: add(False), lambda: add(True))
    check_s = (checked_s - unchecked_s) / CALLS / 2
    print(f"the check of each pair of arguments: {check_s * 1e6:.1f} us")


def main() -> None:
    torch.set_num_threads(1)
    triton_rvv.activate("host")
    triton_rvv.set_num_threads(1)
    bench_matmul()
    bench_rows()
    bench_launch()


if __name__ == "__main__":
    main()
