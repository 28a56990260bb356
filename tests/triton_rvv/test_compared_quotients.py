"""Quotients that are only compared with numbers: the same as if they were divided and rounded."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after, only
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.lowering.ttir.compared_quotients import OF_QUOTIENT

N = 4096
SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3e38, -3e38, 1e-30, -1e-30, 0.35], np.float32
)


@triton.jit
def compared_kernel(x_ptr, d_ptr, kind_ptr, flags_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    ratio = tl.load(x_ptr + at) / tl.load(d_ptr + at)
    limit = tl.where(tl.load(kind_ptr + at) > 0, 0.35, 1.0)
    flags = (ratio > limit).to(tl.int32) | ((ratio >= 0.35).to(tl.int32) << 1)
    flags |= ((ratio < 1.0).to(tl.int32) << 2) | ((ratio <= 0.35).to(tl.int32) << 3)
    flags |= ((ratio > -0.35).to(tl.int32) << 4) | ((ratio >= -1.0).to(tl.int32) << 5)
    flags |= ((ratio < -0.35).to(tl.int32) << 6) | ((-1.0 >= ratio).to(tl.int32) << 7)  # noqa: SIM300
    flags |= ((0.35 < ratio).to(tl.int32) << 8) | ((1.0 <= ratio).to(tl.int32) << 9)  # noqa: SIM300
    tl.store(flags_ptr + at, flags)


@triton.jit
def known_kernel(x_ptr, flags_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(flags_ptr + at, (x / (x * x + 1.0) < 0.35).to(tl.int32))


@triton.jit
def stored_kernel(x_ptr, d_ptr, out_ptr, flags_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    ratio = tl.load(x_ptr + at) / tl.load(d_ptr + at)
    tl.store(out_ptr + at, ratio)
    tl.store(flags_ptr + at, (ratio > 0.35).to(tl.int32))


def near_limits():
    """Dividends whose quotients are near the limits, most of them within some units, and others."""
    random = np.random.default_rng(0)
    d = (np.exp2(random.uniform(-60, 60, N)) * random.choice([-1, 1], N)).astype(np.float32)
    d[: N // 2] = random.integers(1, 64, N // 2)  # quotients that are floats, among others
    limits = random.choice(np.array([0.35, 1.0, -0.35, -1.0], np.float32), N)
    x = (limits * d).view(np.int32) + random.integers(-2, 3, N).astype(np.int32)
    x = x.view(np.float32)
    special = np.stack(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1)
    x[: special.shape[1]], d[: special.shape[1]] = special
    return x, d


@pytest.mark.parametrize("vlen_bits", [128, 256])
def test_comparisons_are_those_of_rounded_quotients(run, vlen_bits):
    x, d = near_limits()
    kind = np.random.default_rng(1).integers(0, 2, N).astype(np.int32)
    with np.errstate(all="ignore"):
        q = x / d
        a, b = np.float32(0.35), np.float32(1.0)
        bits = [q > np.where(kind > 0, a, b), q >= a, q < b, q <= a, q > -a, q >= -b, q < -a]
        flags = sum(
            bit.astype(np.int32) << i for i, bit in enumerate([*bits, -b >= q, a < q, b <= q])
        )
    assert 0.1 < ((np.abs(q) == a) | (np.abs(q) == b)).mean() < 0.9
    run(
        compared_kernel,
        x_ptr=x,
        d_ptr=d,
        kind_ptr=kind,
        flags_ptr=Expected(flags),
        N=N,
        vlen_bits=vlen_bits,
    )


def test_divisors_that_are_known_to_be_positive(run):
    x = near_limits()[0]
    with np.errstate(all="ignore"):
        flags = (x / (x * x + np.float32(1)) < np.float32(0.35)).astype(np.int32)
    run(known_kernel, x_ptr=x[-512:], flags_ptr=Expected(flags[-512:]), N=512)


def _code(kernel, *pointers):
    signature = dict.fromkeys((f"{name}_ptr" for name in pointers), "*fp32") | {"flags_ptr": "*i32"}
    if "kind" in pointers:
        signature["kind_ptr"] = "*i32"
    return compile_kernel(kernel, signature, {"N": N}, RVVTarget()).assembly


def test_quotients_that_are_only_compared_are_not_divided():
    assert "vfrec7" not in _code(compared_kernel, "x", "d", "kind")
    assert "vfrec7" in _code(stored_kernel, "x", "d", "out")


ROW, PLACES = "tensor<512xf32>", "tensor<512x!tt.ptr<f32>>"
COMPARED = f"""
%at = "tt.make_range"() {{end = 512, start = 0}} : () -> tensor<512xi32>
%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> {PLACES}
%p = "tt.addptr"(%xs, %at) : ({PLACES}, tensor<512xi32>) -> {PLACES}
%v = "tt.load"(%p) : ({PLACES}) -> {ROW}
%q = "arith.divf"(%v, %v) : ({ROW}, {ROW}) -> {ROW}
%most = "arith.constant"() {{value = dense<NUMBER> : {ROW}}} : () -> {ROW}
%over = "arith.cmpf"(OPERANDS) {{predicate = PREDICATE : i64}} : ({ROW}, {ROW}) -> tensor<512xi1>
%kept = "arith.select"(%over, %v, %most) : (tensor<512xi1>, {ROW}, {ROW}) -> {ROW}
"tt.store"(%p, %kept) : ({PLACES}, {ROW}) -> ()
"""
STORED = f'"tt.store"(%p, %q) : ({PLACES}, {ROW}) -> ()'


@pytest.mark.parametrize(
    ("number", "predicate", "operands", "more", "sign"),
    [
        ("5.0e-01", 2, "%q, %most", "", 1),
        ("-2.0e+00", 5, "%most, %q", "", -1),
        ("0.0e+00", 2, "%q, %most", "", None),
        ("5.0e-01", 1, "%q, %most", "", None),  # equal
        ("5.0e-01", 2, "%q, %q", "", None),
        ("5.0e-01", 2, "%q, %most", STORED, None),
    ],
)
def test_compare_quotients(number, predicate, operands, more, sign):
    body = COMPARED.replace("NUMBER", number).replace("PREDICATE", str(predicate))
    count, module = after("compare-quotients", body.replace("OPERANDS", operands) + more)
    assert count == (sign is not None)
    assert only(module, "arith.cmpf").attributes.get(OF_QUOTIENT) == sign
