"""Six of the twelve kernels of the eighth draw, that `eighth_draw.c` has in RVV intrinsics.

`random.Random(20261127)` drew twelve of 44 names before any was compiled; these six were to be
worked on. Kernels are as users write them.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 4096, 256)], key=[])
@triton.jit
def absdiff_threshold(a_ptr, b_ptr, moved_ptr, N, limit, BLOCK: tl.constexpr):
    """Where two pictures differ, as 255 and 0: the first step of finding what moved."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    a = tl.load(a_ptr + at, mask=mask, other=0).to(tl.int32)
    b = tl.load(b_ptr + at, mask=mask, other=0).to(tl.int32)
    moved = tl.where(tl.abs(a - b) > limit, 255, 0)
    tl.store(moved_ptr + at, moved.to(tl.uint8), mask=mask)


def absdiff_threshold_arguments(N=30000, limit=100):
    return {
        "a_ptr": torch.randint(0, 256, (N,), dtype=torch.uint8),
        "b_ptr": torch.randint(0, 256, (N,), dtype=torch.uint8),
        "moved_ptr": torch.empty(N, dtype=torch.uint8),
        "N": N,
        "limit": limit,
    }


def absdiff_threshold_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def absdiff_threshold_reference(a_ptr, b_ptr, limit):
    moved = (a_ptr.int() - b_ptr.int()).abs() > limit
    return {"moved_ptr": (moved * 255).to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 2048)], key=[])
@triton.jit
def bitonic_step(x_ptr, y_ptr, N, distance, size, BLOCK: tl.constexpr):
    """One step of a bitonic sort: pairs at a distance are put in order, up or down."""
    pair = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = pair < N // 2
    low = (pair // distance) * (2 * distance) + pair % distance
    high = low + distance
    a = tl.load(x_ptr + low, mask=mask)
    b = tl.load(x_ptr + high, mask=mask)
    rises = (low & size) == 0
    tl.store(y_ptr + low, tl.where(rises, tl.minimum(a, b), tl.maximum(a, b)), mask=mask)
    tl.store(y_ptr + high, tl.where(rises, tl.maximum(a, b), tl.minimum(a, b)), mask=mask)


def bitonic_step_arguments(N=16384, distance=64, size=256):
    return {
        "x_ptr": torch.randn(N),
        "y_ptr": torch.empty(N),
        "N": N,
        "distance": distance,
        "size": size,
    }


def bitonic_step_grid(meta):
    return (triton.cdiv(meta["N"] // 2, meta["BLOCK"]),)


def bitonic_step_reference(x_ptr, distance, size):
    pairs = x_ptr.reshape(-1, 2, distance)
    low = torch.arange(len(x_ptr)).reshape(-1, 2, distance)[:, 0]
    least, most = pairs.amin(1), pairs.amax(1)
    rises = (low & size) == 0
    both = [torch.where(rises, least, most), torch.where(rises, most, least)]
    return {"y_ptr": torch.stack(both, 1).flatten()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 4096, 256)], key=[])
@triton.jit
def elu_backward(dy_ptr, x_ptr, dx_ptr, N, alpha, BLOCK: tl.constexpr):
    """The gradient of an exponential linear unit."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    dy = tl.load(dy_ptr + at, mask=mask, other=0.0)
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    dx = tl.where(x > 0, dy, dy * alpha * tl.exp(x))
    tl.store(dx_ptr + at, dx, mask=mask)


def elu_backward_arguments(N=16000):
    return {
        "dy_ptr": torch.randn(N),
        "x_ptr": torch.randn(N),
        "dx_ptr": torch.empty(N),
        "N": N,
        "alpha": 1.5,
    }


def elu_backward_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def elu_backward_reference(dy_ptr, x_ptr, alpha):
    dy, x = dy_ptr.double(), x_ptr.double()
    return {"dx_ptr": torch.where(x > 0, dy, dy * alpha * torch.exp(x))}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 2, 4)], key=[])
@triton.jit
def row_moments(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """Mean, variance, skewness and kurtosis of each row."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
    mean = tl.sum(x, axis=1) / N
    d = tl.where(mask, x - mean[:, None], 0.0)
    square = d * d
    variance = tl.sum(square, axis=1) / N
    third = tl.sum(square * d, axis=1) / N
    fourth = tl.sum(square * square, axis=1) / N
    keep = rows < M
    tl.store(out_ptr + rows * 4, mean, mask=keep)
    tl.store(out_ptr + rows * 4 + 1, variance, mask=keep)
    tl.store(out_ptr + rows * 4 + 2, third / (variance * tl.sqrt(variance)), mask=keep)
    tl.store(out_ptr + rows * 4 + 3, fourth / (variance * variance), mask=keep)


def row_moments_arguments(M=96, N=300):
    return {
        "x_ptr": torch.randn(M, N),
        "out_ptr": torch.empty(M, 4),
        "M": M,
        "N": N,
        "BLOCK": triton.next_power_of_2(N),
    }


def row_moments_grid(meta):
    return (triton.cdiv(meta["M"], meta["ROWS"]),)


def row_moments_reference(x_ptr):
    x = x_ptr.double()
    mean = x.mean(1)
    d = x - mean[:, None]
    second, third, fourth = ((d**power).mean(1) for power in (2, 3, 4))
    return {"out_ptr": torch.stack([mean, second, third / second**1.5, fourth / second**2], 1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 64)], key=[])
