"""Functions of tl.math in float32: errors in ulp, special values, scalars and reductions."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from math_samples import SPECIAL, check_errors, samples, store_error
from pairs import in_turn
from qemu_kernels import Expected
from scipy.special import erf
from triton.language.extra import libdevice

from triton_rvv import RVVTarget, compile_kernel

# Function, largest error allowed in ulp, and where most of its arguments are.
FUNCTIONS = {
    "exp": (np.exp, 1.0, (-105, 89)),
    "exp2": (np.exp2, 1.0, (-150, 128)),
    "log": (np.log, 1.0, (0, 4)),
    "log2": (np.log2, 1.0, (0, 4)),
    "sin": (np.sin, 2.0, (-50, 50)),
    "cos": (np.cos, 2.0, (-50, 50)),
    "erf": (erf, 2.0, (-4, 4)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5, (0, 4)),
    # Composed by Triton; below -87 its e^-x overflows.
    "sigmoid": (lambda x: np.where(x > -87, 1 / (1 + np.exp(-x)), np.nan), 3.0, (-87, 20)),
}


@triton.jit
def error_kernel(x_ptr, exact_ptr, per_limit_ptr, error_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    store_error(tl.exp(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(tl.exp2(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(tl.log(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(tl.log2(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(tl.sin(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(tl.cos(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(tl.erf(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(tl.rsqrt(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(tl.sigmoid(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)


@pytest.mark.parametrize("vlen_bits", in_turn([256, 128], turns=1))
def test_errors_are_within_their_limits(run, vlen_bits):
    x, exact, limits = [], [], []
    for reference, limit, (lowest, highest) in FUNCTIONS.values():
        x.append(samples(reference, lowest, highest))
        with np.errstate(over="ignore"):
            exact.append(reference(x[-1].astype(np.float64)))
        limits.append(limit)
    worst = check_errors(run, error_kernel, exact, limits, vlen_bits, x_ptr=np.stack(x))
    # Errors this small over so many arguments would mean that nothing was measured.
    assert worst > 0.7


@triton.jit
def circles_kernel(x_ptr, y_ptr, out_ptr, same_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at, mask=at < n), tl.load(y_ptr + at, mask=at < n)
    sin, cos = tl.sin(x), tl.cos(y)
    tl.store(out_ptr + at, sin, mask=at < n)
    tl.store(out_ptr + n + at, cos, mask=at < n)
    same = (x != y) | ((sin == tl.sin(y)) & (cos == tl.cos(x)))
    tl.store(same_ptr + at, same, mask=at < n)


def test_circles_near_and_far(run):
    """Numbers below 2^17 are reduced in another way, and give the same whatever is beside them."""
    x = np.random.default_rng(4).uniform(-(2.0**17), 2.0**17, 300).astype(np.float32)
    x[:32] = np.pi / 2 * np.arange(1, 80001, 2500)  # the nearest floats, whose rest is small
    x[32:36] = 0.0, -0.0, 2.0**17, np.nextafter(np.float32(2.0**17), np.float32(0))
    y = x.copy()
    y[::9] = np.resize([1e6, -3e38, 2.0**24, np.nan, -np.inf], len(y[::9]))
    with np.errstate(invalid="ignore"):
        exact = np.stack([np.sin(x.astype(np.float64)), np.cos(y.astype(np.float64))])
    run(
        circles_kernel,
        x_ptr=x,
        y_ptr=y,
        out_ptr=Expected(exact.astype(np.float32), rtol=1.9e-7),
        same_ptr=Expected(np.ones(x.size, np.int8)),
        n=x.size,
        BLOCK=512,
    )


@triton.jit
def store_signed(result, out_ptr, sign_ptr, offsets):
    """A result, and whether its sign bit is set, which tells 0 from -0."""
    tl.store(out_ptr + offsets, result)
    is_negative = (result.to(tl.int32, bitcast=True) < 0) & ~libdevice.isnan(result)
    tl.store(sign_ptr + offsets, is_negative)


@triton.jit
def special_kernel(x_ptr, out_ptr, sign_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    store_signed(tl.exp(x), out_ptr, sign_ptr, offsets)
    store_signed(tl.exp2(x), out_ptr, sign_ptr, offsets + N)
    store_signed(tl.log(x), out_ptr, sign_ptr, offsets + 2 * N)
    store_signed(tl.log2(x), out_ptr, sign_ptr, offsets + 3 * N)
    store_signed(tl.sin(x), out_ptr, sign_ptr, offsets + 4 * N)
    store_signed(tl.cos(x), out_ptr, sign_ptr, offsets + 5 * N)
    store_signed(tl.erf(x), out_ptr, sign_ptr, offsets + 6 * N)
    store_signed(tl.rsqrt(x), out_ptr, sign_ptr, offsets + 7 * N)
    # What is known to be a normal number takes fewer instructions.
    store_signed(tl.log(1 + tl.abs(x)), out_ptr, sign_ptr, offsets + 8 * N)
    # The root of -0.0 is -0.0, and 1 by that no number above 0.
    store_signed(tl.log(1 + 1 / tl.sqrt(x)), out_ptr, sign_ptr, offsets + 9 * N)
    # Never negative, and no normal number either.
    store_signed(tl.log(tl.abs(x)), out_ptr, sign_ptr, offsets + 10 * N)


def _log_of_normal(x):
    return np.log((1 + np.abs(x)).astype(np.float32).astype(np.float64))


def _log_of_quotient(x):
    return np.log((1 + 1 / np.sqrt(x)).astype(np.float32).astype(np.float64))


@pytest.mark.parametrize("vlen_bits", in_turn([256, 128], turns=1))
def test_special_values(run, vlen_bits):
    references = [FUNCTIONS[name][0] for name in list(FUNCTIONS)[:8]]
    references += [_log_of_normal, _log_of_quotient, lambda x: np.log(np.abs(x))]
    with np.errstate(all="ignore"):
        exact = np.stack([f(SPECIAL.astype(np.float64)) for f in references]).astype(np.float32)
    run(
        special_kernel,
        x_ptr=SPECIAL,
        out_ptr=Expected(exact, rtol=2.4e-7, atol=3e-45),
        sign_ptr=Expected((np.signbit(exact) & ~np.isnan(exact)).astype(np.int32)),
        N=len(SPECIAL),
        vlen_bits=vlen_bits,
    )


@triton.jit
def folded_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, tl.exp(x * tl.where(x < 0, 1.0, -1.0)))
    tl.store(out_ptr + N + offsets, tl.exp(x * tl.where(x > 0, -1.0, 1.0)))


@pytest.mark.parametrize("vlen_bits", in_turn([256, 128], turns=1))
def test_exponents_that_are_no_instruction_of_their_own(run, vlen_bits):
    """LLVM makes `x` and `-x` of them, in which the sign of NaN stays or turns."""
    nans = np.array([0x7FC00000, 0xFFC00000, 0xFF812345], np.uint32).view(np.float32)
    special = [np.float32(value) for value in (1, -1, 0.0, -0.0, -200, 3)]
    x = np.resize(np.concatenate([nans, np.array(special)]), 32)
    with np.errstate(all="ignore"):
        sizes = np.exp(-np.abs(x))
    run(
        folded_kernel,
        x_ptr=x,
        out_ptr=Expected(np.concatenate([sizes, sizes]), rtol=2.4e-7, atol=3e-45),
        N=x.size,
        vlen_bits=vlen_bits,
    )


@triton.jit
def scalar_math_kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr)
    tl.store(out_ptr, tl.exp(x))
    tl.store(out_ptr + 1, tl.exp2(x))
    tl.store(out_ptr + 2, tl.log(x))
    tl.store(out_ptr + 3, tl.log2(x))
    tl.store(out_ptr + 4, tl.sin(x))
    tl.store(out_ptr + 5, tl.cos(x))
    tl.store(out_ptr + 6, tl.erf(x))
    tl.store(out_ptr + 7, tl.rsqrt(x))


def test_scalars(run):
    for x in (np.float32(0.75), np.float32(2.5), np.float32(1e20)):
        with np.errstate(over="ignore"):
            exact = [f(np.float64(x)) for f, _, _ in list(FUNCTIONS.values())[:8]]
            expected = Expected(np.array(exact).astype(np.float32), rtol=2.4e-7)
        run(scalar_math_kernel, x_ptr=np.array([x]), out_ptr=expected)


@triton.jit
def log_add_exp(a, b):
    return tl.maximum(a, b) + tl.log(1 + tl.exp(-tl.abs(a - b)))


@triton.jit
def reduction_kernel(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, N)), 0, log_add_exp))


def test_functions_inside_a_reduction(run):
    x = np.random.default_rng(0).normal(0, 3, 64).astype(np.float32)
    exact = np.logaddexp.reduce(x.astype(np.float64))
    run(reduction_kernel, x_ptr=x, out_ptr=Expected(np.array([exact], np.float32), rtol=1e-6), N=64)


@triton.jit
def double_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    out = out_ptr + offsets
    tl.store(out, tl.exp(x))
    tl.store(out + N, tl.exp2(x))
    tl.store(out + 2 * N, tl.log(x))
    tl.store(out + 3 * N, tl.log2(x))
    tl.store(out + 4 * N, tl.sin(x))
    tl.store(out + 5 * N, tl.cos(x))
    tl.store(out + 6 * N, tl.erf(x))
    tl.store(out + 7 * N, tl.rsqrt(x))


def test_double_precision(run):
    x = np.random.default_rng(1).uniform(-20, 20, 32)
    x[:6] = 0, np.inf, -np.inf, np.nan, 1e300, -1e-300
    with np.errstate(all="ignore"):
        exact = np.stack([f(x) for f, _, _ in list(FUNCTIONS.values())[:8]])
    run(double_kernel, x_ptr=x, out_ptr=Expected(exact, rtol=1e-15), N=32)


@triton.jit
def arithmetic_kernel(x_ptr, y_ptr, i_ptr, j_ptr, out_ptr, int_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    out = out_ptr + offsets
    tl.store(out, tl.div_rn(x, y))
    tl.store(out + N, tl.sqrt_rn(x))
    tl.store(out + 2 * N, tl.fdiv(x, y))
    tl.store(out + 3 * N, tl.clamp(x, -1.0, 1.0))
    tl.store(out + 4 * N, tl.clamp(x, -1.0, 1.0, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 5 * N, x % y)
    i, j = tl.load(i_ptr + offsets), tl.load(j_ptr + offsets)
    tl.store(int_ptr + offsets, tl.abs(i))
    tl.store(int_ptr + N + offsets, tl.umulhi(i, j))
    tl.store(int_ptr + 2 * N + offsets, tl.cdiv(i, 7))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_arithmetic_is_exact(run, dtype):
    random = np.random.default_rng(2)
    x, y = random.normal(0, 2, (2, 64)).astype(np.float32)
    x[:4], y[4:6] = [np.inf, -np.inf, np.nan, -0.0], [0, np.nan]
    limits, bits = np.iinfo(dtype), np.iinfo(dtype).bits
    i, j = random.integers(limits.min, limits.max, (2, 64), dtype)
    i[:2] = limits.min, -1
    with np.errstate(all="ignore"):
        floats = [x / y, np.sqrt(x), x / y, np.fmin(np.fmax(x, -1), 1), np.clip(x, -1, 1)]
        floats.append(np.fmod(x, y))
        integers = [np.abs(i)]
    unsigned = zip(i.view(f"u{bits // 8}").tolist(), j.view(f"u{bits // 8}").tolist(), strict=True)
    products = [a * b >> bits for a, b in unsigned]
    integers.append(np.array(products, f"u{bits // 8}").view(dtype))
    sums = [(value + 6 + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) for value in i.tolist()]
    integers.append(np.array([abs(s) // 7 * (-1 if s < 0 else 1) for s in sums], dtype))
    run(
        arithmetic_kernel,
        x_ptr=x,
        y_ptr=y,
        i_ptr=i,
        j_ptr=j,
        out_ptr=Expected(np.stack(floats)),
        int_ptr=Expected(np.stack(integers)),
        N=64,
    )


@triton.jit
def angles_kernel(x_ptr, sin_ptr, cos_ptr, N, BOTH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N)
    if BOTH:
        tl.store(cos_ptr + at, tl.cos(x), mask=at < N)
    tl.store(sin_ptr + at, tl.sin(x), mask=at < N)


def test_sine_and_cosine_of_one_angle_are_computed_together(run):
    types = {"x_ptr": "*fp32", "sin_ptr": "*fp32", "cos_ptr": "*fp32", "N": "i32"}
    computed = [
        compile_kernel(angles_kernel, types, {"BOTH": both, "BLOCK": 64}, RVVTarget())
        .lowered.partition("\n}")[0]
        .count("@sin_and_cos_of")
        for both in (False, True)
    ]
    assert 0 < computed[1] <= computed[0]
    x = np.random.default_rng(4).normal(0, 9, 61).astype(np.float32)
    x[:16], x[40:46] = x[:16] * 1e9, [0, -0.0, np.inf, -np.inf, np.nan, 2**17]
    with np.errstate(invalid="ignore"):
        sine, cosine = (function(x.astype(np.float64)) for function in (np.sin, np.cos))
    run(
        angles_kernel,
        x_ptr=x,
        sin_ptr=Expected(sine.astype(np.float32), rtol=4e-7),
        cos_ptr=Expected(cosine.astype(np.float32), rtol=4e-7),
        N=61,
        BOTH=True,
        BLOCK=64,
    )
