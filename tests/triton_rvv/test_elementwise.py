"""Arithmetic, comparisons and selections of every element type against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from element_values import FLOATS, INTEGERS, N, check, floats, integers
from pairs import in_turn
from qemu_kernels import Expected


@triton.jit
def integer_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    out = out_ptr + offsets
    tl.store(out, x + y)
    tl.store(out + N, x - y)
    tl.store(out + 2 * N, x * y)
    tl.store(out + 3 * N, x & y)
    tl.store(out + 4 * N, x | y)
    tl.store(out + 5 * N, x ^ y)
    tl.store(out + 6 * N, tl.minimum(x, y))
    tl.store(out + 7 * N, tl.maximum(x, y))
    tl.store(out + 8 * N, -x)
    tl.store(out + 9 * N, ~x)
    tl.store(out + 10 * N, x * 3 + 7)


@pytest.mark.parametrize(
    ("vlen_bits", "dtype"),
    in_turn([128, 256], [*INTEGERS, np.uint8, np.uint32, np.uint64]),
)
def test_integer_arithmetic_wraps(run, dtype, vlen_bits):
    x, y = integers(dtype, 1), integers(dtype, 2)
    with np.errstate(over="ignore"):
        results = [x + y, x - y, x * y, x & y, x | y, x ^ y, np.minimum(x, y), np.maximum(x, y)]
        results += [-x, ~x, x * dtype(3) + dtype(7)]
    check(run, integer_kernel, results, x_ptr=x, y_ptr=y, vlen_bits=vlen_bits)


@triton.jit
def division_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    out = out_ptr + offsets
    tl.store(out, x // y)
    tl.store(out + N, x % y)
    tl.store(out + 2 * N, x // 7)
    tl.store(out + 3 * N, x % 8)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.int16])
def test_integer_division_goes_toward_zero(run, dtype):
    x, y = integers(dtype, 3), integers(dtype, 4, nonzero=True)
    y[:1] = 2  # the smallest number by -1 has no result

    def divide(divisors):
        """Quotients and remainders by way of Python's integers, which are exact."""
        pairs = list(zip(x.tolist(), divisors, strict=True))
        quotients = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in pairs]
        remainders = [a - b * q for (a, b), q in zip(pairs, quotients, strict=True)]
        return np.array(quotients, dtype), np.array(remainders, dtype)

    results = [*divide(y.tolist()), divide([7] * N)[0], divide([8] * N)[1]]
    check(run, division_kernel, results, x_ptr=x, y_ptr=y)


@triton.jit
def masked_division_kernel(x_ptr, y_ptr, out_ptr, limit, N: tl.constexpr):
    offsets = tl.arange(0, N)
    mask = offsets < limit
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets, mask=mask, other=0)
    out = out_ptr + offsets
    tl.store(out, tl.where(mask, x // y, 5))
    tl.store(out + N, tl.where(mask, x % y, 5))
    there = limit > N
    one = tl.load(y_ptr, mask=there, other=0)
    tl.store(out + 2 * N, tl.where(there, x // one, 5))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.int8])
def test_division_by_lanes_that_a_mask_leaves_out(run, dtype):
    x, y = np.full(N, np.iinfo(dtype).min, dtype), np.full(N, -1).astype(dtype)
    expected = np.full((3, N), 5, dtype)
    expected[0, :3], expected[1, :3] = x[:3], 0  # the quotient that has no room wraps
    check(run, masked_division_kernel, [*expected], x_ptr=x, y_ptr=y, limit=3)


@triton.jit
def shift_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    out = out_ptr + offsets
    tl.store(out, x << y)
    tl.store(out + N, x >> y)
    tl.store(out + 2 * N, x << 3)
    tl.store(out + 3 * N, x >> 5)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.int8])
def test_shifts(run, dtype):
    x = integers(dtype, 5)
    y = (np.arange(N) % np.iinfo(dtype).bits).astype(dtype)
    results = [x << y, x >> y, x << dtype(3), x >> dtype(5)]
    check(run, shift_kernel, results, x_ptr=x, y_ptr=y)


@triton.jit
def float_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    out = out_ptr + offsets
    tl.store(out, x + y)
    tl.store(out + N, x - y)
    tl.store(out + 2 * N, x * y)
    tl.store(out + 3 * N, x / y)
    tl.store(out + 4 * N, -x)
    tl.store(out + 5 * N, tl.abs(x))
    tl.store(out + 6 * N, tl.floor(x))
    tl.store(out + 7 * N, tl.ceil(x))
    tl.store(out + 8 * N, tl.sqrt(tl.abs(x)))
    tl.store(out + 9 * N, tl.minimum(x, y))
    tl.store(out + 10 * N, tl.maximum(x, y))
    tl.store(out + 11 * N, x * 0.5 - 1.25)


@pytest.mark.parametrize(
    ("vlen_bits", "dtype"), in_turn([128, 256], [(value,) for value in FLOATS])
)
def test_float_arithmetic_is_exact(run, dtype, vlen_bits):
    x, y = floats(dtype, 6), np.roll(floats(dtype, 7), 3)
    with np.errstate(all="ignore"):
        results = [x + y, x - y, x * y, x / y, -x, np.abs(x), np.floor(x), np.ceil(x)]
        results += [np.sqrt(np.abs(x)), np.minimum(x, y), np.maximum(x, y)]
        results += [x * dtype(0.5) - dtype(1.25)]
    check(run, float_kernel, results, x_ptr=x, y_ptr=y, vlen_bits=vlen_bits)


@triton.jit
def fma_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, tl.fma(x, y, -x * y))


def test_fma_rounds_once(run):
    random = np.random.default_rng(8)
    x, y = (random.standard_normal(N).astype(np.float32) for _ in range(2))
    # fma(x, y, -(x * y)) is the rounding error of the product, unless that is fused as well.
    exact = x.astype(np.float64) * y.astype(np.float64)
    error = (exact - (x * y).astype(np.float64)).astype(np.float32)
    assert np.count_nonzero(error) > N // 2
    check(run, fma_kernel, [error], x_ptr=x, y_ptr=y)


@triton.jit
def nan_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    out = out_ptr + offsets
    tl.store(out, tl.minimum(x, y, propagate_nan=tl.PropagateNan.NONE))
    tl.store(out + N, tl.maximum(x, y, propagate_nan=tl.PropagateNan.NONE))
    tl.store(out + 2 * N, tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 3 * N, tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_in_minimum_and_maximum(run, dtype):
    x, y = floats(dtype, 9), floats(dtype, 10)
    x[10:20] = y[15:25] = np.nan
    results = [np.fmin(x, y), np.fmax(x, y), np.minimum(x, y), np.maximum(x, y)]
    check(run, nan_kernel, results, x_ptr=x, y_ptr=y)


@triton.jit
def comparison_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    out = out_ptr + offsets
    tl.store(out, x < y)
    tl.store(out + N, x <= y)
    tl.store(out + 2 * N, x > y)
    tl.store(out + 3 * N, x >= y)
    tl.store(out + 4 * N, x == y)
    tl.store(out + 5 * N, x != y)
    tl.store(out + 6 * N, (x < y) | (x == 1))
    tl.store(out + 7 * N, (x < y) ^ (y > 0))
    tl.store(out + 8 * N, ~(x < y) & (y != 1))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, np.uint32, np.uint64])
