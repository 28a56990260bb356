"""Ten operators of flash-linear-attention (fla-core 0.6.0), with gradients where there are any.

Left out: `fla/ops/cyfa/fused_recurrent.py`, which takes tensors of a GPU only.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from user import backward, main, program, rand, randn

HALF, BRAIN, SINGLE = torch.float16, torch.bfloat16, torch.float32
# Batch, time, heads, and the width of a head.
SIZES = (1, 128, 2, 64)


def vector(seed: int, dtype: torch.dtype) -> torch.Tensor:
    return randn(*SIZES, dtype=dtype, seed=seed)


def unit(seed: int, dtype: torch.dtype) -> torch.Tensor:
    return F.normalize(randn(*SIZES, seed=seed), dim=-1).to(dtype)


def decay(seed: int, *shape: int) -> torch.Tensor:
    return F.logsigmoid(randn(*shape, seed=seed) + 2)


@program("fla", "chunk_gsa_bwd_kernel_dA", "fp16")
def gated_slot_attention() -> Any:
    from fla.ops.gsa import chunk_gsa

    return backward(
        lambda q, k, v, s, g: chunk_gsa(q, k, v, s, g)[0],
        *(vector(seed, HALF) for seed in range(4)),
        decay(4, *SIZES).to(HALF),
    )


@program("fla", "chunk_kda_bwd_kernel_wy_dqkg_fused", "fp32")
def delta_attention() -> Any:
    from fla.ops.kda import chunk_kda

    return backward(
        lambda q, k, v, g, beta: chunk_kda(q, k, v, g, beta)[0],
        *(unit(0, SINGLE), unit(1, SINGLE), vector(2, SINGLE)),
        *(decay(3, *SIZES), rand(*SIZES[:3], seed=4)),
    )


@program("fla", "token_shift_bwd_kernel_long", "fp16")
def token_shift() -> Any:
    from fla.modules.token_shift import token_shift

    return backward(token_shift, randn(1, 4160, 512, dtype=HALF))


@program("fla", "fused_recurrent_gated_delta_rule_fwd_kernel", "fp16")
def gated_delta_rule() -> Any:
    from fla.ops.gated_delta_rule import fused_recurrent_gated_delta_rule

    with torch.no_grad():
        return fused_recurrent_gated_delta_rule(
            *(unit(0, HALF), unit(1, HALF), vector(2, HALF)),
            g=decay(3, *SIZES[:3]),
            beta=rand(*SIZES[:3], dtype=HALF, seed=4),
            output_final_state=True,
        )


@program("fla", "chunk_scaled_dot_kkt_fwd_kernel", "bf16")
def gated_delta_product() -> Any:
    from fla.ops.gated_delta_product import chunk_gated_delta_product

    batch, time, heads, width = SIZES
    keys = F.normalize(randn(batch, 2 * time, heads, width, seed=1), dim=-1)
    with torch.no_grad():
        return chunk_gated_delta_product(
            vector(0, BRAIN),
            keys.to(BRAIN),
            randn(batch, 2 * time, heads, width, dtype=BRAIN, seed=2),
            decay(3, *SIZES[:3]),
            rand(batch, 2 * time, heads, dtype=BRAIN, seed=4),
            num_householder=2,
        )[0]


@program("fla", "chunk_mesa_net_h_kk_bwd_intra_kernel", "bf16")
def mesa_layer() -> Any:
    from fla.ops.mesa_net import chunk_mesa_net

    lamb = rand(SIZES[2], 64, seed=5) * 0.75 + 0.25
    return backward(
        lambda q, k, v, g, beta: chunk_mesa_net(q, k, v, g, beta, lamb, max_CG_iteration=10)[0],
        *(unit(0, BRAIN), unit(1, BRAIN), vector(2, BRAIN)),
        *(decay(3, *SIZES[:3]), rand(*SIZES[:3], dtype=BRAIN, seed=4)),
    )


@program("fla", "fused_recurrent_rwkv4_backward_kernel", "bf16")
def rwkv4() -> Any:
    from fla.ops.rwkv4 import fused_recurrent_rwkv4

    batch, time, channels = 1, 128, 512
    return backward(
        lambda w, u, k, v, state: fused_recurrent_rwkv4(w, u, k, v, state)[0],
        *(randn(channels, dtype=BRAIN, seed=seed) for seed in range(2)),
        *(randn(batch, time, channels, dtype=BRAIN, seed=seed) for seed in (2, 3)),
        randn(batch, 3, 1, channels, dtype=BRAIN, seed=4).abs(),
    )


@program("fla", "logsumexp_fwd_kernel", "fp32")
def logsumexp() -> Any:
    from fla.ops.utils import logsumexp_fwd

    return logsumexp_fwd(randn(256, 8192))


@program("fla", "chunk_kda_fwd_kernel_inter_solve_fused", "fp16")
def delta_attention_in_fp16() -> Any:
    from fla.ops.kda import chunk_kda

    with torch.no_grad():
        return chunk_kda(
            *(unit(0, HALF), unit(1, HALF), vector(2, HALF)),
            *(decay(3, *SIZES).to(HALF), rand(*SIZES[:3], dtype=HALF, seed=4)),
        )[0]


@program("fla", "fused_recurrent_bwd_kernel", "fp16")
def identity_and_low_rank() -> Any:
    from fla.ops.generalized_delta_rule import fused_recurrent_iplr_delta_rule

    return backward(
        lambda q, k, v, a, b: fused_recurrent_iplr_delta_rule(q, k, v, a, b)[0],
        *(vector(0, HALF), unit(1, HALF), vector(2, HALF), unit(3, HALF), -unit(3, HALF)),
    )


if __name__ == "__main__":
    main()
