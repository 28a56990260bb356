"""Printing from kernels, and assertions in them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv import CompileError, RVVTarget, compile_kernel


@triton.jit
def print_kernel(x_ptr, flag_ptr, n, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 2)[:, None] * 2 + tl.arange(0, 2)[None, :])
    tl.device_print("100% of x", x)
    tl.device_print("number", n)
    tl.device_print("hexadecimal", n, x, hex=True)
    tl.device_print("small", x.to(tl.bfloat16), x.to(tl.int8), x > 0)
    tl.device_print("no values")
    tl.store(flag_ptr, n)


def test_lines_on_standard_error(run):
    x = np.array([[1.5, -2.0], [0.0, 3.25]], np.float32)
    flag = Expected(np.array([-3], np.int32))
    run(print_kernel, x_ptr=x, flag_ptr=flag, n=-3, N=2, grid=(1, 2))
    lines = run.stderr.splitlines()
    places = ["(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"]
    assert [line for line in lines if "of x" in line] == [
        f"pid (0, {y}, 0) idx {place} 100% of x: {value:f}"
        for y in range(2)
        for place, value in zip(places, x.flat, strict=True)
    ]
    assert "pid (0, 1, 0) idx () number: -3" in lines
    assert "pid (0, 0, 0) idx () hexadecimal: (operand 0) 0xfffffffd" in lines
    assert "pid (0, 0, 0) idx (1, 1) hexadecimal: (operand 1) 0x40500000" in lines
    assert "pid (0, 0, 0) idx (1, 1) small: (operand 0) 3.250000" in lines
    assert "pid (0, 0, 0) idx (0, 1) small: (operand 1) -2" in lines
    assert "pid (0, 0, 0) idx (1, 1) small: (operand 2) 1" in lines
    assert "pid (0, 0, 0) no values" in lines


@triton.jit
def places_kernel(x_ptr, N: tl.constexpr):
    rows, columns = tl.arange(0, N), tl.arange(0, 2)
    tl.device_print("", rows[:, None] * 2 + columns[None, :])
    tl.store(x_ptr + rows, rows)


def test_places_are_as_wide_as_the_last_one(run):
    run(places_kernel, x_ptr=Expected(np.arange(16, dtype=np.int32)), N=16)
    printed = [line for line in run.stderr.splitlines() if line.startswith("pid")]
    assert printed == [
        f"pid (0, 0, 0) idx ({row:2}, {column}): {2 * row + column}"
        for row in range(16)
        for column in range(2)
    ]


@triton.jit(debug=True)
def assert_kernel(x_ptr, y_ptr, n, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    for turn in range(n):
        tl.device_assert(turn < 3, "few turns")
        tl.device_assert(x < 100 * (turn + 1), 'x is "small"')
    tl.store(y_ptr + offsets, x)


# The usual length is tried in this process as well, and an assertion fails there first.
@pytest.mark.parametrize("vlen_bits", in_turn([256, 128], turns=1))
def test_assertions(run, vlen_bits):
    x = np.arange(128, dtype=np.int32)
    usual = {"y_ptr": Expected(x), "N": 64, "grid": (2,), "vlen_bits": vlen_bits}
    run(assert_kernel, x_ptr=x, **usual, n=0)
    place = f"{__file__}:\\d+: device-side assertion failed: "
    with pytest.raises(AssertionError, match=place + r'x is "small" in program \(1, 0, 0\)'):
        run(assert_kernel, x_ptr=x, **usual, n=1)
    with pytest.raises(AssertionError, match=place + r"few turns in program \(0, 0, 0\)"):
        run(assert_kernel, x_ptr=x % 50, **usual, n=4)


@triton.jit(debug=True)
def overflow_kernel(x_ptr, y_ptr, out_ptr, OPERATION: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    if OPERATION == "add":
        out = x + y
    elif OPERATION == "sub":
        out = x - y
    elif OPERATION == "mul":
        out = x * y
    else:
        out = tl.add(x, y, sanitize_overflow=False)
    tl.store(out_ptr + at, out)


# A 16-bit or 32-bit operand that just fits with 3, and the next one.
@pytest.mark.parametrize(
    ("operation", "dtype", "fits", "vlen_bits"),
    in_turn(
        [
            ("add", np.int32, 2**31 - 4),
            ("add", np.int16, 2**15 - 4),
            ("add", np.uint32, 2**32 - 4),
            ("sub", np.int32, -(2**31) + 3),
            ("mul", np.int32, (2**31 - 1) // 3),
        ],
        [128, 256],
    ),
)
def test_overflow_is_found_in_debug_mode(run, operation, dtype, fits, vlen_bits):
    x, y = np.full(16, 1, dtype), np.full(16, 3, dtype)
    exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[operation]
    usual = {"y_ptr": y, "OPERATION": operation, "N": 16, "vlen_bits": vlen_bits}
    x[9] = fits
    run(overflow_kernel, x_ptr=x, out_ptr=Expected(exact(x, y)), **usual)
    x[9] = fits - 1 if operation == "sub" else fits + 1
    bits = 8 * np.dtype(dtype).itemsize
    message = f"device-side assertion failed: int{bits} overflow detected for .*{operation}"
    with pytest.raises(AssertionError, match=message):
        run(overflow_kernel, x_ptr=x, out_ptr=Expected(exact(x, y)), **usual)
    wrapping = Expected(x + y)
    run(overflow_kernel, x_ptr=x, out_ptr=wrapping, **{**usual, "OPERATION": "wraps"})


@triton.jit(debug=True)
def whole_block_kernel(x_ptr, sum_ptr, sums_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(sum_ptr, tl.sum(x))
    tl.store(sums_ptr + at, tl.cumsum(x))


def test_debug_mode_leaves_reductions_and_scans_alone(run):
    x = np.arange(48, 64, dtype=np.int32)
    total, totals = Expected(np.array([x.sum()], np.int32)), Expected(x.cumsum(dtype=np.int32))
    run(whole_block_kernel, x_ptr=x, sum_ptr=total, sums_ptr=totals, N=16)


@triton.jit
def _scaled(x, factor):
    tl.device_assert(factor != 7, "not by 7")
    if x > 100:
        return x - factor, x
    return x * factor, x


@triton.jit(debug=True)
def map_kernel(x_ptr, factors_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    y, _ = tl.map_elementwise(_scaled, tl.load(x_ptr + at), tl.load(factors_ptr + at))
    tl.store(out_ptr + at, y)


@pytest.mark.parametrize("vlen_bits", in_turn([256, 128], turns=1))
def test_assertions_in_a_map_hold_for_the_elements_that_come_there(run, vlen_bits):
    x, factors = np.arange(64, dtype=np.int32), np.full(64, 3, np.int32)
    x[5] = 2**31 - 1  # times 3 it overflows, but is not multiplied
    expected = Expected(np.where(x > 100, x - 3, x * np.int64(3)).astype(np.int32))
    usual = {"out_ptr": expected, "N": 64, "vlen_bits": vlen_bits}
    run(map_kernel, x_ptr=x, factors_ptr=factors, **usual)
    place = f"{__file__}:\\d+: device-side assertion failed: "
    factors[63] = 7
    with pytest.raises(AssertionError, match=place + "not by 7"):
        run(map_kernel, x_ptr=x, factors_ptr=factors, **usual)
    factors[63], x[40], factors[40] = 3, 100, 2**30
    with pytest.raises(AssertionError, match=place + "int32 overflow detected for operation mul"):
        run(map_kernel, x_ptr=x, factors_ptr=factors, **usual)


@triton.jit
def _printed(x):
    tl.device_print("x", x)
    return x


@triton.jit
def map_that_prints_kernel(x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(x_ptr + at, tl.map_elementwise(_printed, at))


def test_a_map_that_prints_is_refused_with_a_sentence():
    with pytest.raises(CompileError, match=r"tt\.print is not supported inside tt\.map_element"):
        compile_kernel(
            map_that_prints_kernel, {"x_ptr": "*i32"}, {"N": 16}, target=RVVTarget(vlen_bits=256)
        )


@triton.jit
def static_kernel(x_ptr, N: tl.constexpr):
    tl.static_assert(N > 8, "N is too small")
    tl.store(x_ptr + tl.arange(0, N), 1.0)


def test_a_static_assertion_is_an_error_of_compilation(run):
    run(static_kernel, x_ptr=Expected(torch.ones(16)), N=16)
    with pytest.raises(CompileError, match="N is too small"):
        compile_kernel(static_kernel, {"x_ptr": "*fp32"}, {"N": 8}, RVVTarget())
