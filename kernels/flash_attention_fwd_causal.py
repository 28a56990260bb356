"""Causal attention: a query sees only the keys up to its own position."""

from __future__ import annotations

import triton
import triton.language as tl

from kernels.flash_attention_fwd import flash_attention_fwd_kernel, make_spec

__all__ = ["SPEC"]


@triton.jit
def flash_attention_fwd_causal_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    logsumexp_ptr,
    scale,
    n_queries,
    n_keys,
    head_size,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_DMODEL: tl.constexpr,
    WHOLE_HEAD: tl.constexpr,
    WHOLE_KEYS: tl.constexpr,
):
    """`flash_attention_fwd_kernel` with the causal mask; blocks of later keys are left out."""
    flash_attention_fwd_kernel(
        q_ptr,
        k_ptr,
        v_ptr,
        out_ptr,
        logsumexp_ptr,
        scale,
        n_queries,
        n_keys,
        head_size,
        BLOCK_SIZE_M,
        BLOCK_SIZE_N,
        BLOCK_SIZE_DMODEL,
        WHOLE_HEAD,
        WHOLE_KEYS,
        IS_CAUSAL=True,
    )


SPEC = make_spec(
    "flash_attention_fwd_causal",
    flash_attention_fwd_causal_kernel,
    is_causal=True,
    constants={},
)
