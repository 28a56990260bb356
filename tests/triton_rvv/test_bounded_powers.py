"""Exponentials of numbers that are known not to be large."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering.ttir.bounded_powers import IS_BOUNDED, mark_bounded_powers
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.make_ttir import make_ttir
from triton_rvv.targets.target import RVVTarget

N = 16
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, -87.5, -103.5, -104.5, -3e38, 1e-40, -1e-40, 39.99]


@triton.jit
def powers_kernel(x_ptr, e_ptr, two_ptr, limited_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    size = tl.abs(x)
    tl.store(e_ptr + at, tl.exp(-size))
    tl.store(two_ptr + at, tl.exp2(0.0 - size))
    tl.store(limited_ptr + at, tl.exp(tl.minimum(x + 0.5, 40.0)))


@pytest.mark.parametrize("vlen_bits", in_turn([128, 256, 512], turns=1))
def test_powers_round_as_they_should(run, vlen_bits):
    random = np.random.default_rng(0)
    x = (random.standard_normal(4096) * 10.0 ** random.integers(-6, 3, 4096)).astype(np.float32)
    x[: len(SPECIAL)] = SPECIAL
    x[64:1088] = -np.linspace(80, 160, 1024, dtype=np.float32)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        shifted = np.fmin((x + np.float32(0.5)), np.float32(40)).astype(np.float64)
        powers = [np.exp(-np.abs(wide)), np.exp2(-np.abs(wide)), np.exp(shifted)]
    outputs = {
        name: Expected(power.astype(np.float32), rtol=2.0**-22, atol=2.0**-149)
        for name, power in zip(("e_ptr", "two_ptr", "limited_ptr"), powers, strict=True)
    }
    run(powers_kernel, x_ptr=x, **outputs, N=4096, vlen_bits=vlen_bits)


@triton.jit
def _of_rows(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.exp(x - tl.max(x, axis=1)[:, None]))


@triton.jit
def _running(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    largest = tl.full((1,), -float("inf"), tl.float32)
    for row in range(4):
        x = tl.load(x_ptr + row * N + at)
        new = tl.maximum(largest, tl.max(x, axis=0))
        tl.store(y_ptr + row * N + at, tl.exp2((x - new) * 1.44))
        tl.store(y_ptr + 4 * N + at, tl.exp2(largest - new + tl.zeros((N,), tl.float32)))
        largest = new


@triton.jit
def _chosen(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.exp(tl.where(at < 3, -(x * x), -float("inf"))))


@triton.jit
def _of_the_wrong_rows(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.exp(x - tl.max(x, axis=1)[None, :]))


@triton.jit
def _of_others(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.exp(x - tl.max(x * 2, axis=0)))


@triton.jit
def _of_smallest(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.exp(x - tl.min(x, axis=0)))


@triton.jit
def _of_maximum(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.exp(tl.maximum(-tl.abs(x), x)))


@triton.jit
def _of_minimum(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.exp(tl.minimum(x, -tl.abs(x - x))))


@triton.jit
def _by_anything(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.exp(-tl.abs(x) * tl.load(x_ptr)))


@triton.jit
def _of_a_constant(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at, tl.exp(tl.load(x_ptr + at) - 3.0))


def _marks(kernel) -> list[bool]:
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "N": "constexpr"}
    target = RVVTarget(vlen_bits=256)
    module = parse_module(make_ttir(kernel, signature, {"N": N}, frozenset(), target, {}))
    mark_bounded_powers(Kernel(module, target, arguments_are_disjoint=True))
    powers = [each for each in module.walk() if each.name in ("math.exp", "math.exp2")]
    return [IS_BOUNDED in each.attributes for each in powers]


@pytest.mark.parametrize("kernel", [_of_rows, _running, _chosen])
def test_numbers_that_are_not_large(kernel):
    marks = _marks(kernel)
    assert marks[0]


@pytest.mark.parametrize(
    "kernel",
    [
        _of_the_wrong_rows,
        _of_others,
        _of_smallest,
        _of_maximum,
        _of_minimum,
        _by_anything,
        _of_a_constant,
    ],
)
def test_numbers_that_may_be_large(kernel):
    assert _marks(kernel) == [False]
