"""Blocks whose elements are put in another order: permuted, joined, split, flipped, gathered."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

pytestmark = pytest.mark.filterwarnings("ignore:view is deprecated")


@triton.jit
def permute_kernel(
    x_ptr, loaded_ptr, computed_ptr, limit,
    FIRST: tl.constexpr, SECOND: tl.constexpr, THIRD: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    offsets = a[:, None, None] * (B * C) + b[None, :, None] * C + c[None, None, :]
    x = tl.load(x_ptr + offsets, mask=(b < limit)[None, :, None] & (c > 0)[None, None, :], other=-7)
    permuted = tl.permute(x, FIRST, SECOND, THIRD)
    flat = tl.reshape(tl.arange(0, A * B * C), permuted.shape)
    tl.store(loaded_ptr + flat, permuted)
    again = tl.load(x_ptr + offsets)
    computed = again * 2 + (again > 0).to(tl.int32)
    tl.store(computed_ptr + flat, tl.permute(computed, FIRST, SECOND, THIRD))
    tl.store(computed_ptr + A * B * C + offsets, computed + a[:, None, None])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_permuted_loads_and_expressions(run, order):
    shape = (4, 16, 8)
    x = np.random.default_rng(1).integers(-99, 99, shape).astype(np.int32)
    loaded = x.copy()
    loaded[:, 11:] = loaded[:, :, 0] = -7
    computed = x * 2 + (x > 0)
    both = [computed.transpose(order).reshape(-1), computed + np.arange(4)[:, None, None]]
    run(
        permute_kernel,
        x_ptr=x,
        loaded_ptr=Expected(np.ascontiguousarray(loaded.transpose(order))),
        computed_ptr=Expected(np.concatenate([part.reshape(-1) for part in both]).astype(np.int32)),
        limit=11, FIRST=order[0], SECOND=order[1], THIRD=order[2], A=4, B=16, C=8,
    )  # fmt: skip


@triton.jit
def transpose_kernel(x_ptr, out_ptr, mask_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + columns)
    turned = tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]
    tl.store(out_ptr + turned, x.T)
    total = tl.zeros((M, N), tl.float32)
    for turn in range(3):
        total += tl.trans(tl.trans(x) * turn)
    tl.store(out_ptr + M * N + rows * N + columns, total)
    # A load with a mask and arithmetic between it and the transposition, which nothing else uses.
    weights = tl.load(x_ptr + rows * N + columns, mask=(rows > 0) & (columns < N - 1), other=0.5)
    tl.store(out_ptr + 2 * M * N + turned, tl.trans((weights * 2).to(tl.float16) + rows))
    tl.store(mask_ptr + turned, ((rows + columns) % 3 == 0).T & (x > 0).T)


@pytest.mark.parametrize("vlen_bits", in_turn([512, 128], turns=1))
@pytest.mark.parametrize("shape", [(1, 32), (16, 2), (32, 64)], ids=str)
def test_matrices_are_transposed(run, shape, vlen_bits):
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    rows, columns = np.indices(shape)
    inside = np.where((rows > 0) & (columns < shape[1] - 1), x, 0.5)
    weighted = (inside * 2).astype(np.float16) + rows.astype(np.float16)
    parts = [part.reshape(-1) for part in (x.T, x * 3, weighted.T)]
    out = Expected(np.concatenate(parts), rtol=1e-6, atol=1e-6)
    mask = Expected(np.ascontiguousarray((((rows + columns) % 3 == 0) & (x > 0)).T))
    sizes = {"M": shape[0], "N": shape[1], "vlen_bits": vlen_bits}
    run(transpose_kernel, x_ptr=x, out_ptr=out, mask_ptr=mask, **sizes)


@triton.jit
def in_place_kernel(x_ptr, N: tl.constexpr):
    places = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + places)
    tl.store(x_ptr + places, tl.trans(x))
    once_more = tl.load(x_ptr + places)
    tl.store(x_ptr + places, tl.trans(once_more) - once_more)


def test_a_matrix_is_transposed_in_place(run):
    x = np.random.default_rng(7).integers(-99, 99, (32, 32)).astype(np.int32)
    run(in_place_kernel, x_ptr=Expected(x - x.T, x), N=32)


@triton.jit
def join_kernel(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    joined = tl.join(x, y)
    third = tl.arange(0, 2)[None, None, :]
    tl.store(out_ptr + offsets[:, :, None] * 2 + third, joined)
    size = 2 * M * N
    left, right = tl.split(joined * 3)
    tl.store(out_ptr + size + offsets, left)
    tl.store(out_ptr + size + M * N + offsets, right)
    wide = tl.arange(0, M)[:, None] * 2 * N + tl.arange(0, 2 * N)[None, :]
    tl.store(out_ptr + 2 * size + wide, tl.interleave(x, y))
    row = tl.arange(0, N)
    x0, y0 = tl.load(x_ptr + row), tl.load(y_ptr + row)
    tl.store(out_ptr + 3 * size + tl.arange(0, 2 * N), tl.cat(x0, y0, can_reorder=True))
    even, odd = tl.split(tl.reshape(x > y, (M, N // 2, 2)))
    half = tl.arange(0, M)[:, None] * (N // 2) + tl.arange(0, N // 2)[None, :]
    tl.store(out_ptr + 3 * size + 2 * N + half, (even & odd).to(tl.int16))


@pytest.mark.parametrize("shape", [(1, 2), (4, 64), (32, 8)], ids=str)
def test_join_split_interleave_cat(run, shape):
    random = np.random.default_rng(3)
    x, y = (random.integers(-99, 99, shape).astype(np.int16) for _ in range(2))
    joined = np.stack([x, y], axis=-1)
    larger = (x > y).reshape(shape[0], -1, 2)
    parts = [
        joined, x * 3, y * 3, joined, x[0], y[0], larger[..., 0] & larger[..., 1],
    ]  # fmt: skip
    out = np.concatenate([part.reshape(-1).astype(np.int16) for part in parts])
    run(join_kernel, x_ptr=x, y_ptr=y, out_ptr=Expected(out), M=shape[0], N=shape[1])


@triton.jit
def cat_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    row = tl.arange(0, N)
    both = tl.cat(tl.load(x_ptr + row), tl.load(y_ptr + row))
    tl.store(out_ptr + tl.arange(0, 2 * N), both)


@pytest.mark.skipif(triton.__version__.startswith("3.6."), reason="its cat may reorder elements")
def test_cat_in_order(run):
    x, y = np.arange(8, dtype=np.int16), np.arange(20, 28, dtype=np.int16)
    run(cat_kernel, x_ptr=x, y_ptr=y, out_ptr=Expected(np.concatenate([x, y])), N=8)


@triton.jit
def reshape_kernel(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr):
    offsets = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    x = tl.load(x_ptr + offsets)
    flat = tl.arange(0, A * B)
    tl.store(out_ptr + flat, tl.ravel(x + 1))
    tl.store(out_ptr + A * B + flat, tl.view(x * x, (A * B,)))
    cube = tl.reshape(x, (A // 2, 2, B // 4, 4))
    tl.store(out_ptr + 2 * A * B + flat, tl.ravel(cube + tl.reshape(tl.arange(0, 4), (1, 1, 1, 4))))
    square = tl.expand_dims(tl.expand_dims(tl.ravel(x), 0), -1)
    tl.store(out_ptr + 3 * A * B + flat[None, :, None], square.reshape(1, A * B, 1))
    tl.store(out_ptr + 4 * A * B + flat, tl.ravel(tl.flip(x, 1) - tl.flip(x, 0)))
    constants = tl.full((A, B), 7, tl.int32) + tl.zeros_like(x)
    tl.store(out_ptr + 5 * A * B + flat, tl.reshape(constants, (A * B,)))
    short = tl.arange(0, A * B // 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    turned = tl.permute(tl.reshape(tl.load(x_ptr + flat), (A // 2, 2, B // 4, 4)), (2, 1, 0, 3))
    tl.store(out_ptr + 6 * A * B + short, tl.reshape(turned, (A * B // 4, 4)))


@pytest.mark.parametrize("shape", [(2, 4), (16, 32)], ids=str)
def test_reshape_and_flip(run, shape):
    x = np.random.default_rng(4).integers(-99, 99, shape).astype(np.int32)
    add = (x.reshape(-1, 4) + np.arange(4)).reshape(shape)
    turned = x.reshape(shape[0] // 2, 2, -1, 4).transpose(2, 1, 0, 3).reshape(shape)
    parts = [x + 1, x * x, add, x, x[:, ::-1] - x[::-1], np.full(shape, 7), turned]
    out = np.stack(parts).astype(np.int32)
    run(reshape_kernel, x_ptr=x, out_ptr=Expected(out), A=shape[0], B=shape[1])


@triton.jit
def gather_kernel(x_ptr, i_ptr, out_ptr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                  P: tl.constexpr, Q: tl.constexpr):  # fmt: skip
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    places = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]
    index = tl.load(i_ptr + places)
    tl.store(out_ptr + places, tl.gather(x * 2, index, AXIS))


@pytest.mark.parametrize(
    ("shape", "result", "axis", "dtype"),
    [((8, 32), (8, 16), 1, np.int32), ((256, 4), (64, 4), 0, np.uint8)],
)
def test_gather(run, shape, result, axis, dtype):
    random = np.random.default_rng(5)
    x = random.standard_normal(shape).astype(np.float32)
    index = random.integers(0, shape[axis], result).astype(dtype)
    sizes = dict(zip("MNPQ", (*shape, *result), strict=True))
    out = Expected(np.take_along_axis(x * 2, index, axis))
    run(gather_kernel, x_ptr=x, i_ptr=index, out_ptr=out, AXIS=axis, **sizes)


@triton.jit
def histogram_kernel(x_ptr, out_ptr, limit, N: tl.constexpr, BINS: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    bins = tl.arange(0, BINS)
    tl.store(out_ptr + bins, tl.histogram(x, BINS))
    tl.store(out_ptr + BINS + bins, tl.histogram(x // 2, BINS, mask=offsets < limit))


def test_histogram(run):
    x = np.random.default_rng(6).integers(0, 16, 256).astype(np.int32)
    counts = [np.bincount(x, minlength=16), np.bincount(x[:100] // 2, minlength=16)]
    out = Expected(np.concatenate(counts).astype(np.int32))
    run(histogram_kernel, x_ptr=x, out_ptr=out, limit=100, N=256, BINS=16)


@triton.jit
def swizzle_kernel(out_ptr, N: tl.constexpr):
    flat = tl.arange(0, N * N)
    row, column = tl.swizzle2d(flat // N, flat % N, N, N, 2)
    tl.store(out_ptr + flat, row * N + column)


def test_swizzle(run):
    at = np.empty(16, np.int32)
    for place in range(16):
        group, inside = divmod(place, 8)
        at[place] = (group * 2 + inside % 2) * 4 + inside // 2
    run(swizzle_kernel, out_ptr=Expected(at), N=4)


@triton.jit
def turned_addresses_kernel(x_ptr, rows_ptr, weights_ptr, out_ptr):
    lanes = tl.arange(0, 4)
    rows = tl.load(rows_ptr + lanes)
    x = tl.load(tl.trans(x_ptr + rows[None, :] * 4 + lanes[:, None]))
    places = lanes[:, None] * 4 + lanes[None, :]
    tl.store(out_ptr + places, tl.dot(x, tl.load(weights_ptr + places), out_dtype=tl.int32))


def test_a_product_takes_rows_whose_addresses_are_transposed(run):
    rng, rows = np.random.default_rng(3), np.array([3, 0, 2, 5], np.int32)
    x, weights = (rng.integers(-9, 9, shape).astype(np.int8) for shape in ((6, 4), (4, 4)))
    out = Expected(x[rows].astype(np.int32) @ weights)
    run(turned_addresses_kernel, x_ptr=x, rows_ptr=rows, weights_ptr=weights, out_ptr=out)
