"""Ten operators of Liger-Kernel 0.8.5, with their gradients."""

from __future__ import annotations

from typing import Any

import torch
from user import DEVICE, backward, main, program, randint, randn

HALF, BRAIN = torch.float16, torch.bfloat16


@program("liger_kernel", "liger_vocab_parallel_ce_backward_kernel", "bf16")
def vocab_parallel_cross_entropy() -> Any:
    from liger_kernel.transformers.vocab_parallel_cross_entropy import (
        LigerVocabParallelCrossEntropy,
    )

    target = randint(8192, 64, 2)
    loss = LigerVocabParallelCrossEntropy()
    return backward(lambda logits: loss(logits, target), randn(64, 2, 8192, dtype=BRAIN))


@program("liger_kernel", "_modulated_rms_norm_backward_kernel", "bf16")
def modulated_rms_norm() -> Any:
    from liger_kernel.transformers.functional import liger_modulated_rms_norm

    return backward(
        lambda x, weight, scale, shift: liger_modulated_rms_norm(
            x, weight, scale, shift, in_place=False
        ),
        randn(2, 128, 1024, dtype=BRAIN),
        randn(1024, dtype=BRAIN, seed=1),
        randn(2, 1024, dtype=BRAIN, seed=2),
        randn(2, 1024, dtype=BRAIN, seed=3),
    )


@program("liger_kernel", "_block_rms_norm_forward_kernel", "bf16")
def head_rms_norm() -> Any:
    from liger_kernel.transformers.functional import liger_rms_norm

    return backward(
        lambda x, weight: liger_rms_norm(x, weight, 1e-6),
        randn(1, 1024, 32, 128, dtype=BRAIN),
        randn(128, dtype=BRAIN, seed=1),
    )


@program("liger_kernel", "_sparsemax_backward_kernel", "bf16")
def sparsemax() -> Any:
    from liger_kernel.transformers.functional import liger_sparsemax

    return backward(lambda x: liger_sparsemax(x, dim=-1), randn(256, 1024, dtype=BRAIN))


@program("liger_kernel", "_fused_add_rms_norm_backward_kernel", "bf16")
def fused_add_rms_norm() -> Any:
    from liger_kernel.transformers.functional import liger_fused_add_rms_norm

    return backward(
        lambda x, residual, weight: liger_fused_add_rms_norm(x, residual, weight, 1e-6),
        randn(2, 128, 2048, dtype=BRAIN),
        randn(2, 128, 2048, dtype=BRAIN, seed=1),
        randn(2048, dtype=BRAIN, seed=2),
    )


@program("liger_kernel", "_group_norm_backward_kernel", "fp16")
def group_norm() -> Any:
    from liger_kernel.transformers.functional import liger_group_norm

    return backward(
        lambda x, weight, bias: liger_group_norm(x, weight, bias, 256, 32, 1e-6),
        randn(2, 256, 1024, dtype=HALF),
        randn(256, dtype=HALF, seed=1),
        randn(256, dtype=HALF, seed=2),
    )


@program("liger_kernel", "_fused_neighborhood_attention_grad_k_kernel", "bf16")
def neighborhood_attention() -> Any:
    from liger_kernel.transformers.functional import liger_fused_neighborhood_attention

    return backward(
        lambda q, k, v: liger_fused_neighborhood_attention(q, k, v, kernel_size=7),
        *(randn(1, 4, 256, 64, dtype=BRAIN, seed=seed) for seed in range(3)),
    )


@program("liger_kernel", "_mhc_sinkhorn_bwd_kernel", "fp32")
def mhc_coeffs() -> Any:
    from liger_kernel.ops.mhc import mhc_sinkhorn_bwd

    # Under autograd the package keeps the history, and launches another kernel.
    return mhc_sinkhorn_bwd(
        *(randn(128, 24), randn(24, seed=1), randn(1, seed=2), randn(128, 4, 4, seed=3)),
        tmax=20,
        sinkhorn_eps=1e-6,
    )


@program("liger_kernel", "_mask_fwd_kernel", "fp32")
def multi_token_attention() -> Any:
    from liger_kernel.transformers.multi_token_attention import LigerMultiTokenAttention

    torch.manual_seed(0)
    attention = LigerMultiTokenAttention(4, 4, kernel_size=3, padding=1).to(DEVICE)
    return backward(attention, randn(1, 4, 256, 256))


@program("liger_kernel", "_layer_norm_forward_kernel", "fp16")
def layer_norm() -> Any:
    from liger_kernel.transformers.functional import liger_layer_norm

    return backward(
        lambda x, weight, bias: liger_layer_norm(x, weight, bias, 1e-6),
        randn(2, 128, 2048, dtype=HALF),
        randn(2048, dtype=HALF, seed=1),
        randn(2048, dtype=HALF, seed=2),
    )


if __name__ == "__main__":
    main()
