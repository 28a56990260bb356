"""Functions of libdevice: errors in ulp, special values, whole numbers and bits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import triton
import triton.language as tl
from math_samples import SPECIAL, check_errors, pairs, samples, store_error
from qemu_kernels import Expected
from triton.language import core
from triton.language.extra import libdevice

from triton_rvv import CompileError, RVVTarget, compile_kernel

# Half an ulp, and what computing in double precision adds.
ROUNDED_ONCE = 0.51
# What is computed in single precision.
LIMITS = {
    **{"acos": 2.0, "acosh": 2.5, "asin": 2.5, "asinh": 2.5, "atan": 1.5, "atan2": 1.5},
    **{"atanh": 2.5, "cbrt": 1.0, "cosh": 3.0, "exp10": 1.5, "expm1": 1.6, "log10": 1.1},
    **{"log1p": 2.0, "pow": 2.5, "rcbrt": 1.5},
    **{"sinh": 3.0, "tan": 4.0, "tanh": 2.0},
}

# Where most of the arguments are.
FUNCTIONS = {
    "acos": (np.arccos, (-1, 1)),
    "acosh": (np.arccosh, (1, 5)),
    "asin": (np.arcsin, (-1, 1)),
    "asinh": (np.arcsinh, (-5, 5)),
    "atan": (np.arctan, (-5, 5)),
    "atanh": (np.arctanh, (-1, 1)),
    "cbrt": (np.cbrt, (-5, 5)),
    "cosh": (np.cosh, (-89, 89)),
    "exp10": (lambda x: np.power(10.0, x), (-45, 38)),
    "expm1": (np.expm1, (-20, 89)),
    "log10": (np.log10, (0, 5)),
    "log1p": (np.log1p, (-1, 5)),
    "rcbrt": (lambda x: 1 / np.cbrt(x), (-5, 5)),
    "sinh": (np.sinh, (-89, 89)),
    "tan": (np.tan, (-50, 50)),
    "tanh": (np.tanh, (-10, 10)),
}
LIBM = {"erfc": scipy.special.erfc, "lgamma": scipy.special.gammaln}
OF_TWO = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod}


@triton.jit
def unary_error_kernel(x_ptr, exact_ptr, per_limit_ptr, error_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    store_error(libdevice.acos(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.acosh(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.asin(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.asinh(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.atan(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.atanh(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.cbrt(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.cosh(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.exp10(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.expm1(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.log10(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.log1p(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.rcbrt(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.sinh(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.tan(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.tanh(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)


@pytest.mark.long
@pytest.mark.parametrize("vlen_bits", [pytest.param(128, marks=pytest.mark.long), 256])
def test_errors_of_functions_of_one_argument(run, vlen_bits):
    x, exact = [], []
    for reference, (lowest, highest) in FUNCTIONS.values():
        x.append(samples(reference, lowest, highest))
        with np.errstate(over="ignore"):
            exact.append(reference(x[-1].astype(np.float64)))
    limits = [LIMITS.get(name, ROUNDED_ONCE) for name in FUNCTIONS]
    worst = check_errors(run, unary_error_kernel, exact, limits, vlen_bits, x_ptr=np.stack(x))
    assert worst > 0.9


@triton.jit
def binary_error_kernel(x_ptr, y_ptr, exact_ptr, per_limit_ptr, error_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    result = libdevice.pow(tl.load(x_ptr + at), tl.load(y_ptr + at))
    store_error(result, exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    result = libdevice.atan2(tl.load(x_ptr + at), tl.load(y_ptr + at))
    store_error(result, exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    result = libdevice.hypot(tl.load(x_ptr + at), tl.load(y_ptr + at))
    store_error(result, exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    result = libdevice.fmod(tl.load(x_ptr + at), tl.load(y_ptr + at))
    store_error(result, exact_ptr, per_limit_ptr, error_ptr, at)


@pytest.mark.parametrize("vlen_bits", [pytest.param(128, marks=pytest.mark.long), 256])
def test_errors_of_functions_of_two_arguments(run, vlen_bits):
    x, y = np.stack([pairs(reference) for reference in OF_TWO.values()], axis=1)
    rows = zip(OF_TWO.values(), x.astype(np.float64), y.astype(np.float64), strict=True)
    exact = [reference(*arguments) for reference, *arguments in rows]
    limits = [LIMITS.get(name, ROUNDED_ONCE) for name in OF_TWO]
    worst = check_errors(run, binary_error_kernel, exact, limits, vlen_bits, x_ptr=x, y_ptr=y)
    assert worst > 0.9


@triton.jit
def called_kernel(x_ptr, exact_ptr, per_limit_ptr, error_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    store_error(libdevice.erfc(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)
    at += n
    store_error(libdevice.lgamma(tl.load(x_ptr + at)), exact_ptr, per_limit_ptr, error_ptr, at)


def test_functions_that_are_called_in_c(run):
    x = [samples(reference, 1, 9) for reference in LIBM.values()]
    x[1] = np.abs(x[1])
    exact = [f(row.astype(np.float64)) for f, row in zip(LIBM.values(), x, strict=True)]
    # musl promises no bound.
    assert check_errors(run, called_kernel, exact, [4.0, 4.0], 256, x_ptr=np.stack(x)) > 0.1


@triton.jit
def power_kernel(x_ptr, y_ptr, out_ptr, sign_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    result = libdevice.pow(tl.load(x_ptr + offsets), tl.load(y_ptr + offsets))
    tl.store(out_ptr + offsets, result)
    tl.store(sign_ptr + offsets, libdevice.signbit(result) & ~libdevice.isnan(result))


def test_special_cases_of_pow(run):
    listed = [*SPECIAL, 3, -3, 2.5, -2.5, 16777215, -16777215, 16777216, -0.5, -1e30, 1 / 3]
    numbers = np.array([*listed, *listed[:6]], np.float32)
    x, y = (axis.ravel() for axis in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        exact = np.array([_c_pow(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])
        exact = exact.astype(np.float32)
    run(
        power_kernel,
        x_ptr=x,
        y_ptr=y,
        out_ptr=Expected(exact, rtol=1.3e-7, atol=1.5e-45),
        sign_ptr=Expected((np.signbit(exact) & ~np.isnan(exact)).astype(np.int32)),
        N=len(x),
    )


@triton.jit
def whole_power_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    result = libdevice.pow(tl.load(x_ptr + offsets), tl.load(y_ptr + offsets))
    tl.store(out_ptr + offsets, result)


def test_whole_powers(run):
    x = np.array([-1, -1, -1, -2, -2, 2, 0, -0.0, -np.inf, 3, -3, np.nan, 1, -1, 0, 10], np.float32)
    y = np.array([16777217, 16777218, -(2**31), 3, -4, 0, -3, 5, 3, 7, 5, 0, 9, 7, 0, -3], np.int32)
    with np.errstate(divide="ignore"):
        exact = np.power(x.astype(np.float64), y).astype(np.float32)
    run(whole_power_kernel, x_ptr=x, y_ptr=y, out_ptr=Expected(exact, rtol=2.4e-7), N=16)


def _c_pow(x, y):
    """C's function, by way of Python's, which raises where that gives infinity or NaN."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.copysign(math.inf, x) if y % 2 == 1 else math.inf
    except ValueError:
        if x != 0:
            return math.nan
        return math.copysign(math.inf, x) if y % 2 == 1 else math.inf


