"""Products of groups of rows, each group with a matrix of its own; programs walk all tiles."""

import itertools

import torch
import triton
import triton.language as tl


@triton.autotune(
    [
        triton.Config({"BM": m, "BN": n, "BK": k, "PROGRAMS": 132}, num_warps=w, num_stages=s)
        for m in (64, 128)
        for n in (128, 256)
        for k in (32, 64)
        for w in (4, 8)
        for s in (3, 4)
    ],
    key=["groups", "N", "K"],
)
@triton.jit
def grouped_matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    offsets_ptr,
    groups,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    PROGRAMS: tl.constexpr,
):
    tile = tl.program_id(0)
    before = 0
    tiles_n = tl.cdiv(N, BN)
    for group in range(groups):
        first = tl.load(offsets_ptr + group)
        height = tl.load(offsets_ptr + group + 1) - first
        tiles = tl.cdiv(height, BM) * tiles_n
        while tile >= before and tile < before + tiles:
            inside = tile - before
            rows = inside // tiles_n * BM + tl.arange(0, BM)
            columns = inside % tiles_n * BN + tl.arange(0, BN)
            depth = tl.arange(0, BK)
            a_at = a_ptr + (first + rows % height)[:, None] * K + depth[None, :]
            b_at = b_ptr + group * N * K + depth[:, None] * N + (columns % N)[None, :]
            total = tl.zeros((BM, BN), dtype=tl.float32)
            for _ in range(0, tl.cdiv(K, BK)):
                total = tl.dot(tl.load(a_at), tl.load(b_at), total)
                a_at += BK
                b_at += BK * N
            mask = (rows < height)[:, None] & (columns < N)[None, :]
            c_at = c_ptr + (first + rows)[:, None] * N + columns[None, :]
            tl.store(c_at, total.to(c_ptr.dtype.element_ty), mask=mask)
            tile += PROGRAMS
        before += tiles


def arguments(groups=8, rows=4096, N=4096, K=2048, dtype=torch.bfloat16):
    sizes = torch.multinomial(torch.ones(groups), rows, replacement=True).bincount(minlength=groups)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)])
    return {
        "a_ptr": torch.randn(rows, K).to(dtype),
        "b_ptr": (torch.randn(groups, K, N) / K**0.5).to(dtype),
        "c_ptr": torch.empty(rows, N, dtype=dtype),
        "offsets_ptr": offsets.int(),
        "groups": groups,
        "N": N,
        "K": K,
    }


def grid(meta):
    return (meta["PROGRAMS"],)


def reference(a_ptr, b_ptr, c_ptr, offsets_ptr):
    out = torch.empty(c_ptr.shape)
    edges = offsets_ptr.tolist()
    for group, (first, end) in enumerate(itertools.pairwise(edges)):
        out[first:end] = a_ptr[first:end].float() @ b_ptr[group].float()
    return {"c_ptr": out}


def with_torch(a_ptr, b_ptr, offsets_ptr):
    return torch._grouped_mm(a_ptr, b_ptr, offs=offsets_ptr[1:])
