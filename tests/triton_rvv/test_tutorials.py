"""Kernels in the manner of Triton's tutorials that no file of kernels/ holds."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from qemu_kernels import Expected
from triton.language.extra import libdevice

import triton_rvv


def whole(*shape, seed=0):
    """Small whole numbers, so that every order of summing is exact."""
    random = torch.Generator().manual_seed(seed)
    return torch.randint(-4, 5, shape, generator=random).float()


@triton.jit
def persistent_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    PROGRAMS: tl.constexpr,
):
    """A fixed number of programs walk over all tiles of the product, one loop for K and tiles."""
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    steps = tl.cdiv(K, BLOCK_K)
    own_tiles = tl.cdiv(tiles_m * tiles_n - tl.program_id(0), PROGRAMS)
    tile = tl.program_id(0) - PROGRAMS
    step = -1
    rows = tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(steps * own_tiles):
        step = tl.where(step == steps - 1, 0, step + 1)
        if step == 0:
            tile += PROGRAMS
            group = tile // (GROUP_M * tiles_n)
            first = group * GROUP_M
            group_rows = min(tiles_m - first, GROUP_M)
            tile_m = first + tile % group_rows
            tile_n = (tile % (GROUP_M * tiles_n)) // group_rows
            rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
            columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
        ks = step * BLOCK_K + tl.arange(0, BLOCK_K)
        a_mask = (rows[:, None] < M) & (ks[None, :] < K)
        b_mask = (ks[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + columns[None, :], mask=b_mask, other=0.0)
        total = tl.dot(a, b, total)
        if step == steps - 1:
            c_mask = (rows[:, None] < M) & (columns[None, :] < N)
            tl.store(c_ptr + rows[:, None] * N + columns[None, :], total, mask=c_mask)
            total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)


@pytest.mark.parametrize("shape", [(64, 64, 32), (50, 70, 33)], ids=str)
def test_persistent_matmul(run, shape):
    m, n, k = shape
    a, b = whole(m, k), whole(k, n, seed=1)
    blocks = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 16, "GROUP_M": 2, "PROGRAMS": 3}
    sizes = {"M": m, "N": n, "K": k}
    run(persistent_kernel, a_ptr=a, b_ptr=b, c_ptr=Expected(a @ b), grid=(3,), **sizes, **blocks)


@triton.jit
def descriptor_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PROGRAMS: tl.constexpr,
):
    """The same with tensor descriptors, which keep the bounds to themselves."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BLOCK_N, BLOCK_K])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    tiles_n = tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * tiles_n, PROGRAMS):
        row, column = tile // tiles_n * BLOCK_M, tile % tiles_n * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            left, right = a.load([row, step * BLOCK_K]), b.load([column, step * BLOCK_K])
            total = tl.dot(left, right.T, total)
        c.store([row, column], total.to(c_ptr.dtype.element_ty))


@pytest.mark.parametrize(
    "dtype", [pytest.param(torch.float32, marks=pytest.mark.long), torch.float16], ids=str
)
def test_persistent_matmul_with_descriptors(run, dtype):
    m, n, k = 50, 72, 40
    a, b = whole(m, k).to(dtype), whole(n, k, seed=1).to(dtype)
    blocks = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 16, "PROGRAMS": 3}
    out = Expected((a.float() @ b.float().T).to(dtype))
    run(descriptor_kernel, a_ptr=a, b_ptr=b, c_ptr=out, grid=(3,), M=m, N=n, K=k, **blocks)


@triton.jit
def grouped_kernel(
    a_ptrs,
    b_ptrs,
    c_ptrs,
    size_ptr,
    groups,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PROGRAMS: tl.constexpr,
):
    """Several products of different sizes; their addresses and sizes lie in memory."""
    tile = tl.program_id(0)
    before = 0
    for group in range(groups):
        M = tl.load(size_ptr + group * 3)
        N = tl.load(size_ptr + group * 3 + 1)
        K = tl.load(size_ptr + group * 3 + 2)
        tiles_n = tl.cdiv(N, BLOCK_N)
        tiles = tl.cdiv(M, BLOCK_M) * tiles_n
        while tile >= before and tile < before + tiles:
            a_ptr = tl.load(a_ptrs + group).to(tl.pointer_type(tl.float32))
            b_ptr = tl.load(b_ptrs + group).to(tl.pointer_type(tl.float32))
            c_ptr = tl.load(c_ptrs + group).to(tl.pointer_type(tl.float32))
            rows = (tile - before) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
            columns = (tile - before) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
            total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
            for step in range(tl.cdiv(K, BLOCK_K)):
                ks = step * BLOCK_K + tl.arange(0, BLOCK_K)
                a_mask = (rows[:, None] < M) & (ks[None, :] < K)
                b_mask = (ks[:, None] < K) & (columns[None, :] < N)
                a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=a_mask, other=0.0)
                b = tl.load(b_ptr + ks[:, None] * N + columns[None, :], mask=b_mask, other=0.0)
                total = tl.dot(a, b, total)
            c_mask = (rows[:, None] < M) & (columns[None, :] < N)
            tl.store(c_ptr + rows[:, None] * N + columns[None, :], total, mask=c_mask)
            tile += PROGRAMS
        before += tiles


@pytest.fixture
def _on_this_machine():
    driver = triton.runtime.driver
    before = driver._active
    triton_rvv.activate("host")
    yield
    driver._active = before


@pytest.mark.usefixtures("_on_this_machine")
def test_grouped_products():
    shapes = [(64, 32, 16), (33, 17, 40), (1, 100, 7)]
    a = [whole(m, k, seed=i) for i, (m, n, k) in enumerate(shapes)]
    b = [whole(k, n, seed=i + 9) for i, (m, n, k) in enumerate(shapes)]
    c = [torch.full((m, n), torch.nan) for m, n, k in shapes]
    addresses = [torch.tensor([x.data_ptr() for x in group]) for group in (a, b, c)]
    sizes = torch.tensor(shapes, dtype=torch.int32)
    blocks = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 16, "PROGRAMS": 4}
    grouped_kernel[(4,)](*addresses, sizes, len(shapes), **blocks)
    for left, right, product in zip(a, b, c, strict=True):
        assert torch.equal(product, left @ right)


@triton.jit
def asin_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, libdevice.asin(x), mask=at < n)


def test_a_function_of_libdevice(run):
    x = torch.linspace(-1, 1, 100)
    out = Expected(torch.asin(x.double()).float(), rtol=3e-7)
    run(asin_kernel, x_ptr=x, out_ptr=out, n=100, BLOCK=64, grid=(2,))
