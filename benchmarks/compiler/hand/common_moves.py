"""Kernels that rearrange what they read, as users write them; in C they are in `common_moves.h`."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"BLOCK_H": h, "BLOCK_W": w}) for h, w in ((8, 64), (1, 256))], key=[]
)
@triton.jit
def upsample_planes(x_ptr, y_ptr, H, W, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    """Each pixel of some planes twice along both axes."""
    plane = tl.program_id(2)
    rows = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    columns = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)
    mask = (rows[:, None] < 2 * H) & (columns[None, :] < 2 * W)
    source = x_ptr + plane * H * W + (rows // 2)[:, None] * W + (columns // 2)[None, :]
    target = y_ptr + plane * 4 * H * W + rows[:, None] * (2 * W) + columns[None, :]
    tl.store(target, tl.load(source, mask=mask), mask=mask)


def upsample_planes_arguments(C=3, H=45, W=70):
    return {"x_ptr": torch.randn(C, H, W), "y_ptr": torch.empty(C, 2 * H, 2 * W), "H": H, "W": W}


def upsample_planes_grid(meta):
    across = triton.cdiv(2 * meta["W"], meta["BLOCK_W"])
    return (across, triton.cdiv(2 * meta["H"], meta["BLOCK_H"]), meta["C"])


def upsample_planes_reference(x_ptr):
    return {"y_ptr": x_ptr.repeat_interleave(2, 1).repeat_interleave(2, 2)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def pixel_shuffle(x_ptr, y_ptr, H, W, N, R: tl.constexpr, BLOCK: tl.constexpr):
    """Channels become rows and columns that are R times as many."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = at % (W * R)
    row = at // (W * R) % (H * R)
    channel = at // (W * R * H * R)
    plane = (channel * R + row % R) * R + column % R
    x = tl.load(x_ptr + (plane * H + row // R) * W + column // R, mask=at < N)
    tl.store(y_ptr + at, x, mask=at < N)


def pixel_shuffle_arguments(C=4, H=40, W=50):
    x, y = torch.randn(4 * C, H, W), torch.empty(C, 2 * H, 2 * W)
    return {"x_ptr": x, "y_ptr": y, "H": H, "W": W, "N": 4 * C * H * W, "R": 2}


def pixel_shuffle_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def pixel_shuffle_reference(x_ptr):
    return {"y_ptr": torch.nn.functional.pixel_shuffle(x_ptr, 2)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def unpack_bits(bits_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """A byte of 0 or 1 for each bit, the lowest first."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    byte = tl.load(bits_ptr + at // 8, mask=at < N)
    tl.store(y_ptr + at, (byte >> (at % 8)) & 1, mask=at < N)


def unpack_bits_arguments(N=32768):
    bits = torch.randint(0, 256, (N // 8,), dtype=torch.uint8)
    return {"bits_ptr": bits, "y_ptr": torch.empty(N, dtype=torch.uint8), "N": N}


def unpack_bits_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def unpack_bits_reference(bits_ptr):
    return {"y_ptr": ((bits_ptr[:, None] >> torch.arange(8)) & 1).flatten().to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def mono_of_stereo(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """The mean of two channels of 16 bits that lie side by side."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x_ptr + 2 * at, mask=at < N).to(tl.int32)
    right = tl.load(x_ptr + 2 * at + 1, mask=at < N).to(tl.int32)
    tl.store(y_ptr + at, ((left + right) >> 1).to(tl.int16), mask=at < N)


def mono_of_stereo_arguments(N=20000):
    x = torch.randint(-(1 << 15), 1 << 15, (N, 2), dtype=torch.int16)
    return {"x_ptr": x, "y_ptr": torch.empty(N, dtype=torch.int16), "N": N}


def mono_of_stereo_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def mono_of_stereo_reference(x_ptr):
    return {"y_ptr": (x_ptr.int().sum(1) >> 1).to(torch.int16)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 512)], key=[])
@triton.jit
def rgb_of_yuv(y_ptr, u_ptr, v_ptr, rgb_ptr, W, BLOCK: tl.constexpr):
    """Pixels of red, green and blue from planes, of which those of colour are half as large."""
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < W
    chroma = (row // 2) * (W // 2) + columns // 2
    y = tl.load(y_ptr + row * W + columns, mask=mask).to(tl.int32)
    u = tl.load(u_ptr + chroma, mask=mask).to(tl.int32) - 128
    v = tl.load(v_ptr + chroma, mask=mask).to(tl.int32) - 128
    red = y + ((359 * v) >> 8)
    green = y - ((88 * u + 183 * v) >> 8)
    blue = y + ((454 * u) >> 8)
    out = rgb_ptr + 3 * (row * W + columns)
    tl.store(out, tl.minimum(tl.maximum(red, 0), 255).to(tl.uint8), mask=mask)
    tl.store(out + 1, tl.minimum(tl.maximum(green, 0), 255).to(tl.uint8), mask=mask)
    tl.store(out + 2, tl.minimum(tl.maximum(blue, 0), 255).to(tl.uint8), mask=mask)


def rgb_of_yuv_arguments(H=64, W=320):
    y, u, v = (
        torch.randint(0, 256, s, dtype=torch.uint8) for s in ((H, W), *[(H // 2, W // 2)] * 2)
    )
    rgb = torch.empty(H, W, 3, dtype=torch.uint8)
    return {"y_ptr": y, "u_ptr": u, "v_ptr": v, "rgb_ptr": rgb, "W": W}


def rgb_of_yuv_grid(meta):
    return (meta["H"], triton.cdiv(meta["W"], meta["BLOCK"]))


def rgb_of_yuv_reference(y_ptr, u_ptr, v_ptr):
    u, v = (x.int().repeat_interleave(2, 0).repeat_interleave(2, 1) - 128 for x in (u_ptr, v_ptr))
    y = y_ptr.int()
    colours = y + ((359 * v) >> 8), y - ((88 * u + 183 * v) >> 8), y + ((454 * u) >> 8)
    return {"rgb_ptr": torch.stack(colours, 2).clamp(0, 255).to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def pad_reflect(x_ptr, y_ptr, N, PAD, BLOCK: tl.constexpr):
    """Rows that go on at both ends as in a mirror."""
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N + 2 * PAD
    source = tl.abs(at - PAD)
    source = tl.where(source < N, source, 2 * (N - 1) - source)
    tl.store(
        y_ptr + row * (N + 2 * PAD) + at, tl.load(x_ptr + row * N + source, mask=mask), mask=mask
    )


def pad_reflect_arguments(M=32, N=900, PAD=12):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(M, N + 2 * PAD), "N": N, "PAD": PAD}


def pad_reflect_grid(meta):
    return (meta["M"], triton.cdiv(meta["N"] + 2 * meta["PAD"], meta["BLOCK"]))


def pad_reflect_reference(x_ptr, PAD):
    return {"y_ptr": torch.nn.functional.pad(x_ptr, (PAD, PAD), mode="reflect")}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def reverse_rows(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + N - 1 - at, mask=at < N)
    tl.store(y_ptr + row * N + at, x, mask=at < N)


def reverse_rows_arguments(M=32, N=1000):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(M, N), "N": N}


def reverse_rows_grid(meta):
    return (meta["M"], triton.cdiv(meta["N"], meta["BLOCK"]))


def reverse_rows_reference(x_ptr):
    return {"y_ptr": x_ptr.flip(1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def depthwise_conv(x_ptr, weights_ptr, y_ptr, C, H, W, BLOCK: tl.constexpr):
    """Three by three weights for each channel; what is outside counts as 0."""
    channel = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = at // W, at % W
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for dy in tl.static_range(3):
        for dx in tl.static_range(3):
            r, c = row + dy - 1, column + dx - 1
            inside = (r >= 0) & (r < H) & (c >= 0) & (c < W)
            x = tl.load(x_ptr + channel * H * W + r * W + c, mask=inside, other=0.0)
            total += x * tl.load(weights_ptr + channel * 9 + dy * 3 + dx)
    tl.store(y_ptr + channel * H * W + at, total, mask=at < H * W)


def depthwise_conv_arguments(C=8, H=56, W=56):
    x, weights = torch.randn(C, H, W), torch.randn(C, 3, 3)
    return {
        "x_ptr": x,
        "weights_ptr": weights,
        "y_ptr": torch.empty(C, H, W),
        "C": C,
        "H": H,
        "W": W,
    }


def depthwise_conv_grid(meta):
    return (triton.cdiv(meta["H"] * meta["W"], meta["BLOCK"]), meta["C"])


def depthwise_conv_reference(x_ptr, weights_ptr, C):
    weights = weights_ptr.double()[:, None]
    y = torch.nn.functional.conv2d(x_ptr.double()[None], weights, padding=1, groups=C)
    return {"y_ptr": y[0]}


@triton.autotune(
    [triton.Config({"BLOCK_P": p, "BLOCK_C": c}) for p, c in ((64, 16), (128, 4))], key=[]
)
@triton.jit
def nhwc_of_nchw(x_ptr, y_ptr, C, HW, BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr):
    pixels = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    channels = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    image = tl.program_id(2) * C * HW
    mask = (pixels[:, None] < HW) & (channels[None, :] < C)
    x = tl.load(x_ptr + image + channels[None, :] * HW + pixels[:, None], mask=mask)
    tl.store(y_ptr + image + pixels[:, None] * C + channels[None, :], x, mask=mask)


def nhwc_of_nchw_arguments(B=2, C=24, HW=900):
    return {"x_ptr": torch.randn(B, C, HW), "y_ptr": torch.empty(B, HW, C), "C": C, "HW": HW}


def nhwc_of_nchw_grid(meta):
    across = triton.cdiv(meta["HW"], meta["BLOCK_P"])
    return (across, triton.cdiv(meta["C"], meta["BLOCK_C"]), meta["B"])


def nhwc_of_nchw_reference(x_ptr):
    return {"y_ptr": x_ptr.transpose(1, 2).contiguous()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def im2col(x_ptr, y_ptr, H, W, N, K: tl.constexpr, BLOCK: tl.constexpr):
    """For each of K x K places in a window, a plane of the pixels that are there."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    out_w = W - K + 1
    out_h = H - K + 1
    column = at % out_w
    row = at // out_w % out_h
    place = at // (out_w * out_h)
    source = (row + place // K) * W + column + place % K
    tl.store(y_ptr + at, tl.load(x_ptr + source, mask=at < N), mask=at < N)


def im2col_arguments(H=50, W=66):
    out = 9 * (H - 2) * (W - 2)
    return {"x_ptr": torch.randn(H, W), "y_ptr": torch.empty(out), "H": H, "W": W, "N": out, "K": 3}


def im2col_grid(meta):
    return (triton.cdiv(9 * (meta["H"] - 2) * (meta["W"] - 2), meta["BLOCK"]),)


def im2col_reference(x_ptr):
    return {"y_ptr": torch.nn.functional.unfold(x_ptr[None, None], 3).flatten()}
