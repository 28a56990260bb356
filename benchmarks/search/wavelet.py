"""One level of the Haar wavelet transform of planes, with a large space of configurations.

`record_space.py --third` records it: a kernel that no figure of the search was looked at for. Its
field was drawn, after the families whose half `split.toml` draws as "test" were kept:

    fields = ["n_body", "distances", "state_space", "tridiagonal", "morphology", "wavelet",
              "median_filter", "viterbi", "polynomials", "interpolation", "histograms",
              "ray_marching"]
    random.Random("20261129 large unseen space").choice(those of the test half)
"""

import itertools

import torch
import triton
import triton.language as tl

# Elements of a tile of one band; larger ones take long to build.
_MOST_ELEMENTS = 4096


def get_wavelet_autotune_config():
    sizes = itertools.product((1, 2, 4, 8), (1, 2, 4, 8, 16, 32), (4, 8, 16, 32, 64, 128))
    names = ("BLOCK_C", "BLOCK_H", "BLOCK_W", "STEPS", "DOWN_FIRST", "LIFTING")
    return [
        triton.Config(dict(zip(names, (*blocks, *way), strict=True)))
        for blocks in sizes
        if blocks[0] * blocks[1] * blocks[2] <= _MOST_ELEMENTS
        for way in itertools.product((1, 2, 4, 8), (0, 1), (0, 1))
    ]


@triton.jit
def _bands(even, odd, LIFTING: tl.constexpr):
    """The low and the high band of elements side by side."""
    if LIFTING:
        high = odd - even
        low = even + 0.5 * high
    else:
        high = odd - even
        low = 0.5 * (even + odd)
    return low, high


@triton.jit
def _shrunk(x, threshold):
    """Zero where it is small, nearer to zero elsewhere: what removes noise."""
    return tl.where(x > threshold, x - threshold, tl.where(x < -threshold, x + threshold, 0.0))


@triton.jit
def wavelet(
    x_ptr,
    bands_ptr,
    threshold,
    C,
    H,
    W,
    BLOCK_C: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_W: tl.constexpr,
    STEPS: tl.constexpr,
    DOWN_FIRST: tl.constexpr,
    LIFTING: tl.constexpr,
):
    """Four bands of half the height and width: low and high along rows and along columns."""
    size = C * H * W
    down = tl.cdiv(H, BLOCK_H)
    across = tl.cdiv(W, BLOCK_W)
    plane = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)[:, None, None]
    for step in range(STEPS):
        tile = tl.program_id(0) * STEPS + step
        if DOWN_FIRST:
            tile_row = tile % down
            tile_column = tile // down
        else:
            tile_row = tile // across
            tile_column = tile % across
        row = tile_row * BLOCK_H + tl.arange(0, BLOCK_H)[None, :, None]
        column = tile_column * BLOCK_W + tl.arange(0, BLOCK_W)[None, None, :]
        inside = (plane < C) & (row < H) & (column < W)
        top = x_ptr + ((plane * 2 * H + 2 * row) * 2 * W) + 2 * column
        bottom = top + 2 * W
        top_low, top_high = _bands(
            tl.load(top, mask=inside, other=0.0), tl.load(top + 1, mask=inside, other=0.0), LIFTING
        )
        bottom_low, bottom_high = _bands(
            tl.load(bottom, mask=inside, other=0.0),
            tl.load(bottom + 1, mask=inside, other=0.0),
            LIFTING,
        )
        low_low, low_high = _bands(top_low, bottom_low, LIFTING)
        high_low, high_high = _bands(top_high, bottom_high, LIFTING)
        at = bands_ptr + (plane * H + row) * W + column
        tl.store(at, low_low, mask=inside)
        tl.store(at + size, _shrunk(high_low, threshold), mask=inside)
        tl.store(at + 2 * size, _shrunk(low_high, threshold), mask=inside)
        tl.store(at + 3 * size, _shrunk(high_high, threshold), mask=inside)


def arguments(C=6, H=24, W=96, dtype=torch.float32):
    """H and W are those of a band, half of the planes' own."""
    return {
        "x_ptr": torch.randn(C, 2 * H, 2 * W, dtype=dtype),
        "bands_ptr": torch.empty(4, C, H, W, dtype=dtype),
        "threshold": 0.25,
        "C": C,
        "H": H,
        "W": W,
    }


def grid(meta):
    down, across = triton.cdiv(meta["H"], meta["BLOCK_H"]), triton.cdiv(meta["W"], meta["BLOCK_W"])
    return (triton.cdiv(down * across, meta["STEPS"]), triton.cdiv(meta["C"], meta["BLOCK_C"]))


def reference(x_ptr, threshold):
    even, odd = x_ptr[..., 0::2], x_ptr[..., 1::2]
    along = (0.5 * (even + odd), odd - even)
    bands = [
        band
        for part in along
        for band in (
            0.5 * (part[:, 0::2] + part[:, 1::2]),
            part[:, 1::2] - part[:, 0::2],
        )
    ]
    low_low, low_high, high_low, high_high = bands
    shrunk = [
        torch.sign(band) * torch.relu(band.abs() - threshold)
        for band in (high_low, low_high, high_high)
    ]
    return {"bands_ptr": torch.stack([low_low, *shrunk])}
