"""Reductions and maps whose combination is more than one operation."""

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
def _with_branches(a, b):
    if b == 0:
        result = a
    elif a > 50:
        result = (a % b) + 1
    else:
        result = a + b
    return result


@triton.jit
def _with_a_call(a, b):
    if a > b:
        return a
    return tl.maximum(b, -1000)


@triton.jit
def _log_sum_exp(a, b):
    high = tl.maximum(a, b)
    return high + tl.log(tl.exp(a - high) + tl.exp(b - high))


@triton.jit
def combination_kernel(x_ptr, int_ptr, float_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    rows = tl.arange(0, M)
    tl.store(int_ptr + rows, tl.reduce(x, 1, _with_a_call))
    tl.store(int_ptr + M + rows, tl.max(tl.associative_scan(x, 1, _with_branches), 1))
    tl.store(float_ptr + tl.arange(0, N), tl.reduce(x.to(tl.float32) / 10, 0, _log_sum_exp))


def test_conditions_calls_and_functions(run):
    x = np.random.default_rng(1).integers(0, 60, (8, 32)).astype(np.int32)

    def combined(a, b):
        return a if b == 0 else (a % b) + 1 if a > 50 else a + b

    # The scan is not associative: its first two elements alone are the same in any grouping.
    scanned = np.array([max(combined(row[0], row[1]), row[0]) for row in x[:, :2]])
    float_out = np.log(np.exp(x / 10).sum(axis=0))
    run(
        combination_kernel,
        x_ptr=x[:, :2].copy(),
        int_ptr=Expected(np.concatenate([x[:, :2].max(axis=1), scanned]).astype(np.int32)),
        float_ptr=Expected(float_out[:2].astype(np.float32), rtol=1e-5),
        M=8,
        N=2,
    )


@triton.jit
def extremes_kernel(
    x_ptr, value_ptr, index_ptr, AXIS: tl.constexpr, LEFT: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    kept = tl.arange(0, N if AXIS == 0 else M)
    size = N if AXIS == 0 else M
    value, index = tl.max(x, AXIS, return_indices=True, return_indices_tie_break_left=LEFT)
    tl.store(value_ptr + kept, value)
    tl.store(index_ptr + kept, index)
    low, where = tl.min(x, AXIS, return_indices=True, keep_dims=True)
    tl.store(value_ptr + size + kept, tl.ravel(low))
    tl.store(index_ptr + size + kept, tl.ravel(where))
    tl.store(index_ptr + 2 * size + kept, tl.argmin(x, AXIS))


@pytest.mark.parametrize(
    ("dtype", "axis"),
    in_turn([np.int8, np.int16, np.int64, np.float16, np.float32], [0, 1]),
)
def test_positions_of_extremes(run, axis, dtype):
    x = np.random.default_rng(2).integers(-5, 5, (16, 64)).astype(dtype)
    first = [x.argmax(axis=axis), x.argmin(axis=axis), x.argmin(axis=axis)]
    run(
        extremes_kernel,
        x_ptr=x,
        value_ptr=Expected(np.stack([x.max(axis=axis), x.min(axis=axis)])),
        index_ptr=Expected(np.stack(first).astype(np.int32)),
        AXIS=axis, LEFT=True, M=16, N=64,
    )  # fmt: skip


@triton.jit
def _nan_maximum(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _nan_minimum(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def nan_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    rows = tl.arange(0, M)
    tl.store(out_ptr + rows, tl.reduce(x, 1, _nan_maximum))
    tl.store(out_ptr + M + rows, tl.reduce(x, 1, _nan_minimum))
    tl.store(out_ptr + 2 * M + rows, tl.max(x, 1))
    tl.store(out_ptr + 3 * M + rows, tl.min(x, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_nan(run, dtype):
    x = torch.randn((4, 64), generator=torch.Generator().manual_seed(3)).to(dtype)
    x[1, 5] = x[2, 63] = x[3, 0] = float("nan")
    plain = [x.nan_to_num(-9.0).amax(1), x.nan_to_num(9.0).amin(1)]
    out = torch.stack([x.amax(1), x.amin(1), *plain])
    assert out[:2].isnan().sum() == 6
    run(nan_kernel, x_ptr=x, out_ptr=Expected(out), M=4, N=64)


@triton.jit
def narrow_kernel(x_ptr, out_ptr, truth_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.sum(x))
    tl.store(out_ptr + 1, tl.max(x))
    tl.store(out_ptr + 2, tl.xor_sum(x))
    tl.store(truth_ptr, tl.reduce_or(x > 120, 0))
    tl.store(truth_ptr + 1, tl.reduce(x < 127, 0, _both))


@triton.jit
def _both(a, b):
    return a & b


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_bytes_and_truth_values(run, dtype):
    x = np.random.default_rng(4).integers(0, 127, 256).astype(dtype)
    total = x.sum(dtype=np.int64)
    out = np.array([total, x.max(), np.bitwise_xor.reduce(x)], np.int32)
    truths = np.array([(x > 120).any(), (x < 127).all()])
    run(narrow_kernel, x_ptr=x, out_ptr=Expected(out), truth_ptr=Expected(truths), N=256)


@triton.jit
def _piecewise(x, n):
    if n == 0:
        return x, 0
    if x > 1.0:
        return tl.exp(x), 100 // n
    return x * x, n


@triton.jit
def map_kernel(x_ptr, n_ptr, out_ptr, count_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    y, count = tl.map_elementwise(_piecewise, tl.load(x_ptr + offsets), tl.load(n_ptr + offsets))
    tl.store(out_ptr + offsets, y)
    tl.store(count_ptr + offsets, count)


def test_a_function_of_scalars_on_each_element(run):
    random = np.random.default_rng(5)
    x, n = (
        random.uniform(-3, 3, 128).astype(np.float32),
        random.integers(0, 4, 128).astype(np.int32),
    )
    y = np.where(n == 0, x, np.where(x > 1, np.exp(x), x * x))
    count = np.where(n == 0, 0, np.where(x > 1, 100 // np.maximum(n, 1), n))
    outputs = {
        "out_ptr": Expected(y.astype(np.float32), rtol=1e-6),
        "count_ptr": Expected(count.astype(np.int32)),
    }
    run(map_kernel, x_ptr=x, n_ptr=n, **outputs, N=128)


@triton.jit
def _four_at_a_time(a, b, c, d, w, x, y, z):
    if a > d:
        return d, c, b, a, w < x, x < y, y < z, z < w
    return a, b + 1, c + 2, d + 3, w < 0, x < 0, y < 0, z < 0


@triton.jit
def packed_map_kernel(a_ptr, x_ptr, out_ptr, less_ptr, M: tl.constexpr, N: tl.constexpr):
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a, x = tl.load(a_ptr + places), tl.load(x_ptr + places)
    y, less = tl.map_elementwise(_four_at_a_time, a, x, pack=4)
    tl.store(out_ptr + places, y)
    tl.store(less_ptr + places, less)


@pytest.mark.parametrize("shape", [(1, 4), (2, 2), (8, 64)], ids=str)
def test_a_function_of_several_neighbours(run, shape):
    random = np.random.default_rng(6)
    a = random.integers(-9, 9, shape).astype(np.int32)
    x = random.uniform(-1, 1, shape).astype(np.float32)
    out, less = np.empty((a.size // 4, 4), np.int32), np.empty((a.size // 4, 4), bool)
    for row, (four, others) in enumerate(zip(a.reshape(-1, 4), x.reshape(-1, 4), strict=True)):
        turned = four[0] > four[3]
        out[row] = four[::-1] if turned else four + np.arange(4)
        less[row] = others < np.roll(others, -1) if turned else others < 0
    outputs = {
        "out_ptr": Expected(out.reshape(shape)),
        "less_ptr": Expected(less.reshape(shape)),
    }
    run(packed_map_kernel, a_ptr=a, x_ptr=x, **outputs, M=shape[0], N=shape[1])


@triton.jit
def _order(x, y):
    if x < y:
        return -1
    elif x == y:  # noqa: RET505 (it decides the order of the blocks)
        return 0
    else:
        return 1


@triton.jit
def order_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.map_elementwise(_order, tl.load(x_ptr + at), tl.load(y_ptr + at)))


def test_a_map_whose_blocks_are_listed_against_the_flow(run):
    x, y = np.random.default_rng(5).integers(-3, 3, (2, 64)).astype(np.int32)
    run(order_kernel, x_ptr=x, y_ptr=y, out_ptr=Expected(np.sign(x - y)), N=64)


@triton.jit
def _summing(a, b):
    total = a
    for _ in range(3):
        total += b
    return total


@triton.jit
def loop_kernel(x_ptr, N: tl.constexpr):
    tl.store(x_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, N)), 0, _summing))


def test_a_loop_in_a_combination():
    with pytest.raises(CompileError, match=r"scf\.for is not supported inside tt\.reduce"):
        compile_kernel(loop_kernel, {"x_ptr": "*fp32"}, {"N": 16}, RVVTarget())
