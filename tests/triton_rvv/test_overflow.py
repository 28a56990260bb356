"""32-bit sums that wrap, which the short ways for addresses and masks must not hide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner


@triton.jit
def scramble_kernel(output_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(output_ptr + offsets, (offsets * 1103515245 + 12345).to(tl.int64))


def test_a_sum_that_wraps_is_widened_after_it_wrapped(run: KernelRunner) -> None:
    with np.errstate(over="ignore"):
        wrapped = np.arange(64, dtype=np.int32) * np.int32(1103515245) + np.int32(12345)
    report = run(scramble_kernel, output_ptr=Expected(wrapped.astype(np.int64)), BLOCK=64)
    assert report.output_ok, report.mismatch


@triton.jit
def below_kernel(output_ptr, base, limit, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(output_ptr + offsets, tl.where(base + offsets < limit, 1, 0))


def test_a_mask_near_the_largest_integer_is_compared_lane_by_lane(run: KernelRunner) -> None:
    base, limit = 2**31 - 100, 2**31 - 50
    sums = (base + np.arange(256)).astype(np.uint32).view(np.int32)
    expected = Expected((sums < limit).astype(np.int32))
    report = run(below_kernel, output_ptr=expected, base=base, limit=limit, BLOCK=256)
    assert report.output_ok, report.mismatch


@triton.jit
def widened_kernel(output_ptr, base, stride, N: tl.constexpr):
    at = tl.arange(0, N)
    x = base + at * stride
    tl.store(output_ptr + at, x.to(tl.int64) * 3)
    tl.store(output_ptr + N + at, tl.where(x.to(tl.int64) < 1000, 1, 0))
    tl.store(output_ptr + 2 * N + at, x.to(tl.float64).to(tl.int64))
    tl.store(output_ptr + 3 * N + at, x % 1000)
    tl.store(output_ptr + 4 * N + at, x.to(tl.uint32).to(tl.int64))
    tl.store(output_ptr + 5 * N + at, x.to(tl.int8).to(tl.int64))
    tl.store(output_ptr + 6 * N + at, tl.cumsum(x.to(tl.int64)))
    tl.store(output_ptr + 7 * N + at, tl.sum(x.to(tl.int64)[:, None] + at[None, :] * 0, 0))


BORDERS = [(2_000_000_000, 123_456_789), (2**31 - 20, 1), (-(2**31) + 5, -1), (5, 3)]


@pytest.mark.parametrize(("base", "stride"), BORDERS)
def test_sums_that_wrap_become_larger_types(run: KernelRunner, base: int, stride: int) -> None:
    x = (base + np.arange(64) * stride).astype(np.int32)
    wide = x.astype(np.int64)
    rest = wide - np.trunc(wide / 1000).astype(np.int64) * 1000
    narrow: list[Any] = [x.astype(np.uint32), x.astype(np.int8)]
    sums = [wide.cumsum(), np.full(64, wide.sum())]
    rows = np.stack([wide * 3, wide < 1000, wide, rest, *narrow, *sums], dtype=np.int64)
    expected = Expected(rows)
    run(widened_kernel, output_ptr=expected, base=base, stride=stride, N=64)


@triton.jit
def address_kernel(
    x_ptr, out_ptr, sums_ptr, base, stride, n, turns, M: tl.constexpr, N: tl.constexpr
):
    at = base + tl.arange(0, M)[:, None] * stride + tl.arange(0, N)[None, :]
    mask = (at >= 0) & (at < n)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask) + 1, mask=mask)
    tl.store(sums_ptr + tl.arange(0, M), tl.sum(tl.load(x_ptr + at, mask=mask, other=0), 1))
    x_ptrs, total = x_ptr + at, tl.zeros((M, N), tl.int32)
    for _ in range(turns):
        total += tl.load(x_ptrs, mask=mask, other=0)
        x_ptrs += n
    tl.store(sums_ptr + M + tl.arange(0, N), tl.sum(total, 0))


@pytest.mark.parametrize(
    ("rows", "columns", "base", "stride"),
    in_turn(
        [(4, 16), (16, 64)],
        [(2**31 - 200, 2**30), (-(2**31), -(2**31)), (2_000_000_000, 987_654_312), (-5, 32)],
    ),
)
def test_addresses_wrap_before_they_are_widened(
    run: KernelRunner, base: int, stride: int, rows: int, columns: int
) -> None:
    n, turns = 2000, 3
    x = np.random.default_rng(0).integers(1, 1000, n * turns).astype(np.int32)
    at = (base + np.arange(rows)[:, None] * stride + np.arange(columns)).astype(np.int32)
    mask = (at >= 0) & (at < n)
    parts = [np.where(mask, x[np.where(mask, at, 0) + turn * n], 0) for turn in range(turns)]
    out = np.zeros(n, np.int32)
    out[at[mask]] = parts[0][mask] + 1
    sums = np.concatenate([parts[0].sum(1), np.sum(parts, axis=(0, 1))]).astype(np.int32)
    run(
        address_kernel,
        x_ptr=x,
        out_ptr=Expected(out, start=np.zeros_like(out)),
        sums_ptr=Expected(sums),
        base=base, stride=stride, n=n, turns=turns, M=rows, N=columns,
    )  # fmt: skip


@triton.jit
def remainder_kernel(x_ptr, out_ptr, base, n, stride, limit, N: tl.constexpr):
    at = tl.arange(0, N)
    places = ((base + at) % n) * stride
    mask = (places >= 0) & (places < limit)
    tl.store(out_ptr + at, tl.load(x_ptr + places, mask=mask, other=-1))


@pytest.mark.parametrize(
    ("base", "n", "stride"), [(2**31 - 10, 100, 1), (90, 100, 2**28), (7, 50, 2)]
)
def test_remainders_of_sums_that_wrap(run: KernelRunner, base: int, n: int, stride: int) -> None:
    x = np.random.default_rng(1).integers(0, 1000, 100).astype(np.int32)
    sums = (base + np.arange(32)).astype(np.int32).astype(np.int64)
    places = ((sums - np.trunc(sums / n).astype(np.int64) * n) * stride).astype(np.int32)
    inside = (places >= 0) & (places < len(x))
    expected = np.where(inside, x[np.where(inside, places, 0)], -1).astype(np.int32)
    run(
        remainder_kernel,
        x_ptr=x,
        out_ptr=Expected(expected),
        base=base, n=n, stride=stride, limit=len(x), N=32,
    )  # fmt: skip


@triton.jit
def below_64_kernel(out_ptr, base, limit, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.where(base + at < limit, 1, 0))


def test_a_mask_near_the_largest_64_bit_integer(run: KernelRunner) -> None:
    base, limit = np.int64(2**63 - 100), np.int64(2**63 - 50)
    with np.errstate(over="ignore"):
        below = (base + np.arange(256)) < limit
    run(below_64_kernel, out_ptr=Expected(below.astype(np.int32)), base=base, limit=limit, N=256)
