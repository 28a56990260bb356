"""Products in loops: where sums begin, and stores of them that the last turn does itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected, KernelRunner

BLOCKS = 2
M, N, K = 32, 64, 32


@triton.jit
def loops_kernel(
    a_ptr,
    b_ptr,
    bias_ptr,
    c_ptr,
    again_ptr,
    first,
    turns,
    live_m,
    stride_c,
    part_c,
    START: tl.constexpr,
    DECAY: tl.constexpr,
    BIAS: tl.constexpr,
    AGAIN: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """Each block: c = the sum over the turns of a @ b, from START on, as far as rows are live."""
    rows, columns = tl.arange(0, 32), tl.arange(0, 64)
    steps = tl.arange(0, 32)
    for block in range(BLOCKS):
        total = tl.full((32, 64), START, tl.float32)
        for turn in range(first, turns):
            a = tl.load(a_ptr + block * 1024 + rows[:, None] * 32 + steps[None, :])
            b = tl.load(b_ptr + turn * 2048 + steps[:, None] * 64 + columns[None, :])
            if DECAY:
                total = tl.dot(a, b, total * 0.5, out_dtype=tl.float32)
            else:
                total = tl.dot(a, b, total, out_dtype=tl.float32)
        bias = tl.load(bias_ptr + columns)
        stored = tl.maximum(total + bias[None, :], 0) if BIAS else total
        at = block * part_c + rows[:, None] * stride_c + columns[None, :]
        tl.store(c_ptr + at, stored.to(c_ptr.dtype.element_ty), mask=rows[:, None] < live_m)
        if AGAIN:
            whole = block * 2048 + rows[:, None] * 64 + columns[None, :]
            tl.store(again_ptr + whole, total + 1)


# What differs from three turns from 0 on that are stored whole.
CASES: list[dict[str, Any]] = [
    {},
    {"first": 3},
    {"first": 2, "START": 2.5, "BIAS": True},
    {"START": -1.5, "DECAY": True},
    {"live_m": 13, "BIAS": True},
    {"AGAIN": True},
    {"stride_c": 23},
    {"stride_c": 71, "element": np.float16},
    {"first": 5, "turns": -7, "BIAS": True},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_loops(run: KernelRunner, case: dict[str, Any]) -> None:
    values = {"first": 0, "turns": 3, "live_m": M, "stride_c": N, "START": 0.0, **case}
    stored = element = values.pop("element", np.float32)
    flags = {name: values.pop(name, False) for name in ("DECAY", "BIAS", "AGAIN")}
    random = np.random.default_rng(7)
    a = random.integers(-4, 5, (BLOCKS, M, K)).astype(element)
    b = random.integers(-4, 5, (4, K, N)).astype(element)
    bias = random.integers(-30, 30, N).astype(np.float32)
    part_c = values["stride_c"] * (M - 1) + N
    before = np.full(BLOCKS * part_c, 5, stored)
    expected, again = before.copy(), np.full((BLOCKS, M, N), 5, np.float32)
    for block in range(BLOCKS):
        total = np.full((M, N), values["START"], np.float32)
        for turn in range(values["first"], values["turns"]):
            factor = 0.5 if flags["DECAY"] else 1
            total = total * factor + a[block].astype(np.float32) @ b[turn].astype(np.float32)
        c = np.maximum(total + bias, 0) if flags["BIAS"] else total
        for row in range(values["live_m"]):  # where rows overlap, the later one stays
            at = block * part_c + row * values["stride_c"]
            expected[at : at + N] = c[row]
        if flags["AGAIN"]:
            again[block] = total + 1
    run(
        loops_kernel,
        a_ptr=a,
        b_ptr=b,
        bias_ptr=bias,
        c_ptr=Expected(expected, start=before),
        again_ptr=Expected(again, start=np.full_like(again, 5)),
        part_c=part_c,
        BLOCKS=BLOCKS,
        **values,
        **flags,
    )
