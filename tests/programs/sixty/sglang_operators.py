"""Five operators of SGLang 0.5.23.

Left out, in the order drawn: `draft_extend.py`, `gemma4_fused_ops.py` and
`mimo_local_attention.py`, which ask for tensors on a GPU.
"""

from __future__ import annotations

from typing import Any

import torch
from user import DEVICE, main, program, randint, randn

HALF, SINGLE = torch.float16, torch.float32


def integers(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=DEVICE)


@program("sglang", "_rmsnorm_fp8_e8m0_kernel", "fp32, fp8")
def rmsnorm_fp8() -> Any:
    from sglang.kernels.ops.layernorm.rmsnorm_fp8_e8m0 import rmsnorm_fp8_e8m0_quant

    (quantised, scales), normed = rmsnorm_fp8_e8m0_quant(
        randn(256, 2048), randn(2048, seed=1), 1e-6
    )
    return quantised, scales.view(torch.uint8), normed


@program("sglang", "fused_kda_conv_gating_verify_kernel", "fp16")
def kda_verify() -> Any:
    from sglang.kernels.ops.attention.linear.fused_kda_conv_recurrent_verify import (
        fused_kda_conv_gating_verify,
    )

    batch, steps, heads, width = 4, 4, 2, 64
    tokens, channels = batch * steps, 3 * heads * width
    state = randn(8, 3, channels, dtype=HALF, seed=1).transpose(1, 2)
    states = randn(8, heads, width, width, seed=2)
    out = fused_kda_conv_gating_verify(
        randn(tokens, channels, dtype=HALF),
        randn(channels, 4, dtype=HALF, seed=3),
        None,
        state,
        integers(0, 1, 2, 3),
        None,
        None,
        randn(tokens, heads * width, dtype=HALF, seed=4),
        randn(tokens, heads, dtype=HALF, seed=5),
        randn(heads, seed=6),
        randn(heads * width, seed=7),
        states,
        integers(0, 1, 2, 3),
        None,
        width**-0.5,
        steps,
        heads,
        heads,
        width,
        width,
    )
    return out, state, states


@program("sglang", "_engram_commit_history_kernel", "int64")
def engram_commit_history() -> Any:
    from sglang.kernels.ops.embeddings.engram_hash import engram_commit_history

    history = randint(32000, 64, 7)
    engram_commit_history(
        history,
        randint(32000, 32, 8, seed=1),
        torch.arange(32, device=DEVICE),
        randint(5, 32, seed=2),
    )
    return history


@program("sglang", "_gemma_rmsnorm_kernel", "fp32")
def gemma_rmsnorm() -> Any:
    from sglang.kernels.ops.layernorm.minimax_m3_rmsnorm import gemma_rmsnorm

    return gemma_rmsnorm(randn(256, 3072), randn(3072, seed=1), 1e-6)


@program("sglang", "_build_pa_page_table_kernel", "int32")
def page_table() -> Any:
    from sglang.kernels.ops.attention.pa_page_table import _build_pa_page_table

    return _build_pa_page_table(
        randint(65536, 16, 4096, dtype=torch.int32),
        integers(3, 0, 7, 9, 1, 2, 15, 4),
        integers(2000, 900, 4000, 128, 3000, 50, 700, 1024),
        integers(*[512] * 16),
        256,
        8,
        4096,
        torch.device(DEVICE),
    )


if __name__ == "__main__":
    main()
