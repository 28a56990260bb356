"""`tl.dot_scaled`: microscaling formats against products of the numbers they stand for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv.frontend.float_formats import SMALL_FLOATS

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
TYPES = {
    "e4m3": (torch.float8_e4m3fn, "f8E4M3FN"),
    "e5m2": (torch.float8_e5m2, "f8E5M2"),
    "fp16": (torch.float16, "f16"),
    "bf16": (torch.bfloat16, "bf16"),
}


def operand(form, shape, packed_axis, random):
    """What the kernel is given, and the numbers that it stands for, a block of `shape`."""
    if form == "e2m1":
        codes = random.integers(0, 16, shape)
        low, high = (codes.take(range(i, codes.shape[packed_axis], 2), packed_axis) for i in (0, 1))
        return (low | high << 4).astype(np.uint8), E2M1[codes]
    dtype, name = TYPES[form]
    numbers = torch.tensor(random.integers(-8, 9, shape) / 4).to(dtype)
    codes = numbers.view(torch.uint8 if dtype.itemsize == 1 else torch.int16)
    small = SMALL_FLOATS[name]
    decoded = [small.decode(int(code) & 0xFFFF) for code in codes.flatten()]
    return numbers, np.array(decoded).reshape(shape)


def scales(rows, groups, random):
    """Powers of two in bytes, and their values."""
    codes = random.integers(120, 134, (rows, groups)).astype(np.uint8)
    return codes, 2.0 ** (codes.astype(np.float64) - 127)


@triton.jit
def load_block(pointer, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    return tl.load(pointer + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])


@triton.jit
def scaled_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, out_ptr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
    A_FORM: tl.constexpr, B_FORM: tl.constexpr, A_K: tl.constexpr, B_K: tl.constexpr,
    A_SCALED: tl.constexpr, B_SCALED: tl.constexpr,
):  # fmt: skip
    a_half: tl.constexpr = 2 if A_FORM == "e2m1" else 1
    b_half: tl.constexpr = 2 if B_FORM == "e2m1" else 1
    a = load_block(a_ptr, M if A_K else M // a_half, K // a_half if A_K else K)
    b = load_block(b_ptr, K // b_half if B_K else K, N if B_K else N // b_half)
    a_scale, b_scale = None, None
    if A_SCALED:
        a_scale = load_block(a_scale_ptr, M, K // GROUP)
    if B_SCALED:
        b_scale = load_block(b_scale_ptr, N, K // GROUP)
    c = load_block(c_ptr, M, N)
    c = tl.dot_scaled(
        a, a_scale, A_FORM, b, b_scale, B_FORM, c, lhs_k_pack=A_K, rhs_k_pack=B_K
    )  # fmt: skip
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + places, c)


CASES = [
    # formats, whether 4 bits are packed along K, which have scales
    ("e2m1", "e2m1", True, True, True, True),
    ("e2m1", "e2m1", False, False, True, True),
    ("e4m3", "e2m1", True, False, True, True),
    ("e2m1", "bf16", True, True, True, False),
    ("fp16", "e5m2", True, True, False, True),
    ("bf16", "e4m3", True, True, True, True),
    ("fp16", "e4m3", True, True, False, False),
]


def arguments(m, n, k, case, group=32):
    a_form, b_form, a_k, b_k, a_scaled, b_scaled = case
    random = np.random.default_rng(m * n * k)
    a, left = operand(a_form, (m, k), 1 if a_k else 0, random)
    b, right = operand(b_form, (k, n), 0 if b_k else 1, random)
    a_scale, a_factors = scales(m, k // group, random)
    b_scale, b_factors = scales(n, k // group, random)
    if a_scaled:
        left = left * a_factors.repeat(group, 1)
    if b_scaled:
        right = right * b_factors.repeat(group, 1).T
    c = random.integers(-9, 9, (m, n)).astype(np.float32)
    expected = Expected((c + left @ right).astype(np.float32), rtol=1e-5, atol=1e-3)
    return {
        **{"a_ptr": a, "a_scale_ptr": a_scale, "b_ptr": b, "b_scale_ptr": b_scale},
        **{"c_ptr": c, "out_ptr": expected, "M": m, "N": n, "K": k, "GROUP": group},
        **{"A_FORM": a_form, "B_FORM": b_form, "A_K": a_k, "B_K": b_k},
        **{"A_SCALED": a_scaled, "B_SCALED": b_scaled},
    }


@pytest.mark.parametrize("case", CASES, ids=str)
def test_formats(run, case):
    run(scaled_kernel, **arguments(16, 32, 64, case))


@pytest.mark.parametrize("vlen_bits", in_turn([512, 128], turns=1))
@pytest.mark.parametrize("shape", [(4, 2, 32), (32, 64, 128)], ids=str)
def test_shapes_and_vector_lengths(run, shape, vlen_bits):
    m, n, k = shape
    for case in CASES[:2]:
        run(scaled_kernel, **arguments(m, n, k, case), vlen_bits=vlen_bits)


def test_every_scale(run):
    """255 is NaN, and 0 is the smallest power of two, of which float32 has only a denormal."""
    given = arguments(256, 2, 32, ("e4m3", "e4m3", True, True, True, False))
    given["a_ptr"] = torch.ones(256, 32).to(torch.float8_e4m3fn)
    given["b_ptr"] = torch.zeros(32, 2).to(torch.float8_e4m3fn)
    given["b_ptr"][3] = 0.5
    given["a_scale_ptr"] = np.arange(256, dtype=np.uint8).reshape(256, 1)
    given["c_ptr"] = np.zeros((256, 2), np.float32)
    values = 2.0 ** (np.arange(256) - 128.0)
    values[255] = np.nan
    given["out_ptr"] = Expected(np.stack([values, values], 1).astype(np.float32))
    run(scaled_kernel, **given)


def test_scales_of_8_bits_for_16_elements(run):
    """As in NVFP4."""
    given = arguments(8, 16, 64, CASES[0], group=16)
    random = np.random.default_rng(1)
    total = given["c_ptr"].astype(np.float64)
    numbers = []
    for name, rows in (("a", 8), ("b", 16)):
        factors = torch.tensor(random.integers(1, 16, (rows, 4)) / 4).to(torch.float8_e4m3fn)
        given[f"{name}_scale_ptr"] = factors
        numbers.append(factors.double().numpy().repeat(16, 1))
    a, b = given["a_ptr"], given["b_ptr"]
    left = E2M1[np.stack([a & 15, a >> 4], 2).reshape(8, 64)] * numbers[0]
    right = E2M1[np.stack([b & 15, b >> 4], 1).reshape(64, 16)] * numbers[1].T
    given["out_ptr"] = Expected((total + left @ right).astype(np.float32), rtol=1e-5, atol=1e-3)
    run(scaled_kernel, **given)


@triton.jit
def batched_kernel(a_ptr, b_ptr, scale_ptr, out_ptr, B: tl.constexpr, N: tl.constexpr):
    batch = tl.arange(0, B)[:, None, None] * N * N
    places = batch + tl.arange(0, N)[None, :, None] * N + tl.arange(0, N)[None, None, :]
    groups = tl.arange(0, N // 32)[None, None, :]
    scale_places = tl.arange(0, B)[:, None, None] * N + tl.arange(0, N)[None, :, None] + groups
    a, b, scale = (
        tl.load(a_ptr + places),
        tl.load(b_ptr + places),
        tl.load(scale_ptr + scale_places),
    )
    tl.store(out_ptr + places, tl.dot_scaled(a, None, "bf16", b, scale, "e5m2"))


def test_a_batch(run):
    random = np.random.default_rng(3)
    a, left = operand("bf16", (2, 32, 32), 2, random)
    b, right = operand("e5m2", (2, 32, 32), 2, random)
    codes, factors = scales(2, 32, random)
    product = left @ (right * factors[:, None, :])
    expected = Expected(product.astype(np.float32), rtol=1e-5, atol=1e-3)
    run(batched_kernel, a_ptr=a, b_ptr=b, scale_ptr=codes, out_ptr=expected, B=2, N=32)
