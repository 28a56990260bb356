"""Triton's random numbers against Philox written down here and its published answers."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

N = 128


def philox(seed, offsets):
    """Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011)."""
    counter = [offsets.astype(np.uint64), *(np.zeros(len(offsets), np.uint64) for _ in range(3))]
    key, low = [seed & 0xFFFFFFFF, seed >> 32], np.uint64(0xFFFFFFFF)
    for _ in range(10):
        left, right = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [
            right >> np.uint64(32) ^ counter[1] ^ np.uint64(key[0]),
            right & low,
            left >> np.uint64(32) ^ counter[3] ^ np.uint64(key[1]),
            left & low,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(counter).astype(np.uint32)


def test_the_reference_gives_the_published_answer():
    # From the known answers that come with the authors' library Random123.
    answer = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox(0, np.zeros(1, np.int64))[:, 0].tolist() == answer


@triton.jit
def random_kernel(bits_ptr, uniform_ptr, normal_ptr, seed, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    count = tl.num_programs(0) * N
    a, b, c, d = tl.randint4x(seed, offsets)
    tl.store(bits_ptr + offsets, a)
    tl.store(bits_ptr + count + offsets, b)
    tl.store(bits_ptr + 2 * count + offsets, c)
    tl.store(bits_ptr + 3 * count + offsets, d)
    tl.store(uniform_ptr + offsets, tl.rand(seed, offsets))
    tl.store(normal_ptr + offsets, tl.randn(seed, offsets))


@pytest.mark.parametrize("vlen_bits", in_turn([256, 128], turns=1))
def test_random_numbers(run, vlen_bits):
    seed, programs = 0x123456789ABCDEF, 4
    bits = philox(seed, np.arange(programs * N))
    whole = bits.view(np.int32)
    magnitude = np.where(whole < 0, -whole - 1, whole).astype(np.float32)
    uniform = magnitude * np.float32(4.6566127342e-10)
    assert 0 <= uniform.min() < 0.01
    assert 0.99 < uniform.max() < 1
    radius = np.sqrt(-2 * np.log(np.maximum(uniform[0].astype(np.float64), 1e-7)))
    normal = radius * np.cos(2 * np.pi * uniform[1].astype(np.float64))
    run(
        random_kernel,
        bits_ptr=Expected(whole),
        uniform_ptr=Expected(uniform[0]),
        normal_ptr=Expected(normal.astype(np.float32), atol=1e-6),
        seed=np.int64(seed),
        N=N,
        grid=(programs,),
        vlen_bits=vlen_bits,
    )
