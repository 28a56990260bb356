"""The 8-bit floats that no launcher has a type for: their codes lie in memory as bytes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv.frontend.float_formats import SMALL_FLOATS

CODES = np.arange(256, dtype=np.uint8)
TORCH = {tl.float8e4b8: torch.float8_e4m3fnuz, tl.float8e5b16: torch.float8_e5m2fnuz}
KINDS = {tl.float8e4b8: "f8E4M3FNUZ", tl.float8e5b16: "f8E5M2FNUZ", tl.float8e4b15: "e4b15"}
EACH = pytest.mark.parametrize("kind", KINDS, ids=str)


def encode(kind, value):
    if KINDS[kind] != "e4b15":
        return SMALL_FLOATS[KINDS[kind]].encode(value)
    # The fields of E4M3 with another bias; what is too large, and NaN, is 1.75.
    code = SMALL_FLOATS["f8E4M3FN"].encode(float(np.clip(value * 256, -448, 448)))
    return code - ((code & 0x7F) == 0x7F)


def decode(kind, code):
    if KINDS[kind] != "e4b15":
        return SMALL_FLOATS[KINDS[kind]].decode(code)
    fraction, exponent = code % 8, code // 8 % 16
    magnitude = (fraction + (8 if exponent else 0)) * 2.0 ** (max(exponent, 1) - 18)
    return -magnitude if code > 127 else magnitude


def decoded(kind):
    return np.array([decode(kind, code) for code in range(256)])


@pytest.mark.parametrize("kind", TORCH, ids=str)
def test_codes_stand_for_the_numbers_that_torch_knows(kind):
    numbers = torch.tensor(CODES).view(TORCH[kind]).float().numpy()
    np.testing.assert_array_equal(decoded(kind), numbers)
    assert [encode(kind, number) for number in numbers.tolist()] == list(range(256))


@triton.jit
def widen_kernel(x_ptr, out_ptr, KIND: tl.constexpr):
    at = tl.arange(0, 256)
    x = tl.load(x_ptr + at).to(KIND, bitcast=True)
    tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@EACH
def test_widening_is_exact(run, kind, dtype):
    expected = torch.tensor(decoded(kind)).to(dtype)
    run(widen_kernel, x_ptr=CODES, out_ptr=Expected(expected), KIND=kind)


@triton.jit
def narrow_kernel(x_ptr, out_ptr, KIND: tl.constexpr, ROUNDING: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at).to(KIND, fp_downcast_rounding=ROUNDING)
    tl.store(out_ptr + at, x.to(tl.uint8, bitcast=True))


def near_every_code(kind):
    """Numbers at, between and beside those that the codes stand for, beyond them, and NaN."""
    numbers = np.unique(np.nan_to_num(decoded(kind)))
    middles = (numbers[1:] + numbers[:-1]) / 2
    beyond = [np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-30, -1e-30, -0.0]
    values = [numbers, middles, middles * (1 + 2.0**-20), middles * (1 - 2.0**-20), beyond]
    return np.concatenate(values)[-1024:]


def padded(values):
    return np.concatenate([values, np.zeros(1024 - len(values))])


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
@EACH
def test_narrowing_rounds_to_nearest(run, kind, dtype):
    values = padded(near_every_code(kind)).astype(dtype)
    expected = Expected(np.array([encode(kind, value) for value in values], np.uint8))
    run(narrow_kernel, x_ptr=values, out_ptr=expected, KIND=kind, ROUNDING=None, N=1024)


@EACH
def test_narrowing_toward_zero(run, kind):
    values = near_every_code(kind).astype(np.float32)
    values = padded(values[np.isfinite(values)]).astype(np.float32)
    codes = [encode(kind, value) for value in values]
    too_far = [
        abs(decode(kind, code)) > abs(value) for code, value in zip(codes, values, strict=True)
    ]
    codes = np.array(codes) - too_far
    if kind in TORCH:  # their zero has no sign
        codes[codes == 0x80] = 0
    expected = Expected(codes.astype(np.uint8))
    run(narrow_kernel, x_ptr=values, out_ptr=expected, KIND=kind, ROUNDING="rtz", N=1024)


@triton.jit
def product_kernel(x_ptr, out_ptr, KIND: tl.constexpr, N: tl.constexpr):
    places = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + places).to(KIND, bitcast=True)
    tl.store(out_ptr + places, tl.dot(x, tl.trans(x)))


@EACH
def test_matrix_products(run, kind):
    codes = np.random.default_rng(2).integers(1, 0x60, (16, 16)).astype(np.uint8)
    numbers = decoded(kind)[codes]
    expected = Expected((numbers @ numbers.T).astype(np.float32), rtol=1e-5)
    run(product_kernel, x_ptr=codes, out_ptr=expected, KIND=kind, N=16)
