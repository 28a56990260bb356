"""A product as Triton's tutorials write it today: descriptors that the host makes, with blocks that
each configuration's pre_hook sets."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def set_blocks(nargs):
    m, n, k = nargs["BLOCK_M"], nargs["BLOCK_N"], nargs["BLOCK_K"]
    nargs["a_desc"].block_shape = [m, k]
    nargs["b_desc"].block_shape = [n, k]
    nargs["c_desc"].block_shape = [m, n]


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": 32, "PROGRAMS": 4},
            num_warps=4,
            num_stages=stages,
            pre_hook=set_blocks,
        )
        for m, n, stages in ((64, 64, 3), (64, 32, 2), (16, 64, 2))
    ],
    key=["M", "N", "K"],
)
@triton.jit
def described_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PROGRAMS: tl.constexpr,
):
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True):
        row, column = tile // tiles_n * BLOCK_M, tile % tiles_n * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([row, step * BLOCK_K])
            b = b_desc.load([column, step * BLOCK_K])
            total = tl.dot(a, b.T, total, input_precision="ieee")
        c_desc.store([row, column], total.to(c_desc.dtype))


def arguments(M=100, N=72, K=80, dtype=torch.float16):
    a, b = torch.randn(M, K).to(dtype), torch.randn(N, K).to(dtype)
    tensors = {"a_desc": a, "b_desc": b, "c_desc": torch.empty(M, N, dtype=dtype)}
    dummy = [1, 16]
    return {
        **{name: TensorDescriptor.from_tensor(t, dummy) for name, t in tensors.items()},
        "M": M,
        "N": N,
        "K": K,
    }


def grid(meta):
    tiles = triton.cdiv(meta["M"], meta["BLOCK_M"]) * triton.cdiv(meta["N"], meta["BLOCK_N"])
    return (min(tiles, meta["PROGRAMS"]),)


def reference(a_desc, b_desc):
    return {"c_desc": a_desc.float() @ b_desc.float().T}
