"""Kernels whose loops change or read a line of numbers over and over, to see what keeping it costs.

All are as users write them; nothing was tuned on them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

DELTA = tl.constexpr(0x9E3779B9)


@triton.autotune([triton.Config({"BLOCK": b}) for b in (128, 256, 512)], key=[])
@triton.jit
def heat_rod(u_ptr, N, STEPS, share, BLOCK: tl.constexpr):
    """How heat spreads along rods: every step is a row behind the one before it."""
    rod = u_ptr + tl.program_id(0) * (STEPS + 1) * N
    at = tl.arange(0, BLOCK)
    mask = at < N
    for step in range(STEPS):
        before = rod + step * N + at
        here = tl.load(before, mask=mask, other=0.0)
        left = tl.load(before - 1, mask=mask & (at > 0), other=0.0)
        right = tl.load(before + 1, mask=at < N - 1, other=0.0)
        tl.store(before + N, here + share * (left - 2.0 * here + right), mask=mask)
        tl.debug_barrier()


def heat_rod_arguments(RODS=8, STEPS=30, N=100):
    u = torch.zeros(RODS, STEPS + 1, N)
    u[:, 0] = torch.rand(RODS, N)
    return {"u_ptr": u, "N": N, "STEPS": STEPS, "share": 0.2}


def heat_rod_grid(meta):
    return (8,)


def heat_rod_reference(u_ptr, STEPS, share):
    u = u_ptr.double()
    for step in range(STEPS):
        wide = torch.nn.functional.pad(u[:, step], (1, 1))
        u[:, step + 1] = u[:, step] + share * (wide[:, :-2] - 2 * u[:, step] + wide[:, 2:])
    return {"u_ptr": u}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (1024, 256, 64)], key=[])
@triton.jit
def lorenz_steps(x_ptr, y_ptr, z_ptr, N, step, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Lorenz's system of many starts, some steps further."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    y = tl.load(y_ptr + at, mask=mask, other=0.0)
    z = tl.load(z_ptr + at, mask=mask, other=0.0)
    for _ in range(STEPS):
        dx = 10.0 * (y - x)
        dy = x * (28.0 - z) - y
        dz = x * y - 2.6666667 * z
        x += step * dx
        y += step * dy
        z += step * dz
    tl.store(x_ptr + at, x, mask=mask)
    tl.store(y_ptr + at, y, mask=mask)
    tl.store(z_ptr + at, z, mask=mask)


def lorenz_steps_arguments(N=3000, STEPS=20):
    return {
        "x_ptr": torch.randn(N),
        "y_ptr": torch.randn(N),
        "z_ptr": 20 + torch.randn(N),
        "N": N,
        "step": 0.01,
        "STEPS": STEPS,
    }


def lorenz_steps_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def lorenz_steps_reference(x_ptr, y_ptr, z_ptr, step, STEPS):
    x, y, z = x_ptr.double(), y_ptr.double(), z_ptr.double()
    for _ in range(STEPS):
        x, y, z = (
            x + step * 10 * (y - x),
            y + step * (x * (28 - z) - y),
            z + step * (x * y - 2.6666667 * z),
        )
    return {"x_ptr": x, "y_ptr": y, "z_ptr": z}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (1024, 256, 64)], key=[])
@triton.jit
def xtea_encrypt(text_ptr, key_ptr, out_ptr, N, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    """XTEA of blocks of 64 bits, by a key of four words."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    a = tl.load(text_ptr + 2 * at, mask=mask, other=0).to(tl.uint32)
    b = tl.load(text_ptr + 2 * at + 1, mask=mask, other=0).to(tl.uint32)
    for turn in range(ROUNDS):
        before, after = tl.cast(turn, tl.uint32) * DELTA, tl.cast(turn + 1, tl.uint32) * DELTA
        one = tl.load(key_ptr + (before & 3)).to(tl.uint32)
        two = tl.load(key_ptr + ((after >> 11) & 3)).to(tl.uint32)
        a += (((b << 4) ^ (b >> 5)) + b) ^ (before + one)
        b += (((a << 4) ^ (a >> 5)) + a) ^ (after + two)
    tl.store(out_ptr + 2 * at, a.to(tl.int32), mask=mask)
    tl.store(out_ptr + 2 * at + 1, b.to(tl.int32), mask=mask)


def xtea_encrypt_arguments(N=3000, ROUNDS=32):
    words = torch.randint(-(2**31), 2**31, (2 * N + 4,), dtype=torch.int32)
    return {
        "text_ptr": words[4:].clone().reshape(N, 2),
        "key_ptr": words[:4].clone(),
        "out_ptr": torch.empty(N, 2, dtype=torch.int32),
        "N": N,
        "ROUNDS": ROUNDS,
    }


