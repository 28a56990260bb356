"""The other six kernels of the twelfth draw, that `twelfth_held_out.c` has in intrinsics.

The names, and the seed that drew them, are in `twelfth_draw.py`. Outputs of both sides were
checked when these were written; no cycles of either side were looked at.
"""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [
        triton.Config({"BLOCK_H": rows, "BLOCK_W": columns})
        for rows, columns in ((4, 64), (1, 256), (16, 32))
    ],
    key=[],
)
@triton.jit
def wave_equation_2d(
    now_ptr,
    before_ptr,
    speed_ptr,
    next_ptr,
    H,
    W,
    kept,
    BLOCK_H: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    """A step of waves that lose energy, through matter of different speeds, with edges at rest."""
    y = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    x = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)[None, :]
    mask = (y < H) & (x < W)
    at = y * W + x
    now = tl.load(now_ptr + at, mask=mask, other=0.0)
    up = tl.load(now_ptr + at - W, mask=mask & (y > 0), other=0.0)
    down = tl.load(now_ptr + at + W, mask=mask & (y < H - 1), other=0.0)
    left = tl.load(now_ptr + at - 1, mask=mask & (x > 0), other=0.0)
    right = tl.load(now_ptr + at + 1, mask=mask & (x < W - 1), other=0.0)
    before = tl.load(before_ptr + at, mask=mask, other=0.0)
    speed = tl.load(speed_ptr + at, mask=mask, other=0.0)
    curvature = up + down + left + right - 4.0 * now
    tl.store(next_ptr + at, now + kept * (now - before) + speed * curvature, mask=mask)


def wave_equation_2d_arguments(H=100, W=170):
    now = torch.randn(H, W)
    return {
        "now_ptr": now,
        "before_ptr": now + 0.1 * torch.randn(H, W),
        "speed_ptr": 0.1 + 0.3 * torch.rand(H, W),
        "next_ptr": torch.empty(H, W),
        "H": H,
        "W": W,
        "kept": 0.9375,
    }


def wave_equation_2d_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_H"]), triton.cdiv(meta["W"], meta["BLOCK_W"]))


def wave_equation_2d_reference(now_ptr, before_ptr, speed_ptr, H, W, kept):
    now = now_ptr.double()
    wide = torch.nn.functional.pad(now, (1, 1, 1, 1))
    around = wide[:H, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :W] + wide[1:-1, 2:]
    moved = now + kept * (now - before_ptr.double())
    return {"next_ptr": moved + speed_ptr.double() * (around - 4 * now)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 1024)], key=[])
@triton.jit
def cubic_spline_eval(
    x_ptr, knot_ptr, coefficient_ptr, y_ptr, N, KNOTS, STEPS: tl.constexpr, BLOCK: tl.constexpr
):
    """Values of a spline: which piece a number is in, by bisection, and the cubic of this piece."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    piece = tl.zeros((BLOCK,), dtype=tl.int32)
    end = tl.full((BLOCK,), 0, dtype=tl.int32) + (KNOTS - 1)
    for _ in tl.static_range(STEPS):
        middle = (piece + end) // 2
        is_right = x >= tl.load(knot_ptr + middle, mask=mask, other=0.0)
        piece = tl.where(is_right, middle, piece)
        end = tl.where(is_right, end, middle)
    rest = x - tl.load(knot_ptr + piece, mask=mask, other=0.0)
    y = tl.zeros((BLOCK,), dtype=tl.float32)
    for power in tl.static_range(4):
        place = coefficient_ptr + power * (KNOTS - 1) + piece
        y = y * rest + tl.load(place, mask=mask, other=0.0)
    tl.store(y_ptr + at, y, mask=mask)


def cubic_spline_eval_arguments(N=6000, KNOTS=60):
    knots = (0.2 + torch.rand(KNOTS)).cumsum(0)
    return {
        "x_ptr": knots[-1] * torch.rand(N),
        "knot_ptr": knots,
        "coefficient_ptr": torch.randn(4, KNOTS - 1),
        "y_ptr": torch.empty(N),
        "N": N,
        "KNOTS": KNOTS,
        "STEPS": (KNOTS - 2).bit_length(),
    }


def cubic_spline_eval_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def cubic_spline_eval_reference(x_ptr, knot_ptr, coefficient_ptr, KNOTS):
    if (knot_ptr.diff() <= 0).any():
        raise ValueError("knots have to ascend")
    piece = (torch.searchsorted(knot_ptr, x_ptr, right=True) - 1).clamp(0, KNOTS - 2)
    rest = x_ptr.double() - knot_ptr.double()[piece]
    a, b, c, d = coefficient_ptr.double()[:, piece]
    return {"y_ptr": ((a * rest + b) * rest + c) * rest + d}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 256, 16)], key=[])
@triton.jit
def hough_votes(
    x_ptr,
    y_ptr,
    cosine_ptr,
    sine_ptr,
    vote_ptr,
    POINTS,
    BINS,
    SHIFT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Votes of edge points for the lines through them, of each angle: how far off, in pixels."""
    angle = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < POINTS
    x = tl.load(x_ptr + at, mask=mask, other=0).to(tl.int32)
    y = tl.load(y_ptr + at, mask=mask, other=0).to(tl.int32)
    distance = x * tl.load(cosine_ptr + angle) + y * tl.load(sine_ptr + angle)
    bin = ((distance + (1 << (SHIFT - 1))) >> SHIFT) + BINS // 2
    inside = mask & (bin >= 0) & (bin < BINS)
    tl.atomic_add(vote_ptr + angle * BINS + bin, 1, mask=inside)