def test_comparisons(run, dtype):
    if dtype in FLOATS:
        x, y = floats(dtype, 11), floats(dtype, 12)
        x[20:30] = y[25:35] = np.nan
    else:
        x, y = integers(dtype, 11), integers(dtype, 12)
    y[::5] = x[::5]
    results = [x < y, x <= y, x > y, x >= y, x == y, x != y]
    results += [(x < y) | (x == 1), (x < y) ^ (y > 0), ~(x < y) & (y != 1)]
    results = [result.astype(np.int32) for result in results]
    check(run, comparison_kernel, results, x_ptr=x, y_ptr=y)


@triton.jit
def select_kernel(x_ptr, y_ptr, n, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    out = out_ptr + offsets
    tl.store(out, tl.where(x < y, x, y))
    tl.store(out + N, tl.where(offsets < n, x, 0))
    tl.store(out + 2 * N, tl.where(n > 20, x, y))
    tl.store(out + 3 * N, tl.where(offsets % 2 == 0, offsets, offsets + 100).to(x.dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, *FLOATS])
def test_select(run, dtype):
    x, y = (floats if dtype in FLOATS else integers)(dtype, 13), np.full(N, 1, dtype)
    i = np.arange(N)
    for n in (21, 20):
        results = [np.where(x < y, x, y), np.where(i < n, x, dtype(0)), x if n > 20 else y]
        results += [np.where(i % 2 == 0, i, i + 100).astype(dtype)]
        check(run, select_kernel, results, x_ptr=x, y_ptr=y, n=n)


@triton.jit
def scalar_kernel(i_ptr, f_ptr, d_ptr, a, b, x, y, wide, double):
    tl.store(i_ptr, a + b)
    tl.store(i_ptr + 1, a // b)
    tl.store(i_ptr + 2, a % b)
    tl.store(i_ptr + 3, tl.where(a > b, 1, 2))
    tl.store(i_ptr + 4, (wide >> 33).to(tl.int32))
    tl.store(i_ptr + 5, max(a, b) - min(a, b))
    tl.store(f_ptr, x * y)
    tl.store(f_ptr + 1, tl.sqrt(x) + tl.abs(y))
    tl.store(f_ptr + 2, tl.exp(x * 0.0))
    tl.store(f_ptr + 3, a.to(tl.float32) / b)
    tl.store(f_ptr + 4, tl.load(f_ptr) + 1, mask=a < b)
    tl.store(f_ptr + 5, tl.load(f_ptr, mask=a < b, other=9.0))
    tl.store(d_ptr, double * 3)


def test_scalars(run):
    start = np.full(6, -1, np.float32)
    floats_ = np.array([1.5 * -2.5, 1.5**0.5 + 2.5, 1, -17 / np.float32(5), -2.75, -3.75])
    run(
        scalar_kernel,
        i_ptr=Expected(np.array([-12, -3, -2, 2, -2, 22], np.int32)),
        f_ptr=Expected(floats_.astype(np.float32), start=start, rtol=1e-7),
        d_ptr=Expected(np.array([0.1 * 3])),
        a=-17,
        b=5,
        x=1.5,
        y=-2.5,
        wide=np.int64(-(2**33) - 5),
        double=np.float64(0.1),
    )


@triton.jit
def polynomial_kernel(x_ptr, out_ptr, DEPTH: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets, mask=offsets < N - 1, other=0.0)
    for _ in tl.static_range(DEPTH):
        x = x * x * 0.25 + x
    tl.store(out_ptr + offsets, x)


def test_a_long_chain_that_uses_each_value_twice(run):
    x = np.linspace(-0.9, 0, N, dtype=np.float32)
    exact = x.astype(np.float64)
    exact[-1] = 0
    for _ in range(60):
        exact = exact * exact * 0.25 + exact
    check(run, polynomial_kernel, [exact.astype(np.float32)], 1e-5, 1e-5, x_ptr=x, DEPTH=60)
