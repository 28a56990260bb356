"""A third draw of kernels as users write them, that `third_draw.c` has in RVV intrinsics.

Drawn by `random.Random(20261128).sample` from 24 names, before any of them was written.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"HEADS_PER": heads}) for heads in (1, 4, 8)], key=[])
@triton.jit
def rotary_embedding(
    x_ptr, cos_ptr, sin_ptr, y_ptr, HEADS, HALF: tl.constexpr, HEADS_PER: tl.constexpr
):
    """Pairs of neighbours of each head turned by their token's angles."""
    token = tl.program_id(0)
    heads = tl.program_id(1) * HEADS_PER + tl.arange(0, HEADS_PER)
    pairs = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token * HALF + pairs)[None, :]
    sin = tl.load(sin_ptr + token * HALF + pairs)[None, :]
    at = (token * HEADS + heads)[:, None] * (2 * HALF) + 2 * pairs[None, :]
    even = tl.load(x_ptr + at)
    odd = tl.load(x_ptr + at + 1)
    tl.store(y_ptr + at, even * cos - odd * sin)
    tl.store(y_ptr + at + 1, even * sin + odd * cos)


def rotary_embedding_arguments(T=64, HEADS=8, HALF=32):
    return {
        "x_ptr": torch.randn(T, HEADS, HALF, 2),
        "cos_ptr": torch.rand(T, HALF),
        "sin_ptr": torch.rand(T, HALF),
        "y_ptr": torch.empty(T, HEADS, HALF, 2),
        "HEADS": HEADS,
        "HALF": HALF,
    }


def rotary_embedding_grid(meta):
    return (meta["T"], meta["HEADS"] // meta["HEADS_PER"])


def rotary_embedding_reference(x_ptr, cos_ptr, sin_ptr):
    even, odd = x_ptr.double().unbind(-1)
    cos, sin = cos_ptr.double()[:, None], sin_ptr.double()[:, None]
    return {"y_ptr": torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1)}


@triton.autotune(
    [
        triton.Config({"BLOCK_H": rows, "BLOCK_W": columns})
        for rows, columns in ((4, 128), (16, 64), (1, 256))
    ],
    key=[],
)
@triton.jit
def heat_stencil(x_ptr, y_ptr, HEIGHT, WIDTH, rate, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    """One explicit step of the heat equation inside a plate, by its five points."""
    rows = 1 + tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)
    columns = 1 + tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)
    mask = (rows < HEIGHT - 1)[:, None] & (columns < WIDTH - 1)[None, :]
    at = rows[:, None] * WIDTH + columns[None, :]
    centre = tl.load(x_ptr + at, mask=mask, other=0.0)
    above = tl.load(x_ptr + at - WIDTH, mask=mask, other=0.0)
    below = tl.load(x_ptr + at + WIDTH, mask=mask, other=0.0)
    left = tl.load(x_ptr + at - 1, mask=mask, other=0.0)
    right = tl.load(x_ptr + at + 1, mask=mask, other=0.0)
    change = above + below + left + right - 4.0 * centre
    inner = (rows - 1)[:, None] * (WIDTH - 2) + (columns - 1)[None, :]
    tl.store(y_ptr + inner, centre + rate * change, mask=mask)


def heat_stencil_arguments(H=98, W=258):
    return {
        "x_ptr": torch.randn(H, W),
        "y_ptr": torch.empty(H - 2, W - 2),
        "HEIGHT": H,
        "WIDTH": W,
        "rate": 0.2,
    }


def heat_stencil_grid(meta):
    return (
        triton.cdiv(meta["H"] - 2, meta["BLOCK_H"]),
        triton.cdiv(meta["W"] - 2, meta["BLOCK_W"]),
    )


def heat_stencil_reference(x_ptr, rate):
    x = x_ptr.double()
    centre = x[1:-1, 1:-1]
    around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    return {"y_ptr": centre + rate * (around - 4 * centre)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 128)], key=[])
