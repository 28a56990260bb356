"""Gradient of the rotary position embedding: a rotation by the opposite angle."""

from __future__ import annotations

import triton
import triton.language as tl

from kernels.rope_fwd import make_spec, rotate

__all__ = ["SPEC"]


@triton.jit
def rope_bwd_kernel(
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
    """y, the gradient of the input, is x, that of the output, turned back."""
    rotate(
        x_ptr,
        cos_ptr,
        sin_ptr,
        y_ptr,
        n_tokens,
        n_heads,
        half,
        -1,
        BLOCK_SIZE_M,
        BLOCK_SIZE_H,
        BLOCK_SIZE_D,
    )


SPEC = make_spec("rope_bwd", rope_bwd_kernel, sign=-1)