@triton.jit
def q15_fir(x_ptr, taps_ptr, y_ptr, N, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    """A filter of 16-bit samples and taps, with 32-bit sums that are rounded and saturated."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.int32)
    for k in range(TAPS):
        tap = tl.load(taps_ptr + k).to(tl.int32)
        x = tl.load(x_ptr + at - k, mask=(at >= k) & (at < N), other=0)
        total += x.to(tl.int32) * tap
    total = (total + (1 << 14)) >> 15
    y = tl.minimum(tl.maximum(total, -32768), 32767)
    tl.store(y_ptr + at, y.to(tl.int16), mask=at < N)


def q15_fir_arguments(N=8000, TAPS=16):
    return {
        "x_ptr": torch.randint(-32768, 32768, (N,), dtype=torch.int16),
        "taps_ptr": torch.randint(-4000, 4000, (TAPS,), dtype=torch.int16),
        "y_ptr": torch.empty(N, dtype=torch.int16),
        "N": N,
        "TAPS": TAPS,
    }


def q15_fir_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def q15_fir_reference(x_ptr, taps_ptr, TAPS):
    x = torch.nn.functional.pad(x_ptr.double(), (TAPS - 1, 0))
    total = torch.nn.functional.conv1d(x[None, None], taps_ptr.double().flip(0)[None, None])[0, 0]
    total = (total.long() + (1 << 14)) >> 15
    return {"y_ptr": total.clamp(-32768, 32767).to(torch.int16)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 128, 32)], key=[])
@triton.jit
def power_spectrum(x_ptr, power_ptr, FRAMES, BINS, BLOCK: tl.constexpr):
    """The mean power of each frequency over frames of interleaved complex numbers."""
    bins = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = bins < BINS
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for frame in range(FRAMES):
        at = x_ptr + (frame * BINS + bins) * 2
        re = tl.load(at, mask=mask, other=0.0)
        im = tl.load(at + 1, mask=mask, other=0.0)
        total += re * re + im * im
    tl.store(power_ptr + bins, total / FRAMES, mask=mask)


def power_spectrum_arguments(FRAMES=64, BINS=129):
    return {
        "x_ptr": torch.randn(FRAMES, BINS, 2),
        "power_ptr": torch.empty(BINS),
        "FRAMES": FRAMES,
        "BINS": BINS,
    }


def power_spectrum_grid(meta):
    return (triton.cdiv(meta["BINS"], meta["BLOCK"]),)


def power_spectrum_reference(x_ptr):
    return {"power_ptr": x_ptr.double().square().sum(-1).mean(0)}
