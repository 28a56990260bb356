"""Scans along each dimension, forwards and backwards, with Triton's own and other combinations."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected


@triton.jit
def _later(a, b):
    return b


@triton.jit
def _maximum_and_count(max_a, count_a, max_b, count_b):
    highest = max_a if max_a >= max_b else max_b
    return highest, count_a + count_b


@triton.jit
def scan_kernel(
    x_ptr, sum_ptr, max_ptr, count_ptr, REVERSE: tl.constexpr, AXIS: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + offsets)
    tl.store(sum_ptr + offsets, tl.cumsum(x, AXIS, reverse=REVERSE))
    highest, count = tl.associative_scan(
        (x, (x > 0).to(tl.int64)), AXIS, _maximum_and_count, reverse=REVERSE
    )
    tl.store(max_ptr + offsets, highest)
    tl.store(count_ptr + offsets, count)


@pytest.mark.parametrize(
    ("reverse", "axis", "shape"),
    in_turn([False, True], [0, 1], [((4, 2),), ((2, 64),), ((16, 16),)], rounds=2),
)
def test_two_dimensions(run, shape, axis, reverse):
    x = np.random.default_rng(1).integers(-99, 99, shape).astype(np.int32)

    def scanned(function, values):
        return (
            np.flip(function(np.flip(values, axis), axis), axis)
            if reverse
            else function(values, axis)
        )

    outputs = {
        "sum_ptr": Expected(scanned(np.cumsum, x).astype(np.int32)),
        "max_ptr": Expected(scanned(np.maximum.accumulate, x)),
        "count_ptr": Expected(scanned(np.cumsum, (x > 0).astype(np.int64))),
    }
    sizes = {"M": shape[0], "N": shape[1]}
    run(scan_kernel, x_ptr=x, **outputs, REVERSE=reverse, AXIS=axis, **sizes)


@triton.jit
def _affine_maps(slope_a, offset_a, slope_b, offset_b):
    """Composition of x -> slope * x + offset: associative, and not commutative."""
    return slope_a * slope_b, offset_a * slope_b + offset_b


@triton.jit
def recurrence_kernel(a_ptr, b_ptr, out_ptr, N: tl.constexpr, REVERSE: tl.constexpr):
    offsets = tl.arange(0, N)
    a, b = tl.load(a_ptr + offsets), tl.load(b_ptr + offsets)
    _slope, value = tl.associative_scan((a, b), 0, _affine_maps, reverse=REVERSE)
    tl.store(out_ptr + offsets, value)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_order_of_elements_is_kept(run, reverse):
    random = np.random.default_rng(2)
    a, b = random.uniform(-1, 1, 256), random.standard_normal(256)
    expected, value = np.empty(256), 0.0
    for place in reversed(range(256)) if reverse else range(256):
        value = expected[place] = value * a[place] + b[place]
    run(
        recurrence_kernel, a_ptr=a, b_ptr=b, out_ptr=Expected(expected, rtol=1e-9, atol=1e-9),
        N=256, REVERSE=reverse,
    )  # fmt: skip


@triton.jit
def other_types_kernel(x_ptr, product_ptr, truth_ptr, bytes_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(product_ptr + offsets, tl.cumprod(x, 0))
    any_so_far = tl.associative_scan(x > 1.0, 0, tl.standard._or_combine)
    tl.store(truth_ptr + offsets, any_so_far)
    tl.store(bytes_ptr + offsets, tl.associative_scan(x.to(tl.int8), 0, _later))


@pytest.mark.parametrize("vlen_bits", in_turn([512, 128], turns=1))
def test_other_types_and_vector_lengths(run, vlen_bits):
    x = np.random.default_rng(3).uniform(0.5, 1.5, 64).astype(np.float32)
    run(
        other_types_kernel,
        x_ptr=x,
        product_ptr=Expected(np.cumprod(x.astype(np.float64)).astype(np.float32), rtol=1e-5),
        truth_ptr=Expected(np.logical_or.accumulate(x > 1.0)),
        bytes_ptr=Expected(x.astype(np.int8)),
        N=64,
        vlen_bits=vlen_bits,
    )


@triton.jit
def gathered_kernel(table_ptr, places_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(table_ptr + tl.load(places_ptr + offsets))
    tl.store(out_ptr + offsets, tl.associative_scan(x, 0, tl.standard._sum_combine, reverse=True))


def test_two_runs_from_the_last_one(run):
    """Of bytes that addresses of 64 bits are gathered from; one run of bytes takes the result."""
    table, places = np.arange(-8, 8, dtype=np.int8), np.arange(16, dtype=np.int32) * 5 % 16
    out = np.cumsum(table[places][::-1])[::-1].astype(np.int8)
    run(
        gathered_kernel,
        table_ptr=table, places_ptr=places, out_ptr=Expected(out), N=16, vlen_bits=128,
    )  # fmt: skip


@triton.jit
def three_dimensions_kernel(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    offsets = a[:, None, None] * (B * C) + b[None, :, None] * C + c[None, None, :]
    x = tl.load(x_ptr + offsets)
    for axis in tl.static_range(3):
        tl.store(out_ptr + axis * A * B * C + offsets, tl.cumsum(x, axis))


def test_three_dimensions(run):
    x = np.random.default_rng(4).integers(-50, 50, (4, 8, 16)).astype(np.int32)
    out = np.stack([x.cumsum(axis=axis) for axis in range(3)]).astype(np.int32)
    run(three_dimensions_kernel, x_ptr=x, out_ptr=Expected(out), A=4, B=8, C=16)


@triton.jit
def _larger_number(a, b):
    return tl.maximum(a, b)


@triton.jit
def _less_or_nan(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def special_values_kernel(
    x_ptr, y_ptr, sum_ptr, sign_ptr, max_ptr, min_ptr,
    N: tl.constexpr, REVERSE: tl.constexpr, INTEGER: tl.constexpr,
):  # fmt: skip
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    total = tl.associative_scan(x, 0, tl.standard._sum_combine, REVERSE)
    tl.store(sum_ptr + offsets, total)
    tl.store(sign_ptr + offsets, (total.to(INTEGER, bitcast=True) < 0) & (total == 0.0))
    tl.store(max_ptr + offsets, tl.associative_scan(y, 0, _larger_number, REVERSE))
    tl.store(min_ptr + offsets, tl.associative_scan(x, 0, _less_or_nan, REVERSE))


@pytest.mark.parametrize(
    ("dtype", "reverse"), in_turn([np.float16, np.float32, np.float64], [False, True])
)
def test_special_values(run, dtype, reverse):
    """Signs of zeros too, and NaN in front of all numbers: what fills lanes changes neither."""
    x = np.random.default_rng(5).integers(-2, 3, 256).astype(dtype)
    x[:50] = -0.0
    x[[150, 170, 200]] = -np.inf, np.inf, np.nan
    y = x.copy()
    y[[0, 1, 2, 60]] = np.nan
    with np.errstate(invalid="ignore"):
        total = np.add.accumulate(x)
        expected = {
            "sum_ptr": total,
            "sign_ptr": np.signbit(total) & (total == 0),
            "max_ptr": np.fmax.accumulate(y),
            "min_ptr": np.minimum.accumulate(x),
        }
    step = -1 if reverse else 1
    run(
        special_values_kernel,
        x_ptr=x[::step].copy(),
        y_ptr=y[::step].copy(),
        **{name: Expected(values[::step].copy()) for name, values in expected.items()},
        N=256,
        REVERSE=reverse,
        INTEGER={2: tl.int16, 4: tl.int32, 8: tl.int64}[dtype().itemsize],
    )


@triton.jit
def _product(a, b):
    return a * b


@triton.jit
def _common_bits(a, b):
    return a & b


@triton.jit
def _less(a, b):
    return tl.minimum(a, b)


@triton.jit
def integers_kernel(
    x_ptr, y_ptr, product_ptr, bits_ptr, max_ptr, min_ptr, large_ptr, small_ptr, N: tl.constexpr
):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    tl.store(product_ptr + offsets, tl.associative_scan(x, 0, _product))
    tl.store(bits_ptr + offsets, tl.associative_scan(x, 0, _common_bits))
    tl.store(max_ptr + offsets, tl.associative_scan(x, 0, _larger_number))
    tl.store(min_ptr + offsets, tl.associative_scan(-x, 0, _less))
    tl.store(large_ptr + offsets, tl.associative_scan(y, 0, _larger_number))
    tl.store(small_ptr + offsets, tl.associative_scan(y, 0, _less))


def test_integers_of_one_sign(run):
    """Elements that any other number in front of them would change."""
    draw = np.random.default_rng(6)
    x = (draw.integers(-30_000, -10_000, 64) | -0x4000 | 1).astype(np.int16)
    y = draw.integers(130, 250, 64).astype(np.uint8)
    run(
        integers_kernel,
        x_ptr=x,
        y_ptr=y,
        product_ptr=Expected(np.multiply.accumulate(x, dtype=np.int16)),
        bits_ptr=Expected(np.bitwise_and.accumulate(x)),
        max_ptr=Expected(np.maximum.accumulate(x)),
        min_ptr=Expected(np.minimum.accumulate(-x)),
        large_ptr=Expected(np.maximum.accumulate(y)),
        small_ptr=Expected(np.minimum.accumulate(y)),
        N=64,
    )