@triton.jit
def store_signed_pair(result, out_ptr, sign_ptr, offsets):
    tl.store(out_ptr + offsets, result)
    tl.store(sign_ptr + offsets, libdevice.signbit(result) & ~libdevice.isnan(result))


@triton.jit
def special_of_one_kernel(x_ptr, out_ptr, sign_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    store_signed_pair(libdevice.acos(x), out_ptr, sign_ptr, at)
    store_signed_pair(libdevice.acosh(x), out_ptr, sign_ptr, at + N)
    store_signed_pair(libdevice.asin(x), out_ptr, sign_ptr, at + 2 * N)
    store_signed_pair(libdevice.asinh(x), out_ptr, sign_ptr, at + 3 * N)
    store_signed_pair(libdevice.atan(x), out_ptr, sign_ptr, at + 4 * N)
    store_signed_pair(libdevice.atanh(x), out_ptr, sign_ptr, at + 5 * N)
    store_signed_pair(libdevice.cbrt(x), out_ptr, sign_ptr, at + 6 * N)
    store_signed_pair(libdevice.cosh(x), out_ptr, sign_ptr, at + 7 * N)
    store_signed_pair(libdevice.exp10(x), out_ptr, sign_ptr, at + 8 * N)
    store_signed_pair(libdevice.expm1(x), out_ptr, sign_ptr, at + 9 * N)
    store_signed_pair(libdevice.log10(x), out_ptr, sign_ptr, at + 10 * N)
    store_signed_pair(libdevice.log1p(x), out_ptr, sign_ptr, at + 11 * N)
    store_signed_pair(libdevice.rcbrt(x), out_ptr, sign_ptr, at + 12 * N)
    store_signed_pair(libdevice.sinh(x), out_ptr, sign_ptr, at + 13 * N)
    store_signed_pair(libdevice.tan(x), out_ptr, sign_ptr, at + 14 * N)
    store_signed_pair(libdevice.tanh(x), out_ptr, sign_ptr, at + 15 * N)
    store_signed_pair(libdevice.rint(x), out_ptr, sign_ptr, at + 16 * N)
    store_signed_pair(libdevice.trunc(x), out_ptr, sign_ptr, at + 17 * N)
    store_signed_pair(libdevice.round(x), out_ptr, sign_ptr, at + 18 * N)


def _half_away(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def test_special_values_of_functions_of_one_argument(run):
    x = np.concatenate([SPECIAL, np.array([1.5, 2.5, -0.5, -2.5, 0.49999997, 8388609], np.float32)])
    x = np.concatenate([x, SPECIAL])[:32]
    references = [reference for reference, _ in FUNCTIONS.values()]
    with np.errstate(all="ignore"):
        exact = np.stack(
            [f(x.astype(np.float64)) for f in (*references, np.rint, np.trunc, _half_away)]
        ).astype(np.float32)
    run(
        special_of_one_kernel,
        x_ptr=x,
        out_ptr=Expected(exact, rtol=3.6e-7, atol=1.5e-45),
        sign_ptr=Expected((np.signbit(exact) & ~np.isnan(exact)).astype(np.int32)),
        N=32,
    )


@triton.jit
def double_libdevice_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    out = out_ptr + offsets
    tl.store(out, libdevice.tanh(x))
    tl.store(out + N, libdevice.pow(tl.abs(x), y))
    tl.store(out + 2 * N, libdevice.atan2(x, y))
    tl.store(out + 3 * N, libdevice.rcbrt(x))
    tl.store(out + 4 * N, libdevice.copysign(x, y))
    tl.store(out + 5 * N, libdevice.fdim(x, y))
    tl.store(out + 6 * N, libdevice.remainder(x, y))
    tl.store(out + 7 * N, libdevice.ldexp(x, offsets - 10))
    tl.store(out + 8 * N, libdevice.expm1(x))
    tl.store(out + 9 * N, libdevice.sinpi(x))
    tl.store(out + 10 * N, libdevice.cospi(x))
    tl.store(out + 11 * N, libdevice.norm3d(x, y, x))
    tl.store(out + 12 * N, libdevice.normcdf(x))
    tl.store(out + 13 * N, libdevice.fast_tanhf(x))


def test_double_precision_of_libdevice(run):
    x, y = np.random.default_rng(3).uniform(-5, 5, (2, 32))
    exact = [np.tanh(x), np.abs(x) ** y, np.arctan2(x, y), 1 / np.cbrt(x), np.copysign(x, y)]
    exact += [np.maximum(x - y, 0), [math.remainder(a, b) for a, b in zip(x, y, strict=True)]]
    exact += [np.ldexp(x, np.arange(32) - 10), np.expm1(x)]
    turns = [math.pi * math.remainder(a, 2) for a in x]
    exact += [np.sin(turns), np.cos(turns)]
    exact += [np.sqrt(2 * x * x + y * y), scipy.special.ndtr(x), np.tanh(x)]
    run(
        double_libdevice_kernel,
        x_ptr=x,
        y_ptr=y,
        out_ptr=Expected(np.stack(exact), rtol=2e-15, atol=1e-15),
        N=32,
    )


@triton.jit
def whole_kernel(x_ptr, i_ptr, l_ptr, f_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    i, wide = i_ptr + offsets, l_ptr + offsets
    tl.store(i, libdevice.float2int_rn(x))
    tl.store(i + N, libdevice.float2int_rz(x))
    tl.store(i + 2 * N, libdevice.float2int_rd(x))
    tl.store(i + 3 * N, libdevice.float2int_ru(x))
    tl.store(i + 4 * N, libdevice.float_as_int(x))
    tl.store(i + 5 * N, libdevice.ilogb(x))
    tl.store(i + 6 * N, libdevice.isinf(x))
    tl.store(i + 7 * N, libdevice.finitef(x))
    tl.store(wide, libdevice.llrint(x))
    tl.store(wide + N, libdevice.llround(x))
    tl.store(wide + 2 * N, libdevice.float2ull_rz(tl.abs(x) * 1e13).to(tl.int64))
    tl.store(f_ptr + offsets, libdevice.ldexp(x, offsets - 10))
    tl.store(f_ptr + N + offsets, libdevice.saturatef(x))
    tl.store(f_ptr + 2 * N + offsets, libdevice.int2float_rn(offsets))
    tl.store(f_ptr + 3 * N + offsets, libdevice.nextafter(x, 0.0))


def test_conversions_and_parts(run):
    x = np.random.default_rng(4).uniform(-1000, 1000, 32).astype(np.float32)
    x[:4] = 2.5, -2.5, 0.5, -1.5
    ints = [np.rint(x), np.trunc(x), np.floor(x), np.ceil(x)]
    ints += [x.view(np.int32), np.floor(np.log2(np.abs(x))), np.zeros(32), np.ones(32)]
    large = np.abs(x) * np.float32(1e13)
    wide = [
        np.rint(x).astype(np.int64),
        _half_away(x).astype(np.int64),
        large.astype(np.uint64).view(np.int64),
    ]
    floats = [np.ldexp(x, np.arange(32) - 10), np.clip(x, 0, 1), np.arange(32)]
    floats += [np.nextafter(x, np.float32(0))]
    run(
        whole_kernel,
        x_ptr=x,
        i_ptr=Expected(np.stack(ints).astype(np.int32)),
        l_ptr=Expected(np.stack(wide)),
        f_ptr=Expected(np.stack(floats).astype(np.float32)),
        N=32,
    )


@triton.jit
def limits_kernel(x_ptr, i_ptr, l_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    i, wide = i_ptr + at, l_ptr + at
    tl.store(i, libdevice.float2int_rz(x))
    tl.store(i + N, libdevice.float2uint_rn(x).to(tl.int32, bitcast=True))
    tl.store(i + 2 * N, libdevice.double2int_rd(x.to(tl.float64)))
    tl.store(wide, libdevice.float2ll_ru(x))
    tl.store(wide + N, libdevice.float2ull_rz(x).to(tl.int64, bitcast=True))
    tl.store(wide + 2 * N, libdevice.llrint(x))


def test_numbers_beyond_an_integer_type_become_its_nearest(run):
    x = np.array([np.inf, -np.inf, np.nan, 3e9, -3e9, 1e30, -1e30, -7, 2**31, -(2**31)], np.float32)
    x = np.concatenate([x, [2**63, -(2**63), 2**64, 1.5e19, 5, 0]]).astype(np.float32)

    def nearest(lowest, highest):
        whole = [0 if np.isnan(v) else min(max(v, lowest), highest) for v in x.tolist()]
        return [int(v) - (highest + 1) * (v > highest // 2) * (lowest == 0) for v in whole]

    ints = [nearest(-(2**31), 2**31 - 1), nearest(0, 2**32 - 1), nearest(-(2**31), 2**31 - 1)]
    wide = [nearest(-(2**63), 2**63 - 1), nearest(0, 2**64 - 1), nearest(-(2**63), 2**63 - 1)]
    run(
        limits_kernel,
        x_ptr=x,
        i_ptr=Expected(np.array(ints, np.int32)),
        l_ptr=Expected(np.array(wide, np.int64)),
        N=16,
    )


@triton.jit
def bits_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr, HAS_MEANS: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    out = out_ptr + offsets
    tl.store(out, libdevice.clz(x))
    tl.store(out + N, libdevice.popc(x))
    tl.store(out + 2 * N, libdevice.ffs(x))
    tl.store(out + 3 * N, libdevice.brev(x))
    tl.store(out + 4 * N, libdevice.mulhi(x, y))
    tl.store(out + 5 * N, libdevice.abs(x))
    if HAS_MEANS:
        tl.store(out + 6 * N, libdevice.hadd(x, y))
        tl.store(out + 7 * N, libdevice.rhadd(x, y))


@pytest.mark.parametrize("bits", [32, 64])
def test_bits(run, bits):
    random, limit = np.random.default_rng(5), 2 ** (bits - 1)
    dtype = np.dtype(f"i{bits // 8}")
    x, y = random.integers(-limit, limit - 1, (2, 32), dtype)
    x[:4] = 0, 1, -1, -limit
    table = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        digits = f"{a % 2**bits:0{bits}b}"
        low = len(digits) - digits.rfind("1") if a else 0
        column = [bits - (a % 2**bits).bit_length(), digits.count("1"), low, int(digits[::-1], 2)]
        column += [a * b >> bits, abs(a)]
        if bits == 32:
            column += [(a + b) >> 1, (a + b + 1) >> 1]
        table.append([(value + limit) % 2**bits - limit for value in column])
    expected = Expected(np.array(table, dtype).T.copy())
    run(bits_kernel, x_ptr=x, y_ptr=y, out_ptr=expected, N=32, HAS_MEANS=bits == 32)


@triton.jit
def words_kernel(x_ptr, y_ptr, d_ptr, out_ptr, part_ptr, SELECTOR: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(out_ptr + at, libdevice.byte_perm(x, y, at * 0 + SELECTOR))
    tl.store(part_ptr + at, libdevice.rcp64h(tl.load(d_ptr + at)))


@pytest.mark.parametrize("selector", [0x3210, 0x7531, 0x0123, 0xFEDC, 0x54440000])
def test_words_and_bytes(run, selector):
    random = np.random.default_rng(6)
    x, y = random.integers(-(2**31), 2**31, (2, 16)).astype(np.int32)
    source = np.stack([x, y], axis=1).view(np.uint8)
    chosen = [selector >> 4 * place & 7 for place in range(4)]
    expected = np.ascontiguousarray(source[:, chosen]).view(np.int32)[:, 0]
    d = random.normal(0, 9, 16)
    part = ((1 / d).view(np.uint64) >> np.uint64(32) << np.uint64(32)).view(np.float64)
    usual = {"out_ptr": Expected(expected), "part_ptr": Expected(part), "N": 16}
    run(words_kernel, x_ptr=x, y_ptr=y, d_ptr=d, SELECTOR=selector, **usual)


@core.extern
def unknown_function(x, _semantic=None):
    symbols = {(tl.float32,): ("__nv_unknownf", tl.float32)}
    return core.extern_elementwise("", "", [x], symbols, is_pure=True, _semantic=_semantic)


@triton.jit
def unknown_kernel(x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(x_ptr + offsets, unknown_function(tl.load(x_ptr + offsets)))


def test_a_function_without_a_counterpart_is_named():
    with pytest.raises(CompileError, match=r"test_libdevice\.py:\d+: .*__nv_unknownf"):
        compile_kernel(unknown_kernel, {"x_ptr": "*fp32"}, {"N": 16}, RVVTarget())
