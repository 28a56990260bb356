"""Four more kernels of the seventeenth draw, that `seventeenth_held_out2.c` has in intrinsics.

The names, and the seed that drew them, are in `seventeenth_held_out.py`.
"""

import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _is_letter(byte):
    lower = byte | 0x20
    return (lower >= 97) & (lower <= 122)


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def title_case_ascii(text_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """Text whose words begin with capitals, and go on in lower case."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    byte = tl.load(text_ptr + at, mask=mask, other=0)
    before = tl.load(text_ptr + at - 1, mask=mask & (at > 0), other=0)
    cased = tl.where(_is_letter(before), byte | 0x20, byte & 0xDF)
    tl.store(out_ptr + at, tl.where(_is_letter(byte), cased, byte), mask=mask)


def title_case_ascii_arguments(N=30000):
    letters = torch.tensor(list(b"etaoinshrdluETAOINzZfwyp   .,'0-"), dtype=torch.uint8)
    text = letters[torch.randint(0, len(letters), (N,))]
    text[::97] = torch.randint(0, 256, (len(text[::97]),), dtype=torch.uint8)
    return {"text_ptr": text, "out_ptr": torch.empty(N, dtype=torch.uint8), "N": N}


def title_case_ascii_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def title_case_ascii_reference(text_ptr):
    return {"out_ptr": torch.tensor(list(bytes(text_ptr.tolist()).title()), dtype=torch.uint8)}


@triton.jit
def _is_set(image_ptr, row, column, H, W):
    inside = (row >= 0) & (row < H) & (column >= 0) & (column < W)
    return tl.load(image_ptr + row * W + column, mask=inside, other=0) != 0


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 512)], key=[])
@triton.jit
def hit_or_miss_corners(image_ptr, out_ptr, H, W, BLOCK: tl.constexpr):
    """Convex corners of all four directions in an image of 0 and 255, by hits and misses."""
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    here = _is_set(image_ptr, row, column, H, W)
    up = _is_set(image_ptr, row - 1, column, H, W)
    down = _is_set(image_ptr, row + 1, column, H, W)
    left = _is_set(image_ptr, row, column - 1, H, W)
    right = _is_set(image_ptr, row, column + 1, H, W)
    up_left = _is_set(image_ptr, row - 1, column - 1, H, W)
    up_right = _is_set(image_ptr, row - 1, column + 1, H, W)
    down_left = _is_set(image_ptr, row + 1, column - 1, H, W)
    down_right = _is_set(image_ptr, row + 1, column + 1, H, W)
    corner = up & right & ~(left | down | down_left)
    corner |= up & left & ~(right | down | down_right)
    corner |= down & right & ~(left | up | up_left)
    corner |= down & left & ~(right | up | up_right)
    out = tl.where(here & corner, 255, 0).to(tl.uint8)
    tl.store(out_ptr + row * W + column, out, mask=column < W)


def hit_or_miss_corners_arguments(H=90, W=350):
    blobs = torch.nn.functional.avg_pool2d(torch.rand(1, H, W), 3, stride=1, padding=1)
    return {
        "image_ptr": torch.where(blobs[0] > 0.45, 255, 0).to(torch.uint8),
        "out_ptr": torch.empty(H, W, dtype=torch.uint8),
        "H": H,
        "W": W,
    }


def hit_or_miss_corners_grid(meta):
    return (meta["H"], triton.cdiv(meta["W"], meta["BLOCK"]))


def hit_or_miss_corners_reference(image_ptr, H, W):
    image = torch.nn.functional.pad(image_ptr, (1, 1, 1, 1)) > 0
    # Pixels that are set, and those that are not, from a corner on, as (row, column).
    corner = torch.zeros(H, W, dtype=torch.bool)
    for down in (-1, 1):
        for right in (-1, 1):
            hit = torch.ones(H, W, dtype=torch.bool)
            for y, x in ((0, 0), (-down, 0), (0, right)):
                hit &= image[1 + y : 1 + y + H, 1 + x : 1 + x + W]
            for y, x in ((down, 0), (0, -right), (down, -right)):
                hit &= ~image[1 + y : 1 + y + H, 1 + x : 1 + x + W]
            corner |= hit
    return {"out_ptr": corner * 255}


RADIANS = tl.constexpr(math.pi / 180)


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 512)], key=[])
@triton.jit
def great_circle_bearings(lat1_ptr, lon1_ptr, lat2_ptr, lon2_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """Where, in degrees from north, the shortest way from one place to another begins."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    lat1 = tl.load(lat1_ptr + at, mask=mask, other=0.0) * RADIANS
    lat2 = tl.load(lat2_ptr + at, mask=mask, other=0.0) * RADIANS
    lon1 = tl.load(lon1_ptr + at, mask=mask, other=0.0)
    lon2 = tl.load(lon2_ptr + at, mask=mask, other=0.0)
    across = (lon2 - lon1) * RADIANS
    y = tl.sin(across) * tl.cos(lat2)
    x = tl.cos(lat1) * tl.sin(lat2) - tl.sin(lat1) * tl.cos(lat2) * tl.cos(across)
    bearing = libdevice.atan2(y, x) / RADIANS
    tl.store(out_ptr + at, tl.where(bearing < 0, bearing + 360.0, bearing), mask=mask)


def great_circle_bearings_arguments(N=6000):
    return {
        "lat1_ptr": 180 * torch.rand(N) - 90,
        "lon1_ptr": 360 * torch.rand(N) - 180,
        "lat2_ptr": 180 * torch.rand(N) - 90,
        "lon2_ptr": 360 * torch.rand(N) - 180,
        "out_ptr": torch.empty(N),
        "N": N,
    }


def great_circle_bearings_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def great_circle_bearings_reference(lat1_ptr, lon1_ptr, lat2_ptr, lon2_ptr):
    lat1, lat2 = lat1_ptr.double().deg2rad(), lat2_ptr.double().deg2rad()
    across = (lon2_ptr.double() - lon1_ptr.double()).deg2rad()
    y = across.sin() * lat2.cos()
    x = lat1.cos() * lat2.sin() - lat1.sin() * lat2.cos() * across.cos()
    return {"out_ptr": torch.atan2(y, x).rad2deg() % 360}


@triton.jit
def _gray(image_ptr, at, plane, mask):
    red = tl.load(image_ptr + at, mask=mask, other=0.0)
    green = tl.load(image_ptr + plane + at, mask=mask, other=0.0)
    blue = tl.load(image_ptr + 2 * plane + at, mask=mask, other=0.0)
    return 0.299 * red + 0.587 * green + 0.114 * blue


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 64, 256)], key=[])
@triton.jit
def exposure_fusion_weights(image_ptr, out_ptr, K, H, W, sigma, BLOCK: tl.constexpr):
    """Mertens' weights of exposures: contrast, saturation and middling light, which add up to 1."""
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < W
    plane = H * W
    at = row * W + column
    up = tl.maximum(row - 1, 0) * W + column
    down = tl.minimum(row + 1, H - 1) * W + column
    left = row * W + tl.maximum(column - 1, 0)
    right = row * W + tl.minimum(column + 1, W - 1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(K):
        image = image_ptr + 3 * k * plane
        around = _gray(image, up, plane, mask) + _gray(image, down, plane, mask)
        around += _gray(image, left, plane, mask) + _gray(image, right, plane, mask)
        contrast = tl.abs(around - 4.0 * _gray(image, at, plane, mask))
        red = tl.load(image + at, mask=mask, other=0.0)
        green = tl.load(image + plane + at, mask=mask, other=0.0)
        blue = tl.load(image + 2 * plane + at, mask=mask, other=0.0)
        mean = (red + green + blue) / 3.0
        spread = (red - mean) * (red - mean) + (green - mean) * (green - mean)
        spread += (blue - mean) * (blue - mean)
        saturation = tl.sqrt(spread / 3.0)
        off = (red - 0.5) * (red - 0.5) + (green - 0.5) * (green - 0.5)
        off += (blue - 0.5) * (blue - 0.5)
        exposed = tl.exp(-off / (2.0 * sigma * sigma))
        weight = contrast * saturation * exposed + 1e-12
        total += weight
        tl.store(out_ptr + k * plane + at, weight, mask=mask)
    for k in range(K):
        weight = tl.load(out_ptr + k * plane + at, mask=mask, other=0.0)
        tl.store(out_ptr + k * plane + at, weight / total, mask=mask)


def exposure_fusion_weights_arguments(K=3, H=30, W=200):
    light = torch.rand(1, 3, H, W)
    gains = 2.0 ** torch.arange(K).sub(K // 2)[:, None, None, None]
    return {
        "image_ptr": (light * gains + 0.02 * torch.rand(K, 3, H, W)).clamp(0, 1),
        "out_ptr": torch.empty(K, H, W),
        "K": K,
        "H": H,
        "W": W,
        "sigma": 0.2,
    }


def exposure_fusion_weights_grid(meta):
    return (meta["H"], triton.cdiv(meta["W"], meta["BLOCK"]))


def exposure_fusion_weights_reference(image_ptr, sigma):
    image = image_ptr.double()
    gray = (image * torch.tensor([0.299, 0.587, 0.114])[:, None, None]).sum(dim=1)
    wide = torch.nn.functional.pad(gray, (1, 1, 1, 1), mode="replicate")
    around = wide[:, :-2, 1:-1] + wide[:, 2:, 1:-1] + wide[:, 1:-1, :-2] + wide[:, 1:-1, 2:]
    exposed = (-(image - 0.5).square().sum(dim=1) / (2 * sigma**2)).exp()
    saturation = image.std(dim=1, correction=0)
    weight = (around - 4 * gray).abs() * saturation * exposed + 1e-12
    return {"out_ptr": weight / weight.sum(dim=0)}
