"""A 3x3 convolution of images with channels last, as a product with rows that are never stored."""

import torch
import triton
import triton.language as tl

SIDE = 3


@triton.autotune(
    [
        triton.Config({"BM": m, "BN": n, "BK": k}, num_warps=warps, num_stages=stages)
        for m in (64, 128, 256)
        for n in (64, 128)
        for k in (32, 64)
        for warps in (4, 8)
        for stages in (3, 4)
    ],
    key=["images", "height", "width", "channels", "filters"],
)
@triton.jit
def conv2d_kernel(
    x_ptr,
    weight_ptr,
    out_ptr,
    images,
    height,
    width,
    channels,
    filters,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    SIDE_LENGTH: tl.constexpr,
):
    place = tl.program_id(0) * BM + tl.arange(0, BM)
    out_column = tl.program_id(1) * BN + tl.arange(0, BN)
    column, row, image = place % width, place // width % height, place // (width * height)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    steps = tl.cdiv(channels, BK)
    for step in range(0, SIDE_LENGTH * SIDE_LENGTH * steps):
        tap, channel = step // steps, step % steps * BK + depth
        y = row + tap // SIDE_LENGTH - SIDE_LENGTH // 2
        x = column + tap % SIDE_LENGTH - SIDE_LENGTH // 2
        inside = (image < images) & (y >= 0) & (y < height) & (x >= 0) & (x < width)
        at = ((image * height + y) * width + x) * channels
        mask = inside[:, None] & (channel < channels)[None, :]
        pixels = tl.load(x_ptr + at[:, None] + channel[None, :], mask=mask, other=0.0)
        weight_at = (tap * channels + channel)[:, None] * filters + out_column[None, :]
        weight_mask = (channel < channels)[:, None] & (out_column < filters)[None, :]
        weights = tl.load(weight_ptr + weight_at, mask=weight_mask, other=0.0)
        total = tl.dot(pixels, weights, total)
    mask = (image < images)[:, None] & (out_column < filters)[None, :]
    out_at = out_ptr + place[:, None] * filters + out_column[None, :]
    tl.store(out_at, total.to(out_ptr.dtype.element_ty), mask=mask)


def arguments(images=32, height=56, width=56, channels=128, filters=128, dtype=torch.float16):
    taps = SIDE * SIDE
    return {
        "x_ptr": torch.randn(images, height, width, channels).to(dtype),
        "weight_ptr": (torch.randn(taps, channels, filters) / (taps * channels) ** 0.5).to(dtype),
        "out_ptr": torch.empty(images, height, width, filters, dtype=dtype),
        "images": images,
        "height": height,
        "width": width,
        "channels": channels,
        "filters": filters,
        "SIDE_LENGTH": SIDE,
    }


def grid(meta):
    places = meta["images"] * meta["height"] * meta["width"]
    return (triton.cdiv(places, meta["BM"]), triton.cdiv(meta["filters"], meta["BN"]))


def _convolved(x, weight):
    filters = weight.reshape(SIDE, SIDE, *weight.shape[1:]).permute(3, 2, 0, 1)
    out = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), filters, padding=SIDE // 2)
    return out.permute(0, 2, 3, 1)


def reference(x_ptr, weight_ptr):
    return {"out_ptr": _convolved(x_ptr.float(), weight_ptr.float())}


def with_torch(x_ptr, weight_ptr):
    return _convolved(x_ptr, weight_ptr)