def hough_votes_arguments(POINTS=450, ANGLES=90, WIDTH=96, HEIGHT=72, SHIFT=12):
    angles = torch.arange(ANGLES, dtype=torch.double) * (torch.pi / ANGLES)
    return {
        "x_ptr": torch.randint(0, WIDTH, (POINTS,), dtype=torch.int16),
        "y_ptr": torch.randint(0, HEIGHT, (POINTS,), dtype=torch.int16),
        "cosine_ptr": (angles.cos() * 2**SHIFT).round().int(),
        "sine_ptr": (angles.sin() * 2**SHIFT).round().int(),
        "vote_ptr": torch.zeros(ANGLES, WIDTH + HEIGHT + 1, dtype=torch.int32),
        "POINTS": POINTS,
        "BINS": WIDTH + HEIGHT + 1,
        "SHIFT": SHIFT,
    }


def hough_votes_grid(meta):
    return (meta["ANGLES"], triton.cdiv(meta["POINTS"], meta["BLOCK"]))


def hough_votes_reference(x_ptr, y_ptr, cosine_ptr, sine_ptr, vote_ptr, BINS, SHIFT):
    x, y, cosine, sine = (each.long() for each in (x_ptr, y_ptr, cosine_ptr, sine_ptr))
    distance = x * cosine[:, None] + y * sine[:, None]
    bins = ((distance + (1 << (SHIFT - 1))) >> SHIFT) + BINS // 2
    votes = vote_ptr.clone()
    for angle, counted in enumerate(bins):
        inside = counted[(counted >= 0) & (counted < BINS)]
        votes[angle] += torch.bincount(inside, minlength=BINS)
    return {"vote_ptr": votes}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 64)], key=[])
