"""Kernels on this machine beside NumPy and torch, one thread each: python benchmarks/bench_host.py.

Both sides of a comparison run in turn, since machines change their speed.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable

import numpy as np
import torch
import triton

import triton_rvv
from kernels.registry import load_kernel

__all__ = ["compare"]

ROUNDS = 15
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
LIMIT_S = 900.0

Call = Callable[[], object]


def compare(ours: dict[str, Call], theirs: Call) -> tuple[str, float, float]:
    """The best of our blocks, its median seconds, and the median of the other side.

    The best is chosen by a first look, and measured again in turn with the other side.
    """
    for call in (*ours.values(), theirs):
        call()
    best = min(ours, key=lambda block: min(_seconds(ours[block]) for _ in range(3)))
    pairs = [(_seconds(ours[best]), _seconds(theirs)) for _ in range(ROUNDS)]
    our_s, their_s = (statistics.median(side) for side in zip(*pairs, strict=True))
    return best, our_s, their_s


def _seconds(call: Call) -> float:
    start_s = time.perf_counter()
    call()
    return time.perf_counter() - start_s


def _matmul() -> tuple[dict[str, Call], Call]:
    size = 512
    kernel = load_kernel("matmul").kernel
    a, b = (np.random.default_rng(i).standard_normal((size, size), np.float32) for i in range(2))
    out = np.empty((size, size), np.float32)
    tensors = [torch.from_numpy(array) for array in (a, b, out)]

    def run(m: int, n: int, k: int) -> None:
        grid = (triton.cdiv(size, m) * triton.cdiv(size, n),)
        strides = (size, 1) * 3
        kernel[grid](*tensors, size, size, size, *strides, m, n, k, 8)

    blocks = itertools.product((32, 64, 128), (64, 128), (32, 64, 128))
    run(32, 64, 32)
    np.testing.assert_allclose(out, a @ b, rtol=1e-3, atol=1e-3)
    return _by_block(blocks, run), lambda: a @ b


def _softmax() -> tuple[dict[str, Call], Call]:
    rows, columns = 1024, 1024
    kernel = load_kernel("softmax").kernel
    x, out = torch.randn(rows, columns), torch.empty(rows, columns)

    def run(m: int) -> None:
        kernel[(rows // m,)](out, x, columns, columns, rows, columns, m, columns)

    run(1)
    torch.testing.assert_close(out, torch.softmax(x, 1))
    return _by_block(((m,) for m in (1, 2, 4, 8)), run), lambda: torch.softmax(x, 1)


def _layernorm() -> tuple[dict[str, Call], Call]:
    rows, columns = 1024, 1024
    kernel = load_kernel("layernorm_fwd").kernel
    x, out = torch.randn(rows, columns), torch.empty(rows, columns)
    weight, bias = torch.randn(columns), torch.randn(columns)
    mean, rstd = torch.empty(rows), torch.empty(rows)

    def run(m: int, n: int) -> None:
        kernel[(rows // m,)](x, weight, bias, out, mean, rstd, 1e-5, rows, columns, m, n)

    def reference() -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, (columns,), weight, bias, 1e-5)

    run(1, 256)
    torch.testing.assert_close(out, reference(), rtol=1e-4, atol=1e-4)
    return _by_block(itertools.product((1, 2, 4, 8), (128, 256, 512, 1024)), run), reference


def _by_block(blocks: Iterable[tuple[int, ...]], run: Callable[..., None]) -> dict[str, Call]:
    return {"x".join(map(str, block)): lambda block=block: run(*block) for block in blocks}


def main() -> None:
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        environment = {**os.environ, **ONE_THREAD}
        subprocess.run([sys.executable, __file__], env=environment, check=True, timeout=LIMIT_S)
        return
    triton_rvv.activate("host")
    triton_rvv.set_num_threads(1)
    torch.set_num_threads(1)
    for title, (ours, theirs) in (
        ("matmul 512x512x512, NumPy", _matmul()),
        ("softmax 1024x1024, torch", _softmax()),
        ("layer norm 1024x1024, torch", _layernorm()),
    ):
        block, our_s, their_s = compare(ours, theirs)
        print(
            f"{title}: blocks {block} {our_s * 1e3:.2f} ms, theirs {their_s * 1e3:.2f} ms, "
            f"{their_s / our_s:.2f} of their speed"
        )


if __name__ == "__main__":
    main()
