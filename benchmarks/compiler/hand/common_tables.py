"""Kernels as programs have them that read a small table again and again along a row."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": b}) for r, b in ((8, 64), (4, 128), (1, 256))], key=[]
)
@triton.jit
def quantise_cosines(x_ptr, table_ptr, y_ptr, H, W, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """JPEG's quantisation: squares of 8x8 coefficients, each divided by its own step."""
    y = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = (y < H) & (x < W)
    coefficient = tl.load(x_ptr + y * W + x, mask=mask, other=0.0)
    step = tl.load(table_ptr + (y % 8) * 8 + x % 8)
    tl.store(y_ptr + y * W + x, tl.floor(coefficient * step + 0.5).to(tl.int16), mask=mask)


def quantise_cosines_arguments(H=120, W=320):
    return {
        "x_ptr": 100 * torch.randn(H, W),
        "table_ptr": 1 / torch.randint(4, 100, (8, 8)).float(),
        "y_ptr": torch.empty(H, W, dtype=torch.int16),
        "H": H,
        "W": W,
    }


def quantise_cosines_grid(meta):
    return (triton.cdiv(meta["W"], meta["BLOCK"]), triton.cdiv(meta["H"], meta["ROWS"]))


def quantise_cosines_reference(x_ptr, table_ptr, H, W):
    steps = table_ptr.tile(H // 8, W // 8)
    return {"y_ptr": torch.floor(x_ptr * steps + 0.5).to(torch.int16)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def scale_channels(x_ptr, gain_ptr, y_ptr, N, CHANNELS: tl.constexpr, BLOCK: tl.constexpr):
    """A gain for each channel of frames whose channels lie next to one another."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    gain = tl.load(gain_ptr + at % CHANNELS)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask, other=0.0) * gain, mask=mask)


def scale_channels_arguments(FRAMES=10000, CHANNELS=4):
    return {
        "x_ptr": torch.randn(FRAMES, CHANNELS),
        "gain_ptr": torch.rand(CHANNELS),
        "y_ptr": torch.empty(FRAMES, CHANNELS),
        "N": FRAMES * CHANNELS,
        "CHANNELS": CHANNELS,
    }


def scale_channels_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def scale_channels_reference(x_ptr, gain_ptr):
    return {"y_ptr": x_ptr * gain_ptr}
