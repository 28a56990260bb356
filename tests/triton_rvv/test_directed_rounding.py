"""Functions of libdevice that round toward zero, down or up, against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected
from triton.language.extra import libdevice

N = 128
MODES = ("rz", "rd", "ru")


def rounded(exact, dtype, mode):
    """The number of type `dtype` next to a fraction on the side that a mode asks for."""
    if exact == 0:
        return -0.0 if mode == "rd" else 0.0
    limits, inward = np.finfo(dtype), mode == "rz" or (mode == "ru") == (exact < 0)
    sign = -1 if exact < 0 else 1
    largest = Fraction(float(limits.max))
    if abs(exact) > largest:
        return math.copysign(float(largest) if inward else math.inf, sign)
    # The type's distance between numbers of this size, and how many of them fit.
    size = abs(exact)
    highest = size.numerator.bit_length() - size.denominator.bit_length()
    highest -= Fraction(2) ** highest > size
    unit = Fraction(2) ** (max(highest, limits.minexp) - limits.nmant)
    count = math.floor(size / unit) if inward else math.ceil(size / unit)
    return math.copysign(float(count * unit), sign)


def operands(dtype):
    """Three rows: numbers near 1, of every magnitude, and at both ends of the type."""
    random, limits = np.random.default_rng(3), np.finfo(dtype)
    near = random.uniform(-4, 4, (3, N)).astype(dtype)
    near[:, 40:80] *= np.exp2(random.uniform(limits.minexp / 3, limits.maxexp / 3, (3, 40)))
    ends = [limits.max, limits.tiny, limits.smallest_subnormal, 1 + limits.eps, 1, 0.75]
    near[:, 80:120] = random.choice([*ends, *(-end for end in map(float, ends))], (3, 40))
    near[1, 120:] = -near[0, 120:]
    near[2, 120:] = 0
    return near


@triton.jit
def arithmetic_kernel(x_ptr, out_ptr, MODE: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b, c = tl.load(x_ptr + at), tl.load(x_ptr + N + at), tl.load(x_ptr + 2 * N + at)
    out_ptr += at
    tl.store(out_ptr, getattr(libdevice, "add_" + MODE)(a, b))
    tl.store(out_ptr + N, getattr(libdevice, "sub_" + MODE)(a, b))
    tl.store(out_ptr + 2 * N, getattr(libdevice, "mul_" + MODE)(a, b))
    tl.store(out_ptr + 3 * N, getattr(libdevice, "div_" + MODE)(a, b))
    tl.store(out_ptr + 4 * N, getattr(libdevice, "fma_" + MODE)(a, b, c))
    tl.store(out_ptr + 5 * N, getattr(libdevice, "rcp_" + MODE)(a))
    tl.store(out_ptr + 6 * N, getattr(libdevice, "sqrt_" + MODE)(tl.abs(a)))


@pytest.mark.parametrize(
    ("mode", "dtype"), in_turn([(value,) for value in MODES], [np.float32, np.float64])
)
def test_arithmetic(run, dtype, mode):
    x = operands(dtype)
    columns = []
    for column in x.T.tolist():
        a, b, c = map(Fraction, column)
        exact = [a + b, a - b, a * b, a / b, a * b + c, 1 / a]
        columns.append([*(rounded(value, dtype, mode) for value in exact), 0.0])
    expected = np.array(columns, dtype).T.copy()
    expected[6] = [root(abs(float(a)), dtype, mode) for a in x[0]]
    run(arithmetic_kernel, x_ptr=x, out_ptr=Expected(expected), MODE=mode, N=N)


def root(a, dtype, mode):
    """sqrt(a) rounded up, or otherwise down."""
    below = dtype(np.sqrt(dtype(a)))
    while Fraction(float(below)) ** 2 > Fraction(a):
        below = np.nextafter(below, dtype(0))
    is_exact = Fraction(float(below)) ** 2 == Fraction(a)
    return np.nextafter(below, dtype(np.inf)) if mode == "ru" and not is_exact else below


@triton.jit
def zeros_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x_ptr + at), tl.load(x_ptr + N + at)
    tl.store(out_ptr + at, libdevice.signbit(libdevice.add_rd(a, b)).to(tl.int32))
    tl.store(out_ptr + N + at, libdevice.signbit(libdevice.add_ru(a, b)).to(tl.int32))
    tl.store(out_ptr + 2 * N + at, libdevice.signbit(libdevice.add_rz(a, b)).to(tl.int32))


def test_signs_of_sums_that_are_zero(run):
    x = np.array([[0.0, -0.0, 0.0, 1.5], [0.0, -0.0, -0.0, -1.5]], np.float32)
    signs = np.array([[0, 1, 1, 1], [0, 1, 0, 0], [0, 1, 0, 0]], np.int32)
    run(zeros_kernel, x_ptr=x, out_ptr=Expected(signs), N=4)


@triton.jit
def conversion_kernel(i_ptr, l_ptr, d_ptr, f_ptr, wide_ptr, MODE: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    i, wide, d = tl.load(i_ptr + at), tl.load(l_ptr + at), tl.load(d_ptr + at)
    f_ptr += at
    tl.store(f_ptr, getattr(libdevice, "int2float_" + MODE)(i))
    tl.store(f_ptr + N, getattr(libdevice, "uint2float_" + MODE)(i.to(tl.uint32, bitcast=True)))
    tl.store(f_ptr + 2 * N, getattr(libdevice, "ll2float_" + MODE)(wide))
    unsigned = wide.to(tl.uint64, bitcast=True)
    tl.store(f_ptr + 3 * N, getattr(libdevice, "ull2float_" + MODE)(unsigned))
    tl.store(f_ptr + 4 * N, getattr(libdevice, "double2float_" + MODE)(d))
    tl.store(wide_ptr + at, getattr(libdevice, "ll2double_" + MODE)(wide))
    tl.store(wide_ptr + N + at, getattr(libdevice, "ull2double_" + MODE)(unsigned))


@pytest.mark.parametrize("mode", MODES)
def test_conversions(run, mode):
    random = np.random.default_rng(4)
    wide = random.integers(-(2**63), 2**63, N) >> random.integers(0, 63, N)
    wide[:3] = 0, 2**63 - 1, -(2**63)
    i = random.integers(-(2**31), 2**31, N).astype(np.int32)
    d = random.normal(0, 1, N) * np.exp2(random.uniform(-155, 129, N))
    sources = [i, i.view(np.uint32), wide, wide.view(np.uint64)]
    floats = [[rounded(Fraction(v), np.float32, mode) for v in row.tolist()] for row in sources]
    floats.append([rounded(Fraction(v), np.float32, mode) for v in d.tolist()])
    doubles = [
        [rounded(Fraction(v), np.float64, mode) for v in row.tolist()] for row in sources[2:]
    ]
    run(
        conversion_kernel,
        i_ptr=i,
        l_ptr=wide,
        d_ptr=d,
        f_ptr=Expected(np.array(floats, np.float32)),
        wide_ptr=Expected(np.array(doubles)),
        MODE=mode,
        N=N,
    )
