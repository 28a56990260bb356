"""Kernels whose weights share scales in groups along a row, as users write them."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": b}) for r, b in ((4, 64), (8, 64), (4, 128))], key=[]
)
@triton.jit
def int4_matvec(
    w_ptr, scale_ptr, x_ptr, y_ptr, K, GROUP: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """A matrix of 4-bit weights times a vector; a byte has two weights half a row apart."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    half, groups = K // 2, K // GROUP
    acc = tl.zeros((ROWS,), tl.float32)
    for start in range(0, half, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = (at < half)[None, :]
        pair = tl.load(w_ptr + rows[:, None] * half + at[None, :], mask=mask, other=0)
        places = rows[:, None] * groups + (at // GROUP)[None, :]
        low = tl.load(scale_ptr + places, mask=mask, other=0.0)
        high = tl.load(scale_ptr + places + groups // 2, mask=mask, other=0.0)
        x = tl.load(x_ptr + at, mask=at < half, other=0.0)[None, :]
        acc += tl.sum(((pair & 15).to(tl.float32) - 8) * low * x, axis=1)
        x = tl.load(x_ptr + half + at, mask=at < half, other=0.0)[None, :]
        acc += tl.sum(((pair >> 4).to(tl.float32) - 8) * high * x, axis=1)
    tl.store(y_ptr + rows, acc)


def int4_matvec_arguments(M=64, K=512, GROUP=64):
    return {
        "w_ptr": torch.randint(0, 256, (M, K // 2), dtype=torch.uint8),
        "scale_ptr": torch.rand(M, K // GROUP),
        "x_ptr": torch.randn(K),
        "y_ptr": torch.empty(M),
        "K": K,
        "GROUP": GROUP,
    }


def int4_matvec_grid(meta):
    return (meta["M"] // meta["ROWS"],)


def int4_matvec_reference(w_ptr, scale_ptr, x_ptr, GROUP):
    weights = torch.cat([w_ptr & 15, w_ptr >> 4], 1).double() - 8
    scales = scale_ptr.double().repeat_interleave(GROUP, 1)
    return {"y_ptr": (weights * scales) @ x_ptr.double()}


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": b}) for r, b in ((4, 64), (8, 64), (4, 128))], key=[]
)
@triton.jit
def dequantize_tile(
    q_ptr, scale_ptr, zero_ptr, y_ptr, M, N,
    GROUP: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Bytes minus the zero of their group, times its scale; a block has several rows."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (rows < M)[:, None] & (at < N)[None, :]
    q = tl.load(q_ptr + rows[:, None] * N + at[None, :], mask=mask, other=0).to(tl.float32)
    places = rows[:, None] * (N // GROUP) + (at // GROUP)[None, :]
    scale = tl.load(scale_ptr + places, mask=mask, other=0.0)
    zero = tl.load(zero_ptr + places, mask=mask, other=0.0)
    tl.store(y_ptr + rows[:, None] * N + at[None, :], (q - zero) * scale, mask=mask)


def dequantize_tile_arguments(M=48, N=512, GROUP=64):
    return {
        "q_ptr": torch.randint(-128, 128, (M, N), dtype=torch.int8),
        "scale_ptr": torch.rand(M, N // GROUP),
        "zero_ptr": torch.randn(M, N // GROUP),
        "y_ptr": torch.empty(M, N),
        "M": M,
        "N": N,
        "GROUP": GROUP,
    }


def dequantize_tile_grid(meta):
    return (triton.cdiv(meta["M"], meta["ROWS"]), triton.cdiv(meta["N"], meta["BLOCK"]))


def dequantize_tile_reference(q_ptr, scale_ptr, zero_ptr, GROUP):
    scale, zero = (each.repeat_interleave(GROUP, 1) for each in (scale_ptr, zero_ptr))
    return {"y_ptr": (q_ptr.double() - zero) * scale}
