"""Kernels as programs have them that take sines and cosines of the same angles."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 1024)], key=[])
@triton.jit
def normal_pairs(u_ptr, v_ptr, first_ptr, second_ptr, N, BLOCK: tl.constexpr):
    """Pairs of normally distributed numbers from uniform ones, by Triton's own function."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    u = tl.load(u_ptr + at, mask=mask, other=1.0)
    v = tl.load(v_ptr + at, mask=mask, other=1.0)
    first, second = tl.pair_uniform_to_normal(u, v)
    tl.store(first_ptr + at, first, mask=mask)
    tl.store(second_ptr + at, second, mask=mask)


def normal_pairs_arguments(N=8000):
    return {
        "u_ptr": torch.rand(N),
        "v_ptr": torch.rand(N),
        "first_ptr": torch.empty(N),
        "second_ptr": torch.empty(N),
        "N": N,
    }


def normal_pairs_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def normal_pairs_reference(u_ptr, v_ptr):
    radius = (-2 * u_ptr.double().clamp_min(1e-7).log()).sqrt()
    angle = 2 * torch.pi * v_ptr.double()
    return {"first_ptr": radius * angle.cos(), "second_ptr": radius * angle.sin()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (32, 64)], key=[])
@triton.jit
def rotate_by_position(x_ptr, position_ptr, frequency_ptr, out_ptr, HALF, BLOCK: tl.constexpr):
    """Rotary embeddings whose angles are computed, not loaded: each head's two halves turn."""
    row = tl.program_id(0)
    position = tl.load(position_ptr + row).to(tl.float32)
    for start in range(0, HALF, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < HALF
        angle = position * tl.load(frequency_ptr + at, mask=mask, other=0.0)
        cos, sin = tl.cos(angle), tl.sin(angle)
        low = tl.load(x_ptr + row * 2 * HALF + at, mask=mask, other=0.0)
        high = tl.load(x_ptr + row * 2 * HALF + HALF + at, mask=mask, other=0.0)
        tl.store(out_ptr + row * 2 * HALF + at, low * cos - high * sin, mask=mask)
        tl.store(out_ptr + row * 2 * HALF + HALF + at, high * cos + low * sin, mask=mask)


def rotate_by_position_arguments(ROWS=96, HALF=64):
    return {
        "x_ptr": torch.randn(ROWS, 2 * HALF),
        "position_ptr": torch.randint(0, 4096, (ROWS,), dtype=torch.int32),
        "frequency_ptr": 10000 ** -(torch.arange(HALF) / HALF),
        "out_ptr": torch.empty(ROWS, 2 * HALF),
        "HALF": HALF,
    }


def rotate_by_position_grid(meta):
    return (meta["ROWS"],)


def rotate_by_position_reference(x_ptr, position_ptr, frequency_ptr, HALF):
    angle = (position_ptr[:, None].float() * frequency_ptr).double()
    low, high = x_ptr.double()[:, :HALF], x_ptr.double()[:, HALF:]
    cos, sin = angle.cos(), angle.sin()
    return {"out_ptr": torch.cat([low * cos - high * sin, high * cos + low * sin], 1)}