@triton.jit
def ising_sweep(spin_ptr, random_ptr, out_ptr, H, W, colour, beta, BLOCK: tl.constexpr):
    """Metropolis on the squares of one colour: magnets turn, and seldom so that energy goes up."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < H * W
    y = at // W
    x = at % W
    spin = tl.load(spin_ptr + at, mask=mask, other=0).to(tl.int32)
    up = tl.load(spin_ptr + (y + H - 1) % H * W + x, mask=mask, other=0).to(tl.int32)
    down = tl.load(spin_ptr + (y + 1) % H * W + x, mask=mask, other=0).to(tl.int32)
    left = tl.load(spin_ptr + y * W + (x + W - 1) % W, mask=mask, other=0).to(tl.int32)
    right = tl.load(spin_ptr + y * W + (x + 1) % W, mask=mask, other=0).to(tl.int32)
    energy = 2 * spin * (up + down + left + right)
    chance = tl.exp(-beta * energy.to(tl.float32))
    random = tl.load(random_ptr + at, mask=mask, other=1.0)
    turns = ((x + y) % 2 == colour) & (random < chance)
    tl.store(out_ptr + at, tl.where(turns, -spin, spin).to(tl.int8), mask=mask)


def ising_sweep_arguments(H=100, W=170):
    return {
        "spin_ptr": (2 * torch.randint(0, 2, (H, W)) - 1).to(torch.int8),
        "random_ptr": torch.rand(H, W),
        "out_ptr": torch.empty(H, W, dtype=torch.int8),
        "H": H,
        "W": W,
        "colour": 1,
        "beta": 0.25,
    }


# Spins are 1 and -1, random numbers are from 0 to 1, and no temperature is negative: the intrinsics
# rely on that.
ising_sweep_kept_inputs = ["spin_ptr", "random_ptr", "beta"]


def ising_sweep_grid(meta):
    return (triton.cdiv(meta["H"] * meta["W"], meta["BLOCK"]),)


def ising_sweep_reference(spin_ptr, random_ptr, H, W, colour, beta):
    spin = spin_ptr.int()
    around = sum(spin.roll(by, of) for by in (1, -1) for of in (0, 1))
    chance = (-beta * (2 * spin * around).double()).exp()
    squares = (torch.arange(H)[:, None] + torch.arange(W)) % 2 == colour
    turns = squares & (random_ptr.double() < chance)
    return {"out_ptr": torch.where(turns, -spin, spin).to(torch.int8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 64)], key=[])
@triton.jit
def resample_cubic(x_ptr, y_ptr, LENGTH, OUT_LENGTH, STEP, BLOCK: tl.constexpr):
    """Sound at another rate, by cubics through four samples; places have 16 bits of a share."""
    channel = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < OUT_LENGTH
    place = at * STEP
    i = place >> 16
    t = (place & 65535).to(tl.float32) * (1.0 / 65536)
    x = x_ptr + channel * LENGTH
    a = tl.load(x + tl.minimum(tl.maximum(i - 1, 0), LENGTH - 1), mask=mask, other=0.0)
    b = tl.load(x + tl.minimum(i, LENGTH - 1), mask=mask, other=0.0)
    c = tl.load(x + tl.minimum(i + 1, LENGTH - 1), mask=mask, other=0.0)
    d = tl.load(x + tl.minimum(i + 2, LENGTH - 1), mask=mask, other=0.0)
    bend = 2.0 * a - 5.0 * b + 4.0 * c - d + t * (3.0 * (b - c) + d - a)
    y = b + 0.5 * t * (c - a + t * bend)
    tl.store(y_ptr + channel * OUT_LENGTH + at, y, mask=mask)


def resample_cubic_arguments(CHANNELS=4, LENGTH=4000, FROM=44100, TO=48000):
    out_length = LENGTH * TO // FROM
    return {
        "x_ptr": torch.randn(CHANNELS, LENGTH),
        "y_ptr": torch.empty(CHANNELS, out_length),
        "LENGTH": LENGTH,
        "OUT_LENGTH": out_length,
        "STEP": (FROM << 16) // TO,
    }


def resample_cubic_grid(meta):
    return (meta["CHANNELS"], triton.cdiv(meta["OUT_LENGTH"], meta["BLOCK"]))


def resample_cubic_reference(x_ptr, LENGTH, OUT_LENGTH, STEP):
    place = torch.arange(OUT_LENGTH) * STEP
    t = (place & 65535).double() / 65536
    i = (place >> 16) + torch.arange(-1, 3)[:, None]
    a, b, c, d = x_ptr.double()[:, i.clamp(0, LENGTH - 1)].unbind(1)
    bend = 2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)
    return {"y_ptr": b + 0.5 * t * (c - a + t * bend)}


@triton.autotune(
    [
        triton.Config({"BLOCK_M": rows, "BLOCK_N": columns})
        for rows, columns in ((4, 128), (1, 512), (16, 64))
    ],
    key=[],
)
@triton.jit
def layer_scale_residual(
    x_ptr,
    branch_ptr,
    gamma_ptr,
    keep_ptr,
    y_ptr,
    M,
    N,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """The end of a vision transformer's block, with a scale for each channel and dropped rows."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = (row < M) & (column < N)
    gamma = tl.load(gamma_ptr + column, mask=column < N, other=0.0)
    keep = tl.load(keep_ptr + row, mask=row < M, other=0.0)
    x = tl.load(x_ptr + row * N + column, mask=mask, other=0.0)
    branch = tl.load(branch_ptr + row * N + column, mask=mask, other=0.0)
    tl.store(y_ptr + row * N + column, x + keep * gamma * branch, mask=mask)


def layer_scale_residual_arguments(M=50, N=360):
    return {
        "x_ptr": torch.randn(M, N),
        "branch_ptr": torch.randn(M, N),
        "gamma_ptr": 0.1 * torch.randn(N),
        "keep_ptr": (torch.rand(M) < 0.8).float() / 0.8,
        "y_ptr": torch.empty(M, N),
        "M": M,
        "N": N,
    }


def layer_scale_residual_grid(meta):
    return (triton.cdiv(meta["M"], meta["BLOCK_M"]), triton.cdiv(meta["N"], meta["BLOCK_N"]))


def layer_scale_residual_reference(x_ptr, branch_ptr, gamma_ptr, keep_ptr):
    scale = keep_ptr.double()[:, None] * gamma_ptr.double()
    return {"y_ptr": x_ptr.double() + scale * branch_ptr.double()}
