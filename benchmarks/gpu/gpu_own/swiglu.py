"""A gated layer in one kernel: silu(x @ gate) * (x @ up)."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [
        triton.Config({"BM": m, "BN": n, "BK": k, "GROUP": 8}, num_warps=warps, num_stages=stages)
        for m in (64, 128)
        for n in (32, 64, 128)
        for k in (32, 64)
        for warps in (4, 8)
        for stages in (3, 4)
    ],
    key=["M", "N", "K"],
)
@triton.jit
def swiglu_kernel(
    x_ptr,
    gate_ptr,
    up_ptr,
    out_ptr,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
):
    program = tl.program_id(0)
    in_group = GROUP * tl.cdiv(N, BN)
    first = program // in_group * GROUP
    height = min(tl.cdiv(M, BM) - first, GROUP)
    rows = (first + program % in_group % height) * BM + tl.arange(0, BM)
    columns = program % in_group // height * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    x_at = x_ptr + (rows % M)[:, None] * K + depth[None, :]
    w_at = depth[:, None] * N + (columns % N)[None, :]
    gate = tl.zeros((BM, BN), dtype=tl.float32)
    up = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = tl.load(x_at, mask=depth[None, :] < K - start, other=0.0)
        inside = depth[:, None] < K - start
        gate = tl.dot(x, tl.load(gate_ptr + w_at, mask=inside, other=0.0), gate)
        up = tl.dot(x, tl.load(up_ptr + w_at, mask=inside, other=0.0), up)
        x_at += BK
        w_at += BK * N
    out = gate * tl.sigmoid(gate) * up
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    out_at = out_ptr + rows[:, None] * N + columns[None, :]
    tl.store(out_at, out.to(out_ptr.dtype.element_ty), mask=mask)


def arguments(M=2048, N=5504, K=2048, dtype=torch.float16):
    return {
        "x_ptr": torch.randn(M, K).to(dtype),
        "gate_ptr": (torch.randn(K, N) / K**0.5).to(dtype),
        "up_ptr": (torch.randn(K, N) / K**0.5).to(dtype),
        "out_ptr": torch.empty(M, N, dtype=dtype),
        "M": M,
        "N": N,
        "K": K,
    }


def grid(meta):
    return (triton.cdiv(meta["M"], meta["BM"]) * triton.cdiv(meta["N"], meta["BN"]),)


def reference(x_ptr, gate_ptr, up_ptr):
    x = x_ptr.float()
    return {"out_ptr": torch.nn.functional.silu(x @ gate_ptr.float()) * (x @ up_ptr.float())}


def with_torch(x_ptr, gate_ptr, up_ptr):
    return torch.nn.functional.silu(x_ptr @ gate_ptr) * (x_ptr @ up_ptr)
