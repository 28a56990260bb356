"""Reductions and scans whose combination does not commute keep the order of elements."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.target import SUPPORTED_VLEN_BITS, RVVTarget


@triton.jit
def _then(a1, b1, a2, b2):
    """First x -> a1 x + b1, and then x -> a2 x + b2."""
    return a1 * a2, b1 * a2 + b2


@triton.jit
def _product(a, b, c, d, e, f, g, h):
    """Of two 2x2 matrices."""
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


@triton.jit
def _second(a, b):
    return b


@triton.jit
def maps_kernel(
    a_ptr, b_ptr, out_ptr, last_ptr, scan_ptr,
    AXIS: tl.constexpr, REVERSE: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    at = tl.arange(0, A)[:, None, None] * B * C + tl.arange(0, B)[None, :, None] * C
    at += tl.arange(0, C)[None, None, :]
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    SIZE: tl.constexpr = A * B * C
    first, second = tl.reduce((a, b), AXIS, _then)
    kept = tl.arange(0, SIZE // (A if AXIS == 0 else B if AXIS == 1 else C))
    tl.store(out_ptr + kept, tl.reshape(first, kept.shape))
    tl.store(out_ptr + kept.shape[0] + kept, tl.reshape(second, kept.shape))
    tl.store(last_ptr + kept, tl.reshape(tl.reduce(b, AXIS, _second), kept.shape))
    all_a, all_b = tl.reduce((tl.ravel(a), tl.ravel(b)), 0, _then)
    tl.store(out_ptr + 2 * kept.shape[0], all_a)
    tl.store(out_ptr + 2 * kept.shape[0] + 1, all_b)
    scanned_a, scanned_b = tl.associative_scan((a, b), AXIS, _then, reverse=REVERSE)
    tl.store(scan_ptr + at, scanned_a)
    tl.store(scan_ptr + SIZE + at, scanned_b)


def _scanned(pairs: list[np.ndarray]) -> list[np.ndarray]:
    """All partial results of `_then` over a list of pairs of rows."""
    totals = [pairs[0]]
    for a, b in pairs[1:]:
        totals.append(np.stack([totals[-1][0] * a, totals[-1][1] * a + b]))
    return totals


@pytest.mark.parametrize(
    ("shape", "axis", "vlen_bits"),
    in_turn([((4, 8, 64),), ((16, 4, 2),)], [0, 1, 2], [128, 256, 1024]),
)
def test_maps_are_composed_in_order(run, shape, axis, vlen_bits):
    random = np.random.default_rng(6)
    # Wraps, as int32 does: that is associative too.
    both = random.integers(-9, 9, (2, *shape)).astype(np.int32) | 1
    with np.errstate(over="ignore"):
        forward = _scanned(list(np.moveaxis(both, axis + 1, 0)))
        flat = _scanned(list(both.reshape(2, -1).T))[-1]
        reverse = axis != 1
        if reverse:
            backward = _scanned(list(np.moveaxis(both, axis + 1, 0)[::-1]))[::-1]
        scans = np.moveaxis(np.stack(backward if reverse else forward), 0, axis + 1)
    run(
        maps_kernel,
        vlen_bits=vlen_bits,
        a_ptr=both[0].copy(),
        b_ptr=both[1].copy(),
        out_ptr=Expected(np.concatenate([forward[-1].reshape(-1), flat])),
        last_ptr=Expected(np.take(both[1], -1, axis).reshape(-1)),
        scan_ptr=Expected(np.ascontiguousarray(scans)),
        AXIS=axis, REVERSE=reverse, A=shape[0], B=shape[1], C=shape[2],
    )  # fmt: skip


@triton.jit
def matrices_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x_ptr + at), tl.load(x_ptr + N + at)
    c, d = tl.load(x_ptr + 2 * N + at), tl.load(x_ptr + 3 * N + at)
    a, b, c, d = tl.reduce((a, b, c, d), 0, _product)
    tl.store(out_ptr, a)
    tl.store(out_ptr + 1, b)
    tl.store(out_ptr + 2, c)
    tl.store(out_ptr + 3, d)


@pytest.mark.parametrize("vlen_bits", SUPPORTED_VLEN_BITS)
def test_matrices_are_multiplied_in_order(run, vlen_bits):
    x = np.random.default_rng(7).integers(-3, 4, (4, 256)).astype(np.int64)
    with np.errstate(over="ignore"):
        out = functools.reduce(np.matmul, x.T.reshape(-1, 2, 2))
    run(matrices_kernel, vlen_bits=vlen_bits, x_ptr=x, out_ptr=Expected(out.reshape(-1)), N=256)


@triton.jit
def ties_kernel(x_ptr, out_ptr, LEFT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    tl.store(out_ptr + rows, tl.argmax(x, 1, tie_break_left=LEFT))
    tl.store(out_ptr + M + rows, tl.argmin(x, 1, tie_break_left=LEFT))
    tl.store(out_ptr + 2 * M + columns, tl.argmax(x, 0, tie_break_left=LEFT))


@pytest.mark.parametrize(("left", "vlen_bits"), in_turn([True, False], [128, 512]))
def test_ties(run, vlen_bits, left):
    x = np.random.default_rng(8).integers(0, 3, (8, 128)).astype(np.float32)

    def place(array: np.ndarray, axis: int) -> np.ndarray:
        if left:
            return array.argmax(axis)
        return array.shape[axis] - 1 - np.flip(array, axis).argmax(axis)

    expected = np.concatenate([place(x, 1), place(-x, 1), place(x, 0)]).astype(np.int32)
    out = Expected(expected)
    run(ties_kernel, vlen_bits=vlen_bits, x_ptr=x, out_ptr=out, LEFT=left, M=8, N=128)


@triton.jit
def _log_sum_exp(a, b):
    high = tl.maximum(a, b)
    return high + tl.log(tl.exp(a - high) + tl.exp(b - high))


@triton.jit
def _difference(a, b):
    return a - b


@triton.jit
def _sum(a, b):
    return a + b


@triton.jit
def one_kernel(x_ptr, out_ptr, KIND: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    if KIND == "sum":
        tl.store(out_ptr, tl.reduce(x, 0, _sum))
    elif KIND == "log of a sum":
        tl.store(out_ptr, tl.reduce(x, 0, _log_sum_exp))
    elif KIND == "place":
        tl.store(out_ptr, tl.argmax(x, 0))
    elif KIND == "difference":
        tl.store(out_ptr, tl.reduce(x, 0, _difference))
    else:
        tl.store(out_ptr, tl.reduce(x, 0, _second))


@pytest.mark.parametrize(
    ("kind", "commutes"),
    [
        ("sum", True),
        ("log of a sum", True),
        ("place", True),
        ("difference", False),
        ("second", False),
    ],
)
def test_only_what_commutes_is_reduced_in_any_order(kind, commutes):
    constants = {"KIND": kind, "N": 1024}
    signature = {"x_ptr": "*fp32", "out_ptr": "*fp32"}
    compiled = compile_kernel(one_kernel, signature, constants, RVVTarget())
    # To keep the order takes an array.
    assert ("alloca [1024 x" not in compiled.llir) == commutes
