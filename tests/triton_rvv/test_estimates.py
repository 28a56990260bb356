"""Quotients and roots that begin with an estimate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

Floats = npt.NDArray[np.float32]

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -3.0, 3.4e38, -1.2e38, 9e37, 1.2e-38, 2e-38]
SUBNORMAL = [1e-39, -1e-44, 3e-39, 5.9e-39]
N = 16384
# What is next to the smallest normal number may be off by its last place.
LAST_PLACE = 2.0**-149


@triton.jit
def quotients_kernel(x_ptr, d_ptr, out_ptr, from_one_ptr, positive_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, d = tl.load(x_ptr + offsets), tl.load(d_ptr + offsets)
    tl.store(out_ptr + offsets, x / d)
    tl.store(from_one_ptr + offsets, x / (1.0 + tl.abs(d)))
    tl.store(positive_ptr + offsets, x / (1e-20 + tl.abs(d)))


@triton.jit
def roots_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.sqrt(tl.load(x_ptr + offsets)))


def _hard_pairs(random: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Pairs whose quotient is as near as can be to the middle between two floats.

    X / D < 1 is in the middle where X 2^25 / D is odd; so X 2^25 is to be a small number modulo D.
    """
    pairs: list[tuple[int, int]] = []
    while len(pairs) < count:
        divisor = int(random.integers(1 << 23, 1 << 24)) | 1
        near = int(random.integers(1, 4)) * int(random.choice((-1, 1)))
        dividend = near * pow(1 << 25, -1, divisor) % divisor
        if dividend >= 1 << 23:
            pairs.append((dividend, divisor))
    x, d = np.array(pairs, np.float32).T
    scales = np.exp2(random.integers(-40, 40, (2, count))).astype(np.float32)
    return x * scales[0], d * scales[1]


def _pairs() -> tuple[Floats, Floats]:
    """Hard, random and special ones."""
    random = np.random.default_rng(0)
    x, d = _hard_pairs(random, N)
    half = N // 2
    sizes = np.exp2(random.integers(-45, 45, (2, half)))
    x[:half], d[:half] = (random.standard_normal((2, half)) * sizes).astype(np.float32)
    every = np.array(np.meshgrid(SPECIAL, SPECIAL + SUBNORMAL)).reshape(2, -1)
    x[: every.shape[1]], d[: every.shape[1]] = every.astype(np.float32)
    return x, d


@pytest.mark.parametrize(
    "vlen_bits",
    [pytest.param(128, marks=pytest.mark.long), 256, pytest.param(512, marks=pytest.mark.long)],
)
def test_quotients_are_rounded_correctly(run, vlen_bits):
    x, d = _pairs()
    with np.errstate(all="ignore"):
        size = np.abs(d)
        divisors = d, np.float32(1) + size, np.float32(1e-20) + size
        quotients = [x / divisor for divisor in divisors]
    run(
        quotients_kernel,
        x_ptr=x,
        d_ptr=d,
        out_ptr=Expected(quotients[0], atol=LAST_PLACE),
        from_one_ptr=Expected(quotients[1], atol=LAST_PLACE),
        positive_ptr=Expected(quotients[2], atol=LAST_PLACE),
        N=N,
        vlen_bits=vlen_bits,
    )


@pytest.mark.parametrize("vlen_bits", in_turn([128, 256, 512], turns=1))
def test_roots_are_rounded_correctly(run, vlen_bits):
    random = np.random.default_rng(0)
    x = (random.uniform(1, 4, N) * np.exp2(random.integers(-90, 120, N))).astype(np.float32)
    # The hardest are next to 1 and 4, and next to the squares of numbers with 12 bits.
    near = np.concatenate([np.arange(2048, 4096) ** 2, [1 << 22, 1 << 24]]).astype(np.float32)
    near = np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, np.inf)])
    x[: near.size] = near.astype(np.float32)
    x[-len(SPECIAL) :] = np.where(np.abs(SPECIAL) > 1e-30, SPECIAL, np.zeros_like(SPECIAL))
    with np.errstate(all="ignore"):
        roots = np.sqrt(x)
    run(roots_kernel, x_ptr=x, out_ptr=Expected(roots), N=N, vlen_bits=vlen_bits)
    tiny = np.abs(x * np.float32(2.0**-100)) * np.exp2(-random.integers(0, 40, N))
    tiny = np.concatenate([tiny[: -len(SPECIAL)], [0.0, -0.0], SUBNORMAL[:-2], *[SPECIAL[-2:]] * 4])
    tiny = tiny.astype(np.float32)
    with np.errstate(all="ignore"):
        roots = np.sqrt(tiny)
    run(roots_kernel, x_ptr=tiny, out_ptr=Expected(roots, rtol=1.2e-7), N=N, vlen_bits=vlen_bits)
