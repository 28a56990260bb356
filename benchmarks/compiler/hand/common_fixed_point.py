"""Arithmetic of fixed point as firmware engineers write it: bytes, int16 and gains as integers.

All five were written after the rules that they are to judge, and measured once.
"""

import torch
import triton
import triton.language as tl

_SIZES = (256, 1024)


@triton.autotune([triton.Config({"BLOCK": block}) for block in _SIZES], key=[])
@triton.jit
def contrast_bytes(x_ptr, y_ptr, gain, offset, N, BLOCK: tl.constexpr):
    """A picture with more contrast, around a middle of 128, by a gain with 6 bits of fraction."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0).to(tl.int32)
    y = (((x - 128) * gain + 32) >> 6) + 128 + offset
    tl.store(y_ptr + at, tl.minimum(tl.maximum(y, 0), 255).to(tl.uint8), mask=mask)


def contrast_bytes_arguments(N=20000):
    x, y = torch.randint(0, 256, (N,), dtype=torch.uint8), torch.empty(N, dtype=torch.uint8)
    return {"x_ptr": x, "y_ptr": y, "gain": 90, "offset": -7, "N": N}


def contrast_bytes_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def contrast_bytes_reference(x_ptr, gain, offset):
    y = (((x_ptr.int() - 128) * gain + 32) >> 6) + 128 + offset
    return {"y_ptr": y.clamp(0, 255).byte()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in _SIZES], key=[])
@triton.jit
def leaky_difference(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """Sound without its mean: each sample less the last one, of which a hundredth stays."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at + 1, mask=mask, other=0).to(tl.int32)
    last = tl.load(x_ptr + at, mask=mask, other=0).to(tl.int32)
    y = x - last + ((last * 328 + 16384) >> 15)
    tl.store(y_ptr + at, tl.minimum(tl.maximum(y, -32768), 32767).to(tl.int16), mask=mask)


def leaky_difference_arguments(N=20000):
    x = torch.randint(-32768, 32768, (N + 1,), dtype=torch.int16)
    return {"x_ptr": x, "y_ptr": torch.empty(N, dtype=torch.int16), "N": N}


def leaky_difference_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def leaky_difference_reference(x_ptr):
    x, last = x_ptr[1:].int(), x_ptr[:-1].int()
    y = x - last + ((last * 328 + 16384) >> 15)
    return {"y_ptr": y.clamp(-32768, 32767).short()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in _SIZES], key=[])
@triton.jit
def ring_modulation(a_ptr, b_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """Twice the product of two sounds, cut off at 16 bits."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    a = tl.load(a_ptr + at, mask=mask, other=0).to(tl.int32)
    b = tl.load(b_ptr + at, mask=mask, other=0).to(tl.int32)
    y = tl.maximum(tl.minimum((a * b) >> 14, 32767), -32768)
    tl.store(y_ptr + at, y.to(tl.int16), mask=mask)


def ring_modulation_arguments(N=20000):
    a, b = (torch.randint(-32768, 32768, (N,), dtype=torch.int16) for _ in range(2))
    return {"a_ptr": a, "b_ptr": b, "y_ptr": torch.empty(N, dtype=torch.int16), "N": N}


def ring_modulation_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def ring_modulation_reference(a_ptr, b_ptr):
    return {"y_ptr": ((a_ptr.int() * b_ptr.int()) >> 14).clamp(-32768, 32767).short()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 256)], key=[])
@triton.jit
def requantise_by_channel(sums_ptr, factor_ptr, y_ptr, C, zero, BLOCK: tl.constexpr):
    """Sums of a quantised layer as bytes, by a factor of 16 bits for each channel."""
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = channel < C
    sums = tl.load(sums_ptr + tl.program_id(0) * C + channel, mask=mask, other=0)
    factor = tl.load(factor_ptr + channel, mask=mask, other=0).to(tl.int32)
    y = tl.minimum(tl.maximum(((sums * factor + (1 << 15)) >> 16) + zero, 0), 255)
    tl.store(y_ptr + tl.program_id(0) * C + channel, y.to(tl.uint8), mask=mask)


def requantise_by_channel_arguments(M=64, C=256):
    return {
        "sums_ptr": torch.randint(-40000, 40000, (M, C), dtype=torch.int32),
        "factor_ptr": torch.randint(100, 400, (C,), dtype=torch.int16),
        "y_ptr": torch.empty(M, C, dtype=torch.uint8),
        "C": C,
        "zero": 100,
    }


def requantise_by_channel_grid(meta):
    return (meta["M"], triton.cdiv(meta["C"], meta["BLOCK"]))


def requantise_by_channel_reference(sums_ptr, factor_ptr, zero):
    y = ((sums_ptr * factor_ptr.int() + (1 << 15)) >> 16) + zero
    return {"y_ptr": y.clamp(0, 255).byte()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in _SIZES], key=[])
@triton.jit
def pan_mono(x_ptr, y_ptr, left, right, N, BLOCK: tl.constexpr):
    """Sound on two channels, by gains with 12 bits of fraction."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0).to(tl.int32)
    on_left = tl.minimum(tl.maximum((x * left + 2048) >> 12, -32768), 32767)
    on_right = tl.minimum(tl.maximum((x * right + 2048) >> 12, -32768), 32767)
    tl.store(y_ptr + 2 * at, on_left.to(tl.int16), mask=mask)
    tl.store(y_ptr + 2 * at + 1, on_right.to(tl.int16), mask=mask)


def pan_mono_arguments(N=12000):
    x = torch.randint(-32768, 32768, (N,), dtype=torch.int16)
    y = torch.empty(N, 2, dtype=torch.int16)
    return {"x_ptr": x, "y_ptr": y, "left": 5100, "right": 2300, "N": N}


def pan_mono_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def pan_mono_reference(x_ptr, left, right):
    x = x_ptr.int()[:, None] * torch.tensor([[left, right]], dtype=torch.int32)
    return {"y_ptr": ((x + 2048) >> 12).clamp(-32768, 32767).short()}
