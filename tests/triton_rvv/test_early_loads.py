"""Loads that a loop carries out a turn early: where they pay, and that their elements are right."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.targets.host_target import host_target
from triton_rvv.targets.machine import Machine
from triton_rvv.targets.target import Target


@triton.jit
def smooth_kernel(x_ptr, y_ptr, n, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    distance = tl.abs(x - tl.load(y_ptr + at, mask=mask))
    far = 0.75 * (distance - 0.375)
    tl.store(y_ptr + at, tl.where(distance < 0.75, distance * distance * 0.5, far), mask=mask)


@triton.jit
def sum_kernel(x_ptr, y_ptr, n, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(y_ptr + at, x + tl.load(y_ptr + at, mask=mask), mask=mask)


@triton.jit
def power_kernel(x_ptr, y_ptr, n, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask) - tl.load(y_ptr + at, mask=mask)
    tl.store(y_ptr + at, tl.exp(tl.abs(x) * 0.5) - 1, mask=mask)


@triton.jit
def three_inputs_kernel(x_ptr, y_ptr, n, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    for number in tl.static_range(1, 6):
        x = tl.maximum(tl.minimum(tl.abs(x), tl.load(x_ptr + number * n + at)) * x - 1, x) + x
    tl.store(y_ptr + at, x)


@triton.jit
def rows_kernel(x_ptr, y_ptr, stride, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * stride + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    far = tl.maximum(tl.abs(x - y) - 0.5, 0.25) * 0.125
    tl.store(y_ptr + at, tl.where(x < y, far * far, far) - tl.minimum(x, far))


def _early(kernel, target: Target, block: int = 1024, n: int | None = 4096) -> int:
    """How many vectors a kernel's loops carry from turn to turn."""
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
    sizes = {} if n is None else {"known": {"n": n}, "grid": (-(-n // block), 1, 1)}
    compiled = compile_kernel(
        kernel, signature, {"N": block}, target, disjoint_arguments=True, **sizes
    )
    return len(re.findall(r"= phi <\d+ x float>", compiled.llir))


def test_it_happens_beside_arithmetic_on_an_in_order_core():
    core = RVVTarget.named("x60")
    # Two loads of each of the two runs that are computed side by side.
    assert _early(smooth_kernel, core) == 4
    # Of a block that may end within, the whole turns of both versions.
    assert _early(smooth_kernel, core, n=None) == 8
    assert _early(smooth_kernel, replace(core, machine=Machine(issues_in_order=False))) == 0
    assert _early(smooth_kernel, host_target()) == 0


def test_it_happens_nowhere_else():
    core = RVVTarget.named("x60")
    assert _early(sum_kernel, core) == 0  # nothing to hide loads behind
    assert _early(power_kernel, core) == 0  # a costly function takes the registers
    assert _early(three_inputs_kernel, core) == 0  # too many values to keep
    assert _early(smooth_kernel, core, 32) == 0  # one turn has no next


@pytest.mark.parametrize(("n", "block"), [(1000, 256), (2048, 512)])
def test_an_array_in_place(run, n, block):
    random = np.random.default_rng(n)
    x, y = random.standard_normal((2, n)).astype(np.float32)
    size = np.abs(x - y)
    smooth = np.where(size < 0.75, 0.5 * size * size, 0.75 * (size - 0.375))
    expected = Expected(smooth.astype(np.float32), start=y, rtol=1e-6, atol=1e-7)
    run(smooth_kernel, x_ptr=x, y_ptr=expected, n=n, N=block, grid=(-(-n // block),))


@pytest.mark.parametrize("vlen_bits", in_turn([256, 128], turns=1))
def test_rows_that_lie_apart(run, vlen_bits):
    rows, columns, stride = 4, 256, 300
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, rows, stride)).astype(np.float32)
    far = np.maximum(np.abs(x - y) - 0.5, 0.25) * np.float32(0.125)
    result = np.where(x < y, far * far, far) - np.minimum(x, far)
    result[:, columns:] = y[:, columns:]
    expected = Expected(result.astype(np.float32), start=y, rtol=1e-6, atol=1e-7)
    sizes = {"stride": stride, "M": rows, "N": columns}
    run(rows_kernel, x_ptr=x, y_ptr=expected, **sizes, vlen_bits=vlen_bits)