def xtea_encrypt_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def xtea_encrypt_reference(text_ptr, key_ptr, ROUNDS):
    full = 2**32 - 1
    a, b = (text_ptr.long() & full).T
    key = [k & full for k in key_ptr.tolist()]
    for turn in range(ROUNDS):
        before, after = turn * 0x9E3779B9 & full, (turn + 1) * 0x9E3779B9 & full
        a = (a + ((((b << 4) ^ (b >> 5)) + b) ^ (before + key[before & 3] & full))) & full
        b = (b + ((((a << 4) ^ (a >> 5)) + a) ^ (after + key[after >> 11 & 3] & full))) & full
    both = torch.stack([a, b], 1)
    return {"out_ptr": torch.where(both < 2**31, both, both - 2**32)}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (256, 128, 64)], key=[])
@triton.jit
def crc16_of_frames(x_ptr, out_ptr, N, LENGTH, BLOCK: tl.constexpr):
    """CRC-16 of frames of bytes, as CCITT has it, the upper bit first."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    crc = tl.full((BLOCK,), 0xFFFF, dtype=tl.int32)
    for place in range(LENGTH):
        crc ^= tl.load(x_ptr + place * N + at, mask=mask, other=0).to(tl.int32) << 8
        for _ in tl.static_range(8):
            crc = (crc << 1) ^ tl.where((crc & 0x8000) != 0, 0x1021, 0)
    tl.store(out_ptr + at, (crc & 0xFFFF).to(tl.int32), mask=mask)


def crc16_of_frames_arguments(N=2000, LENGTH=20):
    return {
        "x_ptr": torch.randint(0, 256, (LENGTH, N), dtype=torch.uint8),
        "out_ptr": torch.empty(N, dtype=torch.int32),
        "N": N,
        "LENGTH": LENGTH,
    }


def crc16_of_frames_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def crc16_of_frames_reference(x_ptr, LENGTH):
    crc = torch.full_like(x_ptr[0], 0xFF).long() * 257
    for place in range(LENGTH):
        crc ^= x_ptr[place].long() << 8
        for _ in range(8):
            crc = ((crc << 1) ^ torch.where(crc & 0x8000 != 0, 0x1021, 0)) & 0xFFFF
    return {"out_ptr": crc}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (512, 256)], key=[])
@triton.jit
def mirror_rows(x_ptr, out_ptr, W, BLOCK: tl.constexpr):
    """Each row of a picture, and its mirror image beside it."""
    row, column = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < W
    x = tl.load(x_ptr + row * W + column, mask=mask)
    tl.store(out_ptr + row * 2 * W + column, x, mask=mask)
    tl.store(out_ptr + row * 2 * W + 2 * W - 1 - column, x, mask=mask)


def mirror_rows_arguments(H=60, W=300):
    x = torch.randint(0, 256, (H, W), dtype=torch.uint8)
    return {"x_ptr": x, "out_ptr": torch.empty(H, 2 * W, dtype=torch.uint8), "W": W}


def mirror_rows_grid(meta):
    return (meta["H"], triton.cdiv(meta["W"], meta["BLOCK"]))


def mirror_rows_reference(x_ptr):
    return {"out_ptr": torch.cat([x_ptr, x_ptr.flip(1)], dim=1)}


@triton.autotune(
    [triton.Config({"BM": m, "BN": n}) for m, n in ((1, 512), (2, 256), (4, 128), (8, 64))], key=[]
)
@triton.jit
def batch_norm_apply(
    x_ptr,
    mean_ptr,
    inverse_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    M,
    N,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """All rows of some columns, of which each has a mean and an inverse deviation."""
    column = tl.program_id(0) * BN + tl.arange(0, BN)
    inside = column < N
    scale = tl.load(weight_ptr + column, mask=inside) * tl.load(inverse_ptr + column, mask=inside)
    mean = tl.load(mean_ptr + column, mask=inside)
    shift = tl.load(bias_ptr + column, mask=inside) - mean * scale
    for first in range(0, M, BM):
        row = first + tl.arange(0, BM)
        at = row[:, None] * N + column[None, :]
        mask = (row < M)[:, None] & inside[None, :]
        x = tl.load(x_ptr + at, mask=mask)
        tl.store(out_ptr + at, x * scale[None, :] + shift[None, :], mask=mask)


def batch_norm_apply_arguments(M=96, N=700):
    return {
        "x_ptr": torch.randn(M, N),
        "mean_ptr": torch.randn(N),
        "inverse_ptr": torch.rand(N) + 0.5,
        "weight_ptr": torch.randn(N),
        "bias_ptr": torch.randn(N),
        "out_ptr": torch.empty(M, N),
        "M": M,
        "N": N,
    }


def batch_norm_apply_grid(meta):
    return (triton.cdiv(meta["N"], meta["BN"]),)


def batch_norm_apply_reference(x_ptr, mean_ptr, inverse_ptr, weight_ptr, bias_ptr):
    return {"out_ptr": (x_ptr - mean_ptr) * inverse_ptr * weight_ptr + bias_ptr}
