"""Kernels of bytes, bits and numbers as users write them; in C they are in `common_bits.h`."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 4096)], key=[])
@triton.jit
def popcount(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N, other=0).to(tl.uint32, bitcast=True)
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    tl.store(y_ptr + at, ((x * 0x01010101) >> 24).to(tl.int32), mask=at < N)


def popcount_arguments(N=32768):
    x = torch.randint(-(1 << 31), (1 << 31) - 1, (N,), dtype=torch.int32)
    return {"x_ptr": x, "y_ptr": torch.empty(N, dtype=torch.int32), "N": N}


def popcount_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def popcount_reference(x_ptr):
    bits = (x_ptr[:, None] >> torch.arange(32, dtype=torch.int32)) & 1
    return {"y_ptr": bits.sum(1).int()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 4096)], key=[])
@triton.jit
def classify_bytes(text_ptr, kinds_ptr, N, BLOCK: tl.constexpr):
    """1 for letters, 2 for digits, 3 for white space, else 0."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.load(text_ptr + at, mask=at < N, other=0)
    lower = c | 32
    kind = tl.where((lower >= 97) & (lower <= 122), 1, 0)
    kind = tl.where((c >= 48) & (c <= 57), 2, kind)
    kind = tl.where((c == 32) | ((c >= 9) & (c <= 13)), 3, kind)
    tl.store(kinds_ptr + at, kind.to(tl.uint8), mask=at < N)


def classify_bytes_arguments(N=65536):
    text = torch.randint(0, 128, (N,), dtype=torch.uint8)
    return {"text_ptr": text, "kinds_ptr": torch.empty(N, dtype=torch.uint8), "N": N}


def classify_bytes_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def classify_bytes_reference(text_ptr):
    c = text_ptr.int()
    lower = c | 32
    kind = ((lower >= 97) & (lower <= 122)).int()
    kind = torch.where((c >= 48) & (c <= 57), 2, kind)
    kind = torch.where((c == 32) | ((c >= 9) & (c <= 13)), 3, kind)
    return {"kinds_ptr": kind.to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (32, 128)], key=[])
@triton.jit
def dequantize_int4(q_ptr, scale_ptr, out_ptr, GROUP: tl.constexpr, N, BLOCK: tl.constexpr):
    """Two numbers of 4 bits in a byte, the lower first; a scale for each GROUP numbers."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N // 2
    q = tl.load(q_ptr + at, mask=mask)
    scale = tl.load(scale_ptr + 2 * at // GROUP, mask=mask)
    low = ((q & 15).to(tl.float32) - 8) * scale
    high = ((q >> 4).to(tl.float32) - 8) * scale
    tl.store(out_ptr + 2 * at, low, mask=mask)
    tl.store(out_ptr + 2 * at + 1, high, mask=mask)


def dequantize_int4_arguments(N=32768):
    return {
        "q_ptr": torch.randint(0, 256, (N // 2,), dtype=torch.uint8),
        "scale_ptr": torch.rand(N // 64),
        "out_ptr": torch.empty(N),
        "GROUP": 64,
        "N": N,
    }


def dequantize_int4_grid(meta):
    return (triton.cdiv(meta["N"] // 2, meta["BLOCK"]),)


def dequantize_int4_reference(q_ptr, scale_ptr):
    numbers = torch.stack((q_ptr & 15, q_ptr >> 4), dim=1).flatten().double() - 8
    return {"out_ptr": numbers * scale_ptr.repeat_interleave(64)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def dequantize_fp8(q_ptr, out_ptr, scale, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + at, mask=at < N, other=0).to(tl.float8e4nv, bitcast=True)
    tl.store(out_ptr + at, q.to(tl.float32) * scale, mask=at < N)


def dequantize_fp8_arguments(N=32768):
    q = torch.randn(N).to(torch.float8_e4m3fn).view(torch.uint8)
    return {"q_ptr": q, "out_ptr": torch.empty(N), "scale": 0.125, "N": N}


def dequantize_fp8_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def dequantize_fp8_reference(q_ptr, scale):
    return {"out_ptr": q_ptr.view(torch.float8_e4m3fn).double() * scale}


@triton.autotune([triton.Config({"BLOCK": 64})], key=[])
@triton.jit
def sort_rows(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=float("inf"))
    tl.store(y_ptr + row * N + columns, tl.sort(x), mask=columns < N)


def sort_rows_arguments(M=64, N=64):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(M, N), "N": N}


def sort_rows_grid(meta):
    return (meta["M"],)


def sort_rows_reference(x_ptr):
    return {"y_ptr": x_ptr.sort(1).values}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 4096)], key=[])
@triton.jit
def scatter_counts(x_ptr, counts_ptr, N, BLOCK: tl.constexpr):
    """A histogram by one atomic for each element."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N, other=0).to(tl.int32)
    tl.atomic_add(counts_ptr + x, 1, mask=at < N)


