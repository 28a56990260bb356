"""Rotary position embedding of the heads of every token.

The halves of a head are the real and imaginary parts of numbers. Each is rotated by an angle that
grows with the token's position (J. Su et al., RoFormer, arXiv 2104.09864; the halves as in Llama).
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import (
    Tolerance,
    input_array,
    output_array,
    seeded_normal,
    size_bytes,
    sizes,
    unit_roundoff,
)
from launchers.arguments import Argument

__all__ = ["SPEC", "make_spec", "rotate"]

# Base of the angles, as in RoFormer and Llama.
_BASE = 10000.0


@triton.jit
def rotate(
    x_ptr,
    cos_ptr,
    sin_ptr,
    y_ptr,
    n_tokens,
    n_heads,
    half,
    SIGN: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_H: tl.constexpr,
    BLOCK_SIZE_D: tl.constexpr,
):
    """Turn by SIGN times the angle: BLOCK_SIZE_M tokens a program, BLOCK_SIZE_H heads at a time.

    x, y: (n_tokens, n_heads, 2 * half); cos, sin: (n_tokens, half). A token's angles are read once
    for all its heads. BLOCK_SIZE_D is a power of two that covers half a head.
    """
    dims = tl.arange(0, BLOCK_SIZE_D)
    first = tl.program_id(axis=0) * BLOCK_SIZE_M
    for token in range(first, min(first + BLOCK_SIZE_M, n_tokens)):
        cos = tl.load(cos_ptr + token * half + dims, mask=dims < half, other=0.0).to(tl.float32)
        sin = tl.load(sin_ptr + token * half + dims, mask=dims < half, other=0.0).to(tl.float32)
        sin = sin * SIGN
        for first_head in range(0, n_heads, BLOCK_SIZE_H):
            heads = first_head + tl.arange(0, BLOCK_SIZE_H)
            at = (token * n_heads + heads)[:, None] * (2 * half) + dims[None, :]
            mask = (heads[:, None] < n_heads) & (dims[None, :] < half)
            real = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
            imaginary = tl.load(x_ptr + at + half, mask=mask, other=0.0).to(tl.float32)
            turned_real = real * cos[None, :] - imaginary * sin[None, :]
            turned_imaginary = imaginary * cos[None, :] + real * sin[None, :]
            tl.store(y_ptr + at, turned_real.to(y_ptr.dtype.element_ty), mask=mask)
            tl.store(y_ptr + at + half, turned_imaginary.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def rope_fwd_kernel(
    x_ptr,
    cos_ptr,
    sin_ptr,
    y_ptr,
    n_tokens,
    n_heads,
    half,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_H: tl.constexpr,
    BLOCK_SIZE_D: tl.constexpr,
):
    """y is x with every head turned by its token's angles."""
    rotate(
        x_ptr,
        cos_ptr,
        sin_ptr,
        y_ptr,
        n_tokens,
        n_heads,
        half,
        1,
        BLOCK_SIZE_M,
        BLOCK_SIZE_H,
        BLOCK_SIZE_D,
    )


def make_spec(name: str, kernel: Any, sign: int) -> KernelSpec:
    """The kernel's entry for one direction: `sign` is 1 for forward and -1 for backward."""
    return KernelSpec(
        name=name,
        kernel=kernel,
        default_shape={"TOKENS": 128, "HEADS": 8, "HEAD_SIZE": 64},
        default_config=_default_config,
        dtypes=("fp32", "fp16", "bf16"),
        arguments=lambda problem, config: _arguments(problem, sign),
        grid=_grid,
        # Four products, a difference and a sum per pair.
        flops=lambda problem: 3 * _elements(problem),
        traffic_bytes=_traffic_bytes,
    )


def _arguments(problem: Problem, sign: int) -> tuple[Argument, ...]:
    tokens, heads, half = problem.shape["TOKENS"], problem.shape["HEADS"], _half(problem)
    x = seeded_normal((tokens, heads, 2 * half), 0, problem.dtype)
    speeds = _BASE ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.outer(torch.arange(tokens, dtype=torch.float64), speeds)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    turn = torch.complex(cos.double(), sign * sin.double())[:, None, :]
    turned = torch.complex(x[..., :half].double(), x[..., half:].double()) * turn
    expected = torch.cat([turned.real, turned.imag], dim=2).to(x.dtype)
    tolerance = Tolerance(atol=1e-6, rtol=max(1e-5, 2 * unit_roundoff(problem.dtype)))
    return (
        input_array("x_ptr", x),
        input_array("cos_ptr", cos),
        input_array("sin_ptr", sin),
        output_array("y_ptr", expected, tolerance),
        *sizes(n_tokens=tokens, n_heads=heads, half=half),
    )


def _half(problem: Problem) -> int:
    """Pairs in a head; an odd head size is rounded up."""
    return -(-problem.shape["HEAD_SIZE"] // 2)


def _elements(problem: Problem) -> int:
    return problem.shape["TOKENS"] * problem.shape["HEADS"] * 2 * _half(problem)


def _grid(problem: Problem, config: Config) -> Grid:
    return (triton.cdiv(problem.shape["TOKENS"], int(config["BLOCK_SIZE_M"])), 1, 1)


def _default_config(problem: Problem) -> Config:
    half = triton.next_power_of_2(_half(problem))
    return Config({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_H": 4, "BLOCK_SIZE_D": half})


def _traffic_bytes(problem: Problem) -> float:
    angles = 2 * problem.shape["TOKENS"] * _half(problem)
    return size_bytes(problem.dtype) * (2 * _elements(problem) + angles)


SPEC = make_spec("rope_fwd", rope_fwd_kernel, sign=1)
