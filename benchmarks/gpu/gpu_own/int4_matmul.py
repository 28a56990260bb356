"""A product with weights of four bits, eight in a word, and a scale for each 128 of K."""

import torch
import triton
import triton.language as tl

GROUP = 128


@triton.autotune(
    [
        triton.Config({"BM": 16, "BN": n, "BK": k}, num_warps=warps, num_stages=stages)
        for n in (32, 64, 128)
        for k in (64, 128)
        for warps in (2, 4, 8)
        for stages in (2, 4)
    ],
    key=["M", "N", "K"],
)
@triton.jit
def int4_matmul_kernel(
    x_ptr,
    packed_ptr,
    scale_ptr,
    out_ptr,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    SCALED: tl.constexpr,
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    shift = (depth % 8 * 4)[:, None]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + depth
        x = tl.load(x_ptr + rows[:, None] * K + k[None, :], mask=(rows < M)[:, None], other=0.0)
        words = tl.load(packed_ptr + (k // 8)[:, None] * N + columns[None, :])
        scale = tl.load(scale_ptr + start // SCALED * N + columns)
        weight = ((words >> shift) & 15) - 8
        total = tl.dot(x, (weight.to(x.dtype) * scale[None, :]).to(x.dtype), total)
    out_at = out_ptr + rows[:, None] * N + columns[None, :]
    tl.store(out_at, total.to(out_ptr.dtype.element_ty), mask=(rows < M)[:, None])


def arguments(M=16, N=8192, K=8192, dtype=torch.float16):
    return {
        "x_ptr": torch.randn(M, K).to(dtype),
        "packed_ptr": torch.randint(-(2**31), 2**31 - 1, (K // 8, N), dtype=torch.int32),
        "scale_ptr": (torch.rand(K // GROUP, N) / K**0.5).to(dtype),
        "out_ptr": torch.empty(M, N, dtype=dtype),
        "M": M,
        "N": N,
        "K": K,
        "SCALED": GROUP,
    }


def grid(meta):
    return (triton.cdiv(meta["M"], meta["BM"]), meta["N"] // meta["BN"])


def _weights(packed, scale):
    shifts = torch.arange(0, 32, 4, device=packed.device)
    fours = (packed[:, None, :] >> shifts[None, :, None]) & 15
    weights = (fours - 8).reshape(-1, packed.shape[1])
    return weights.to(scale.dtype) * scale.repeat_interleave(GROUP, dim=0)


def reference(x_ptr, packed_ptr, scale_ptr):
    return {"out_ptr": x_ptr.float() @ _weights(packed_ptr, scale_ptr).float()}


def prepared_for_torch(packed_ptr, scale_ptr):
    """torch has no product with such weights: it gets them in sixteen bits."""
    return {"weights": _weights(packed_ptr, scale_ptr)}


def with_torch(x_ptr, weights):
    return x_ptr @ weights