def scatter_counts_arguments(N=16384):
    return {
        "x_ptr": torch.randint(0, 256, (N,), dtype=torch.uint8),
        "counts_ptr": torch.zeros(256, dtype=torch.int32),
        "N": N,
    }


def scatter_counts_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def scatter_counts_reference(x_ptr):
    return {"counts_ptr": x_ptr.int().bincount(minlength=256).int()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def gray_of_argb(pixel_ptr, gray_ptr, N, BLOCK: tl.constexpr):
    """The brightness of pixels in 32 bits, by the weights of BT.601 in 8 bits."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    pixel = tl.load(pixel_ptr + at, mask=at < N, other=0)
    red, green, blue = (pixel >> 16) & 255, (pixel >> 8) & 255, pixel & 255
    gray = (77 * red + 150 * green + 29 * blue + 128) >> 8
    tl.store(gray_ptr + at, gray.to(tl.uint8), mask=at < N)


def gray_of_argb_arguments(N=32768):
    pixels = torch.randint(-(1 << 31), (1 << 31) - 1, (N,), dtype=torch.int32)
    return {"pixel_ptr": pixels, "gray_ptr": torch.empty(N, dtype=torch.uint8), "N": N}


def gray_of_argb_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def gray_of_argb_reference(pixel_ptr):
    blue, green, red, _ = pixel_ptr.view(torch.uint8).view(-1, 4).int().T
    return {"gray_ptr": ((77 * red + 150 * green + 29 * blue + 128) >> 8).to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64)], key=[])
@triton.jit
def unpack_weights(packed_ptr, zero_ptr, scale_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """A row of int32 holds eight rows of 4-bit weights, as GPTQ packs them."""
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    packed = tl.load(packed_ptr + row * N + at, mask=at < N, other=0)
    zero = tl.load(zero_ptr + at, mask=at < N, other=0).to(tl.int32)
    scale = tl.load(scale_ptr + at, mask=at < N, other=0.0)
    for place in tl.static_range(8):
        weight = ((packed >> (4 * place)) & 15) - zero
        tl.store(out_ptr + (row * 8 + place) * N + at, weight.to(tl.float32) * scale, mask=at < N)


def unpack_weights_arguments(K=64, N=500):
    return {
        "packed_ptr": torch.randint(-(1 << 31), (1 << 31) - 1, (K // 8, N), dtype=torch.int32),
        "zero_ptr": torch.randint(0, 16, (N,), dtype=torch.uint8),
        "scale_ptr": torch.rand(N) + 0.5,
        "out_ptr": torch.empty(K, N),
        "N": N,
    }


def unpack_weights_grid(meta):
    return (meta["K"] // 8, triton.cdiv(meta["N"], meta["BLOCK"]))


def unpack_weights_reference(packed_ptr, zero_ptr, scale_ptr):
    weights = (packed_ptr[:, None] >> (4 * torch.arange(8, dtype=torch.int32))[:, None]) & 15
    return {"out_ptr": ((weights - zero_ptr.int()) * scale_ptr).flatten(0, 1)}
