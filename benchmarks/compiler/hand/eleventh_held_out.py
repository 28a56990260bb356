"""The other six kernels of the eleventh draw, that `eleventh_held_out.c` has in intrinsics.

The names, and the seed that drew them, are in `eleventh_draw.py`. Outputs of both sides were
checked when these were written; no cycles of either side were looked at.
"""

import math

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 64)], key=[])
@triton.jit
def channel_shuffle(x_ptr, y_ptr, N, CHANNELS, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """ShuffleNet's turn between convolutions in groups, with the channels of a pixel in a row."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    channel = at % CHANNELS
    source = (channel % GROUPS) * (CHANNELS // GROUPS) + channel // GROUPS
    x = tl.load(x_ptr + (at - channel) + source, mask=mask, other=0.0)
    tl.store(y_ptr + at, x, mask=mask)


def channel_shuffle_arguments(PIXELS=80, CHANNELS=240, GROUPS=3):
    return {
        "x_ptr": torch.randn(PIXELS, CHANNELS),
        "y_ptr": torch.empty(PIXELS, CHANNELS),
        "N": PIXELS * CHANNELS,
        "CHANNELS": CHANNELS,
        "GROUPS": GROUPS,
    }


def channel_shuffle_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def channel_shuffle_reference(x_ptr, CHANNELS, GROUPS):
    parts = x_ptr.reshape(-1, GROUPS, CHANNELS // GROUPS)
    return {"y_ptr": parts.transpose(1, 2).reshape(x_ptr.shape)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 128, 256)], key=[])
@triton.jit
def conv_transpose1d(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    INPUTS,
    OUTPUTS,
    LENGTH,
    OUT_LENGTH,
    TAPS: tl.constexpr,
    STRIDE: tl.constexpr,
    PAD: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The convolution that makes sound longer in vocoders, each output from what reaches it."""
    out = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < OUT_LENGTH
    total = tl.zeros((BLOCK,), dtype=tl.float32) + tl.load(bias_ptr + out)
    for channel in range(INPUTS):
        for tap in tl.static_range(TAPS):
            moved = at + PAD - tap
            source = moved // STRIDE
            reaches = (moved >= 0) & (moved % STRIDE == 0) & (source < LENGTH)
            x = tl.load(x_ptr + channel * LENGTH + source, mask=mask & reaches, other=0.0)
            total += x * tl.load(weight_ptr + (channel * OUTPUTS + out) * TAPS + tap)
    tl.store(y_ptr + out * OUT_LENGTH + at, total, mask=mask)


def conv_transpose1d_arguments(INPUTS=20, OUTPUTS=16, LENGTH=110, TAPS=4, STRIDE=2, PAD=1):
    out_length = (LENGTH - 1) * STRIDE - 2 * PAD + TAPS
    return {
        "x_ptr": torch.randn(INPUTS, LENGTH),
        "weight_ptr": torch.randn(INPUTS, OUTPUTS, TAPS),
        "bias_ptr": torch.randn(OUTPUTS),
        "y_ptr": torch.empty(OUTPUTS, out_length),
        "INPUTS": INPUTS,
        "OUTPUTS": OUTPUTS,
        "LENGTH": LENGTH,
        "OUT_LENGTH": out_length,
        "TAPS": TAPS,
        "STRIDE": STRIDE,
        "PAD": PAD,
    }


def conv_transpose1d_grid(meta):
    return (meta["OUTPUTS"], triton.cdiv(meta["OUT_LENGTH"], meta["BLOCK"]))


def conv_transpose1d_reference(x_ptr, weight_ptr, bias_ptr, STRIDE, PAD):
    x, weight, bias = (each.double() for each in (x_ptr, weight_ptr, bias_ptr))
    y = torch.nn.functional.conv_transpose1d(x, weight, bias, stride=STRIDE, padding=PAD)
    return {"y_ptr": y}


@triton.autotune(
    [triton.Config({"BLOCK": i, "OTHERS": j}) for i, j in ((16, 16), (64, 4), (4, 64))], key=[]
)
@triton.jit
def sph_density(
    x_ptr,
    y_ptr,
    z_ptr,
    mass_ptr,
    density_ptr,
    N,
    radius,
    scale,
    BLOCK: tl.constexpr,
    OTHERS: tl.constexpr,
):
    """The density of a fluid at each particle, from all within a radius, by the kernel poly6."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    y = tl.load(y_ptr + at, mask=mask, other=0.0)
    z = tl.load(z_ptr + at, mask=mask, other=0.0)
    density = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, OTHERS):
        other = start + tl.arange(0, OTHERS)
        exists = other < N
        dx = x[:, None] - tl.load(x_ptr + other, mask=exists, other=0.0)[None, :]
        dy = y[:, None] - tl.load(y_ptr + other, mask=exists, other=0.0)[None, :]
        dz = z[:, None] - tl.load(z_ptr + other, mask=exists, other=0.0)[None, :]
        mass = tl.load(mass_ptr + other, mask=exists, other=0.0)
        near = tl.maximum(radius * radius - (dx * dx + dy * dy + dz * dz), 0.0)
        density += tl.sum(mass[None, :] * near * near * near, axis=1)
    tl.store(density_ptr + at, density * scale, mask=mask)


def sph_density_arguments(N=170):
    radius = 0.5
    return {
        "x_ptr": torch.rand(N),
        "y_ptr": torch.rand(N),
        "z_ptr": torch.rand(N),
        "mass_ptr": 0.5 + torch.rand(N),
        "density_ptr": torch.empty(N),
        "N": N,
        "radius": radius,
        "scale": 315 / (64 * math.pi * radius**9),
    }


def sph_density_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def sph_density_reference(x_ptr, y_ptr, z_ptr, mass_ptr, radius, scale):
    places = torch.stack([x_ptr, y_ptr, z_ptr], 1).double()
    squares = (places[:, None] - places[None, :]).square().sum(2)
    near = (radius**2 - squares).clamp_min(0) ** 3
    return {"density_ptr": near @ mass_ptr.double() * scale}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 2, 4)], key=[])
@triton.jit
def gumbel_softmax(
    logits_ptr,
    noise_ptr,
    y_ptr,
    M,
    N,
    temperature,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Soft samples of classes: a softmax of logits with noise, which was uniform before."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    mask = (row < M) & (column < N)
    logits = tl.load(logits_ptr + row * N + column, mask=mask, other=0.0)
    noise = tl.load(noise_ptr + row * N + column, mask=mask, other=0.5)
    gumbel = -tl.log(-tl.log(noise + 1e-20) + 1e-20)
    scores = tl.where(mask, (logits + gumbel) / temperature, float("-inf"))
    scores -= tl.max(scores, axis=1)[:, None]
    shares = tl.exp(scores)
    y = shares / tl.sum(shares, axis=1)[:, None]
    tl.store(y_ptr + row * N + column, y, mask=mask)


def gumbel_softmax_arguments(M=30, N=150):
    return {
        "logits_ptr": 2 * torch.randn(M, N),
        "noise_ptr": torch.rand(M, N),
        "y_ptr": torch.empty(M, N),
        "M": M,
        "N": N,
        "temperature": 0.75,
        "BLOCK": triton.next_power_of_2(N),
    }


def gumbel_softmax_grid(meta):
    return (triton.cdiv(meta["M"], meta["ROWS"]),)


def gumbel_softmax_reference(logits_ptr, noise_ptr, temperature):
    gumbel = -torch.log(-torch.log(noise_ptr.double() + 1e-20) + 1e-20)
    return {"y_ptr": torch.softmax((logits_ptr.double() + gumbel) / temperature, 1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 32, 16)], key=[])
@triton.jit
def comb_filter_bank(x_ptr, delay_ptr, gain_ptr, y_ptr, energy_ptr, STEPS, BLOCK: tl.constexpr):
    """Combs with feedback, that ring where a rhythm has their period; delays are 64 and longer."""
    comb = tl.program_id(0)
    delay = tl.load(delay_ptr + comb)
    gain = tl.load(gain_ptr + comb)
    y = y_ptr + comb * STEPS
    energy = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, STEPS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < STEPS
        x = tl.load(x_ptr + at, mask=mask, other=0.0)
        before = tl.load(y + at - delay, mask=mask & (at >= delay), other=0.0)
        now = (1.0 - gain) * x + gain * before
        tl.store(y + at, now, mask=mask)
        energy += now * now
        tl.debug_barrier()
    tl.store(energy_ptr + comb, tl.sum(energy, axis=0) / STEPS)


def comb_filter_bank_arguments(COMBS=30, STEPS=700):
    delays = torch.randint(64, 240, (COMBS,), dtype=torch.int32)
    return {
        "x_ptr": torch.randn(STEPS),
        "delay_ptr": delays,
        "gain_ptr": 0.5 ** (delays / 400),
        "y_ptr": torch.empty(COMBS, STEPS),
        "energy_ptr": torch.empty(COMBS),
        "STEPS": STEPS,
    }


def comb_filter_bank_grid(meta):
    return (meta["COMBS"],)


def comb_filter_bank_reference(x_ptr, delay_ptr, gain_ptr):
    gains = gain_ptr.double()
    rows = (1 - gains)[:, None] * x_ptr.double()
    for row, delay, gain in zip(rows, delay_ptr.tolist(), gains, strict=True):
        for step in range(delay, len(row)):
            row[step] += gain * row[step - delay]
    return {"y_ptr": rows, "energy_ptr": rows.square().mean(1)}


@triton.autotune([triton.Config({"PLANES": planes}) for planes in (1, 2, 4)], key=[])
@triton.jit
def adaptive_avg_pool(
    x_ptr,
    y_ptr,
    C,
    H,
    W,
    OUT_H,
    OUT_W,
    COLUMNS: tl.constexpr,
    OUT_COLUMNS: tl.constexpr,
    PLANES: tl.constexpr,
):
    """Means of windows that may overlap, so many that all pictures come out in one size."""
    plane = tl.program_id(0) * PLANES + tl.arange(0, PLANES)
    y = tl.program_id(1)
    top = y * H // OUT_H
    bottom = tl.cdiv((y + 1) * H, OUT_H)
    column = tl.arange(0, COLUMNS)
    mask = (plane < C)[:, None] & (column < W)[None, :]
    line = tl.zeros((PLANES, COLUMNS), dtype=tl.float32)
    for row in range(top, bottom):
        at = (plane[:, None] * H + row) * W + column[None, :]
        line += tl.load(x_ptr + at, mask=mask, other=0.0)
    x = tl.arange(0, OUT_COLUMNS)
    left = x * W // OUT_W
    right = ((x + 1) * W + OUT_W - 1) // OUT_W
    inside = (column[None, :] >= left[:, None]) & (column[None, :] < right[:, None])
    total = tl.sum(tl.where(inside[None, :, :], line[:, None, :], 0.0), axis=2)
    mean = total / ((bottom - top) * (right - left)).to(tl.float32)[None, :]
    at = (plane[:, None] * OUT_H + y) * OUT_W + x[None, :]
    tl.store(y_ptr + at, mean, mask=(plane < C)[:, None] & (x < OUT_W)[None, :])


def adaptive_avg_pool_arguments(C=15, H=26, W=45, OUT_H=6, OUT_W=7):
    return {
        "x_ptr": torch.randn(C, H, W) + 1,
        "y_ptr": torch.empty(C, OUT_H, OUT_W),
        "C": C,
        "H": H,
        "W": W,
        "OUT_H": OUT_H,
        "OUT_W": OUT_W,
        "COLUMNS": triton.next_power_of_2(W),
        "OUT_COLUMNS": triton.next_power_of_2(OUT_W),
    }


def adaptive_avg_pool_grid(meta):
    return (triton.cdiv(meta["C"], meta["PLANES"]), meta["OUT_H"])


def adaptive_avg_pool_reference(x_ptr, OUT_H, OUT_W):
    pooled = torch.nn.functional.adaptive_avg_pool2d(x_ptr.double(), (OUT_H, OUT_W))
    return {"y_ptr": pooled}