@triton.jit
def alpha_blend(front_ptr, back_ptr, out_ptr, PIXELS, BLOCK: tl.constexpr):
    """An image of red, green, blue and opacity laid over another, which is opaque."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < PIXELS
    alpha = tl.load(front_ptr + 4 * at + 3, mask=mask, other=0).to(tl.int32)
    for colour in tl.static_range(3):
        front = tl.load(front_ptr + 4 * at + colour, mask=mask, other=0).to(tl.int32)
        back = tl.load(back_ptr + 4 * at + colour, mask=mask, other=0).to(tl.int32)
        mixed = (front * alpha + back * (255 - alpha) + 127) // 255
        tl.store(out_ptr + 4 * at + colour, mixed.to(tl.uint8), mask=mask)
    tl.store(out_ptr + 4 * at + 3, tl.full((BLOCK,), 255, tl.uint8), mask=mask)


def alpha_blend_arguments(P=12000):
    return {
        "front_ptr": torch.randint(0, 256, (P, 4), dtype=torch.uint8),
        "back_ptr": torch.randint(0, 256, (P, 4), dtype=torch.uint8),
        "out_ptr": torch.empty(P, 4, dtype=torch.uint8),
        "PIXELS": P,
    }


def alpha_blend_grid(meta):
    return (triton.cdiv(meta["P"], meta["BLOCK"]),)


def alpha_blend_reference(front_ptr, back_ptr):
    front, back = front_ptr.int(), back_ptr.int()
    alpha = front[:, 3:]
    mixed = (front * alpha + back * (255 - alpha) + 127) // 255
    mixed[:, 3] = 255
    return {"out_ptr": mixed.to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": 1024})], key=[])
@triton.jit
def argmin_rows(x_ptr, value_ptr, index_ptr, N, BLOCK: tl.constexpr):
    """The least element of each row, and where it is."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=float("inf"))
    value, index = tl.min(x, axis=0, return_indices=True)
    tl.store(value_ptr + row, value)
    tl.store(index_ptr + row, index)


def argmin_rows_arguments(M=64, N=1000):
    return {
        "x_ptr": torch.randn(M, N),
        "value_ptr": torch.empty(M),
        "index_ptr": torch.empty(M, dtype=torch.int32),
        "N": N,
    }


def argmin_rows_grid(meta):
    return (meta["M"],)


def argmin_rows_reference(x_ptr):
    value, index = x_ptr.min(1)
    return {"value_ptr": value, "index_ptr": index.int()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def table_interpolation(
    x_ptr, table_ptr, y_ptr, N, low, per_step, STEPS: tl.constexpr, BLOCK: tl.constexpr
):
    """A function by its values at equal steps, with straight lines between them."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    place = tl.clamp((x - low) * per_step, 0.0, STEPS - 0.001)
    step = place.to(tl.int32)
    first = tl.load(table_ptr + step, mask=mask, other=0.0)
    second = tl.load(table_ptr + step + 1, mask=mask, other=0.0)
    tl.store(y_ptr + at, first + (place - step) * (second - first), mask=mask)


def table_interpolation_arguments(N=12000, STEPS=256):
    return {
        "x_ptr": 3 * torch.randn(N),
        "table_ptr": torch.tanh(torch.linspace(-8, 8, STEPS + 1)),
        "y_ptr": torch.empty(N),
        "N": N,
        "low": -8.0,
        "per_step": STEPS / 16,
        "STEPS": STEPS,
    }


def table_interpolation_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def table_interpolation_reference(x_ptr, table_ptr, low, per_step):
    steps = len(table_ptr) - 1
    place = ((x_ptr.double() - low) * per_step).clamp(0, steps - 0.001)
    step = place.long()
    first, second = table_ptr.double()[step], table_ptr.double()[step + 1]
    return {"y_ptr": first + (place - step) * (second - first)}
