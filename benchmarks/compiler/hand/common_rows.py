"""Kernels whose rows exchange halves, go on from their other end, or begin at columns of their own.

All are as users write them. Of these, `mirrored_energy` and `circulant_rows` were held out.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": b}) for r, b in ((4, 128), (16, 128), (1, 128))], key=[]
)
@triton.jit
def rope_half_choice(
    x_ptr, cos_ptr, sin_ptr, out_ptr, TOKENS, HEADS, SIZE, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """Rotary embedding, by halves of each head, with one table of angles for all heads."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, BLOCK)
    half = SIZE // 2
    mask = (row < TOKENS * HEADS)[:, None] & (d < SIZE)[None, :]
    partner = tl.where(d < half, d + half, d - half)
    sign = tl.where(d < half, -1.0, 1.0)
    x = tl.load(x_ptr + row[:, None] * SIZE + d[None, :], mask=mask, other=0.0)
    other = tl.load(x_ptr + row[:, None] * SIZE + partner[None, :], mask=mask, other=0.0)
    token = row // HEADS
    cos = tl.load(cos_ptr + token[:, None] * SIZE + d[None, :], mask=mask, other=0.0)
    sin = tl.load(sin_ptr + token[:, None] * SIZE + d[None, :], mask=mask, other=0.0)
    y = x * cos + other * sign[None, :] * sin
    tl.store(out_ptr + row[:, None] * SIZE + d[None, :], y, mask=mask)


def rope_half_choice_arguments(TOKENS=60, HEADS=5, SIZE=96):
    return {
        "x_ptr": torch.randn(TOKENS, HEADS, SIZE),
        "cos_ptr": torch.randn(TOKENS, SIZE),
        "sin_ptr": torch.randn(TOKENS, SIZE),
        "out_ptr": torch.empty(TOKENS, HEADS, SIZE),
        "TOKENS": TOKENS,
        "HEADS": HEADS,
        "SIZE": SIZE,
    }


def rope_half_choice_grid(meta):
    return (triton.cdiv(meta["TOKENS"] * meta["HEADS"], meta["ROWS"]),)


