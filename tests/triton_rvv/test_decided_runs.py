"""Masks that sizes and grid decide for all lanes of a vector."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected, KernelRunner

from triton_rvv import RVVTarget, compile_kernel

BLOCK = 128
TURNS = 3


@triton.jit
def largest(x_ptr, y_ptr, n, turns, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    best = tl.full((BLOCK,), -1.0, tl.float32)
    for turn in range(turns):
        best = tl.maximum(best, tl.load(x_ptr + turn * n + at, mask=at < n, other=0.0))
    tl.store(y_ptr + at, best, mask=at < n)


def masked(known, grid, skipped=()):
    """How many vectors are loaded and stored under masks, and the count of the rule."""
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "turns": "i32"}
    compiled = compile_kernel(
        largest,
        signature,
        {"BLOCK": BLOCK},
        RVVTarget(),
        known,
        grid=grid,
        disjoint_arguments=True,
        skipped_passes=skipped,
    )
    counts = {each.name: each.count for each in compiled.passes}
    calls = re.findall(r"call .*@llvm\.masked\.(load|store)\.", compiled.lowered)
    return [calls.count("load"), calls.count("store")], counts["decide-runs"]


def test_only_the_vector_at_the_end_of_a_row_has_a_mask():
    known = {"n": 50}
    assert masked(known, (1, 1, 1)) == ([1, 1], 2)
    assert masked(known, (1, 1, 1), ["decide-runs"]) == ([8, 8], 0)
    assert masked({"n": 48}, (1, 1, 1))[0] == [0, 0]


@pytest.mark.parametrize(
    ("known", "grid"), [({"n": 130}, (2, 1, 1)), ({"n": 50}, None), ({}, (1, 1, 1))]
)
def test_it_does_not_hold_where_programs_differ_or_a_size_is_unknown(known, grid):
    accesses, count = masked(known, grid)
    assert accesses == [8, 8]
    assert count == 0


@triton.jit
def between(x_ptr, inside_ptr, all_ptr, first, low, n, turns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = (first + at >= low) & (first + at < n)
    best = tl.full((BLOCK,), -9.0, tl.float32)
    for turn in range(turns):
        x = tl.load(x_ptr + turn * BLOCK + at, mask=mask, other=-7.0)
        best = tl.maximum(best, x)
    tl.store(inside_ptr + at, best, mask=mask)
    tl.store(all_ptr + at, best)


@pytest.mark.parametrize(
    ("first", "low", "n"),
    [(0, 20, 50), ((1 << 31) - 40, 3 - (1 << 31), 50)],
    ids=["two limits", "positions that wrap"],
)
def test_lanes_outside_are_neither_read_nor_written(first, low, n, tmp_path: Path):
    x = np.random.default_rng(0).normal(size=(TURNS, BLOCK)).astype(np.float32)
    at = np.arange(BLOCK, dtype=np.int32) + np.int32(first)
    mask = (at >= low) & (at < n)
    best = np.where(mask, x.max(0), np.float32(-7))
    untouched = np.full(BLOCK, 5, np.float32)
    KernelRunner(tmp_path)(
        between,
        known=["first", "low", "n"],
        x_ptr=x,
        inside_ptr=Expected(np.where(mask, best, untouched), start=untouched),
        all_ptr=Expected(best),
        first=first,
        low=low,
        n=n,
        turns=TURNS,
        BLOCK=BLOCK,
    )
