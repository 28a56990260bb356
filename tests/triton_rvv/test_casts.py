"""Conversions between all element types, and types that only lie in memory."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from element_values import FLOATS, INTEGERS, N, check, floats, integers
from pairs import in_turn
from qemu_kernels import Expected


@triton.jit
def cast_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x.to(out_ptr.dtype.element_ty))


CASTS = [
    *[(a, b) for a in INTEGERS for b in INTEGERS if a is not b],
    *[(a, b) for a in (np.int8, np.int32, np.int64, np.uint8, np.uint32) for b in FLOATS],
    (np.uint8, np.int32),
    (np.uint32, np.int64),
    (np.uint32, np.uint64),
    (np.float32, np.float64),
    (np.float64, np.float32),
]


@pytest.mark.parametrize(("source", "target"), CASTS, ids=lambda dtype: dtype.__name__)
def test_casts(run, source, target):
    x = (floats if source in FLOATS else integers)(source, 14)
    with np.errstate(over="ignore"):
        check(run, cast_kernel, [x.astype(target)], x_ptr=x)


@triton.jit
def truncation_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets).to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize(
    ("source", "target", "block"),
    in_turn(
        [np.float32, np.float64],
        [np.int16, np.int32, np.int64, np.uint32, np.uint64],
        [1, 8],
        rounds=2,
    ),
)
def test_floats_to_integers_go_toward_zero(run, source, target, block):
    x = np.linspace(-1000.3, 1000.3, N).astype(source)
    x[:7] = 0.99, -0.99, 0.5, -0.5, 1.5, -1.5, -2.5
    if target in (np.uint32, np.uint64):
        x = np.abs(x)
    if target is not np.int16:
        x[7] = 2.0 ** (30 if target is np.int32 else 31) + 0.5
    if target is np.uint64:
        x[8:10] = 2.0**63, 1.5 * 2.0**63
    expected = Expected(x.astype(target))
    run(truncation_kernel, x_ptr=x, out_ptr=expected, BLOCK=block, grid=(N // block,))


@pytest.mark.parametrize("target", [np.int8, np.uint8, np.int32])
def test_floats_beside_whole_numbers(run, target):
    limits = np.iinfo(target)
    whole = np.arange(max(limits.min, -128), min(limits.max, 255) + 1).astype(np.float32)
    beside = [np.nextafter(whole, np.float32(way)) for way in (-np.inf, np.inf)]
    small = np.array([0.5, -0.5, -0.0, 1e-45], np.float32)
    x = np.resize(np.concatenate([whole, *beside, small]), 2048)
    expected = np.clip(np.trunc(x), limits.min, limits.max).astype(target)
    run(truncation_kernel, x_ptr=x, out_ptr=Expected(expected), BLOCK=2048)


@triton.jit
def clamped_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.clamp(tl.load(x_ptr + at), 0.0, 99.999).to(tl.int32))


def test_floats_that_are_never_negative(run):
    x = np.linspace(-20.0, 120.0, 1024).astype(np.float32)
    x[:5] = 0.99999994, 98.99999, 99.0, 0.5, 1.5
    expected = np.trunc(np.clip(x, 0, 99.999)).astype(np.int32)
    run(clamped_kernel, x_ptr=x, out_ptr=Expected(expected), N=1024)


@triton.jit
def saturation_kernel(
    x_ptr, i8_ptr, i16_ptr, i32_ptr, i64_ptr, u8_ptr, u16_ptr, u32_ptr, u64_ptr, BLOCK: tl.constexpr
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(i8_ptr + at, x.to(tl.int8))
    tl.store(i16_ptr + at, x.to(tl.int16))
    tl.store(i32_ptr + at, x.to(tl.int32))
    tl.store(i64_ptr + at, x.to(tl.int64))
    tl.store(u8_ptr + at, x.to(tl.uint8))
    tl.store(u16_ptr + at, x.to(tl.uint16))
    tl.store(u32_ptr + at, x.to(tl.uint32))
    tl.store(u64_ptr + at, x.to(tl.uint64))


def _saturated(x: np.ndarray, target: type) -> np.ndarray:
    """By Python's own numbers: cut off at the point and limited; 0 for NaN."""
    limits = np.iinfo(target)

    def whole(number: float) -> int:
        if np.isnan(number):
            return 0
        if np.isinf(number):
            return int(limits.max if number > 0 else limits.min)
        return int(min(max(int(number), limits.min), limits.max))

    return np.array([whole(float(number)) for number in x], target)


@pytest.mark.parametrize(
    ("source", "block", "vlen_bits"),
    [(np.float16, 16, 256), (np.float32, 16, 128), (np.float64, 16, 256), (np.float32, 1, 256)],
)
def test_floats_out_of_range_become_the_closest_integer(run, source, block, vlen_bits):
    powers = [2.0**exponent for exponent in (7, 8, 15, 16, 31, 32, 63, 64)]
    edges = [power + step for power in powers for step in (-1.0, -0.5, 0.0, 0.5)]
    numbers = [*edges, 300.7, 1e30, np.inf, np.nan, 0.9, 1e9, 70000.0, 2.0**24 + 1]
    numbers += [-number for number in numbers]
    with np.errstate(over="ignore"):
        x = np.array(numbers, np.float64).astype(source)
    kinds = [f"{sign}{width}" for sign in ("i", "u") for width in (8, 16, 32, 64)]
    names = [name.replace("i", "int").replace("u", "uint") for name in kinds]
    outs = {
        f"{kind}_ptr": Expected(_saturated(x, getattr(np, name)))
        for kind, name in zip(kinds, names, strict=True)
    }
    grid = (len(x) // block,)
    run(saturation_kernel, vlen_bits=vlen_bits, grid=grid, x_ptr=x, **outs, BLOCK=block)


@triton.jit
def boolean_kernel(x_ptr, flag_ptr, out_ptr, mask_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    flag = tl.load(flag_ptr + offsets)
    tl.store(mask_ptr + offsets, (x > 0) & flag)
    tl.store(out_ptr + offsets, tl.where(flag, x, -x) + flag.to(tl.int32))


def test_truth_values_in_memory(run):
    x = integers(np.int32, 15)
    flag = np.arange(N) % 3 == 0
    run(
        boolean_kernel,
        x_ptr=x,
        flag_ptr=flag,
        out_ptr=Expected(np.where(flag, x, -x) + flag.astype(np.int32)),
        mask_ptr=Expected((x > 0) & flag),
        N=N,
    )


@triton.jit
def half_kernel(x_ptr, out_ptr, half_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets).to(tl.float32)
    tl.store(out_ptr + offsets, x * 3)
    tl.store(half_ptr + offsets, (x / 3).to(tl.float16))


def test_half_precision_storage(run):
    x = floats(np.float16, 16)
    wide = x.astype(np.float32)
    half = (wide / 3).astype(np.float16)
    run(half_kernel, x_ptr=x, out_ptr=Expected(wide * 3), half_ptr=Expected(half), N=N)