def rope_half_choice_reference(x_ptr, cos_ptr, sin_ptr, SIZE):
    x, half = x_ptr.double(), SIZE // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return {"out_ptr": x * cos_ptr.double()[:, None] + turned * sin_ptr.double()[:, None]}


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": b}) for r, b in ((4, 128), (1, 256), (8, 64))], key=[]
)
@triton.jit
def fft_shift_rows(x_ptr, weight_ptr, out_ptr, H, W, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """A spectrum with its middle in the middle, each row by a weight of its own."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (row < H)[:, None] & (at < W)[None, :]
    source_row = (row + (H + 1) // 2) % H
    source = (at + (W + 1) // 2) % W
    weight = tl.load(weight_ptr + row, mask=row < H, other=0.0)
    x = tl.load(x_ptr + source_row[:, None] * W + source[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + row[:, None] * W + at[None, :], x * weight[:, None], mask=mask)


def fft_shift_rows_arguments(H=100, W=300):
    return {
        "x_ptr": torch.randn(H, W),
        "weight_ptr": torch.rand(H),
        "out_ptr": torch.empty(H, W),
        "H": H,
        "W": W,
    }


def fft_shift_rows_grid(meta):
    return (triton.cdiv(meta["H"], meta["ROWS"]), triton.cdiv(meta["W"], meta["BLOCK"]))


def fft_shift_rows_reference(x_ptr, weight_ptr):
    return {"out_ptr": torch.fft.fftshift(x_ptr.double()) * weight_ptr.double()[:, None]}


@triton.autotune(
    [triton.Config({"FRAMES": r, "BLOCK": b}) for r, b in ((8, 256), (4, 256), (1, 256))], key=[]
)
@triton.jit
def frames_wrapped(
    x_ptr, window_ptr, out_ptr, N, COUNT, SIZE, HOP, FRAMES: tl.constexpr, BLOCK: tl.constexpr
):
    """Frames of one turn of a machine, which begins again behind its end."""
    frame = tl.program_id(0) * FRAMES + tl.arange(0, FRAMES)
    i = tl.arange(0, BLOCK)
    mask = (frame < COUNT)[:, None] & (i < SIZE)[None, :]
    at = frame[:, None] * HOP + i[None, :]
    at = tl.where(at >= N, at - N, at)
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    window = tl.load(window_ptr + i, mask=i < SIZE, other=0.0)
    tl.store(out_ptr + frame[:, None] * SIZE + i[None, :], x * window[None, :], mask=mask)


def frames_wrapped_arguments(COUNT=120, SIZE=200, HOP=50):
    return {
        "x_ptr": torch.randn(COUNT * HOP),
        "window_ptr": torch.hann_window(SIZE),
        "out_ptr": torch.empty(COUNT, SIZE),
        "N": COUNT * HOP,
        "COUNT": COUNT,
        "SIZE": SIZE,
        "HOP": HOP,
    }


def frames_wrapped_grid(meta):
    return (triton.cdiv(meta["COUNT"], meta["FRAMES"]),)


def frames_wrapped_reference(x_ptr, window_ptr, SIZE, HOP):
    x = x_ptr.double()
    frames = torch.cat([x, x[: SIZE - HOP]]).unfold(0, SIZE, HOP)
    return {"out_ptr": frames * window_ptr.double()}


@triton.autotune(
    [triton.Config({"FRAMES": r, "BLOCK": b}) for r, b in ((8, 128), (4, 128), (1, 128))], key=[]
)
@triton.jit
def mirrored_energy(x_ptr, out_ptr, N, COUNT, SIZE, HOP, FRAMES: tl.constexpr, BLOCK: tl.constexpr):
    """The energy of each frame of a pulse signal, in 16 bits, mirrored at both ends."""
    frame = tl.program_id(0) * FRAMES + tl.arange(0, FRAMES)
    i = tl.arange(0, BLOCK)
    mask = (frame < COUNT)[:, None] & (i < SIZE)[None, :]
    at = tl.abs(frame[:, None] * HOP + i[None, :] - SIZE // 2)
    at = tl.minimum(at, 2 * (N - 1) - at)
    x = tl.load(x_ptr + at, mask=mask, other=0).to(tl.float32)
    tl.store(out_ptr + frame, tl.sum(x * x, axis=1), mask=frame < COUNT)


def mirrored_energy_arguments(N=12000, SIZE=100, HOP=40):
    count = N // HOP + 1
    return {
        "x_ptr": torch.randint(-3000, 3000, (N,), dtype=torch.int16),
        "out_ptr": torch.empty(count),
        "N": N,
        "COUNT": count,
        "SIZE": SIZE,
        "HOP": HOP,
    }


def mirrored_energy_grid(meta):
    return (triton.cdiv(meta["COUNT"], meta["FRAMES"]),)


def mirrored_energy_reference(x_ptr, N, SIZE, HOP, COUNT):
    at = (torch.arange(COUNT)[:, None] * HOP + torch.arange(SIZE) - SIZE // 2).abs()
    at = torch.minimum(at, 2 * (N - 1) - at)
    return {"out_ptr": x_ptr.double()[at].square().sum(1)}


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": b}) for r, b in ((4, 128), (1, 256), (8, 256))], key=[]
)
@triton.jit
def roll_by_row(x_ptr, shift_ptr, out_ptr, H, W, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Each row turned by a shift of its own, as traces are that are lined up."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (row < H)[:, None] & (at < W)[None, :]
    shift = tl.load(shift_ptr + row, mask=row < H, other=0)
    source = (at[None, :] + shift[:, None]) % W
    x = tl.load(x_ptr + row[:, None] * W + source, mask=mask, other=0.0)
    tl.store(out_ptr + row[:, None] * W + at[None, :], x, mask=mask)


def roll_by_row_arguments(H=100, W=300):
    return {
        "x_ptr": torch.randn(H, W),
        "shift_ptr": torch.randint(0, W, (H,), dtype=torch.int32),
        "out_ptr": torch.empty(H, W),
        "H": H,
        "W": W,
    }


def roll_by_row_grid(meta):
    return (triton.cdiv(meta["H"], meta["ROWS"]), triton.cdiv(meta["W"], meta["BLOCK"]))


def roll_by_row_reference(x_ptr, shift_ptr, W):
    at = (torch.arange(W)[None, :] + shift_ptr.long()[:, None]) % W
    return {"out_ptr": torch.gather(x_ptr, 1, at)}


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": b}) for r, b in ((4, 128), (8, 64), (1, 256))], key=[]
)
@triton.jit
def circulant_rows(c_ptr, x_ptr, out_ptr, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """A circulant matrix, of which only the first column is kept, times a vector."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        mask = (i < N)[:, None] & (j < N)[None, :]
        at = i[:, None] + j[None, :]
        at = tl.where(at < N, at, at - N)
        c = tl.load(c_ptr + at, mask=mask, other=0.0)
        x = tl.load(x_ptr + j, mask=j < N, other=0.0)
        total += c * x[None, :]
    tl.store(out_ptr + i, tl.sum(total, axis=1), mask=i < N)


def circulant_rows_arguments(N=400):
    return {
        "c_ptr": torch.randn(N),
        "x_ptr": torch.randn(N),
        "out_ptr": torch.empty(N),
        "N": N,
    }


def circulant_rows_grid(meta):
    return (triton.cdiv(meta["N"], meta["ROWS"]),)


def circulant_rows_reference(c_ptr, x_ptr, N):
    at = (torch.arange(N)[:, None] + torch.arange(N)) % N
    return {"out_ptr": c_ptr.double()[at] @ x_ptr.double()}
