"""Seven operators of vLLM 0.33.0.

Left out, in the order drawn: `dsv4_topk.py` and `olmo_gdn_linear_attn.py`, whose imports need
vLLM's server; `flashinfer.py`, which needs FlashInfer; `rms_norm_tp.py`, which needs NCCL;
`mamba_ssm.py`, `base_router.py` and `structured_outputs.py`, which ask for a GPU's name, platform
or streams; `dflash/speculator.py` and `batch_shard.py`, which take the state of a running server.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import torch
from user import DEVICE, main, program, randint, randn

HALF, BRAIN, SINGLE = torch.float16, torch.bfloat16, torch.float32


def integers(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=DEVICE)


@program("vllm", "kernel_reduce_segments_diffkv", "bf16")
def decode_attention_diffkv() -> Any:
    from vllm.v1.attention.ops.triton_unified_attention_diffkv import unified_attention_diffkv

    sequences, heads, segments = 4, 8, 8
    out = torch.zeros(sequences, heads, 128, dtype=BRAIN, device=DEVICE)
    unified_attention_diffkv(
        randn(sequences, heads, 192, dtype=BRAIN),
        randn(33, 16, 2, 192, dtype=BRAIN, seed=1),
        randn(33, 16, 2, 128, dtype=BRAIN, seed=2),
        out,
        integers(*range(sequences + 1)),
        integers(100, 128, 37, 64),
        192**-0.5,
        True,
        (-1, -1),
        1 + torch.arange(32, dtype=torch.int32, device=DEVICE).view(4, 8),
        0.0,
        seq_threshold_3D=8,
        num_par_softmax_segments=segments,
        softmax_segm_output=torch.zeros(sequences, heads, segments, 128, device=DEVICE),
        softmax_segm_max=torch.zeros(sequences, heads, segments, device=DEVICE),
        softmax_segm_expsum=torch.zeros(sequences, heads, segments, device=DEVICE),
    )
    return out


@program("vllm", "_fused_qk_rmsnorm_rope_gate_kernel", "fp16")
def qk_norm_rope_gate() -> Any:
    from vllm.model_executor.layers.fused_qk_norm_rope import fused_qk_rmsnorm_rope_gate

    tokens, heads, kv_heads, width = 128, 8, 2, 128
    return fused_qk_rmsnorm_rope_gate(
        randn(tokens, heads * 2 * width, dtype=HALF),
        randn(tokens, kv_heads * width, dtype=HALF, seed=1),
        randn(width, dtype=HALF, seed=2),
        randn(width, dtype=HALF, seed=3),
        randn(512, 64, dtype=HALF, seed=4),
        torch.arange(tokens, device=DEVICE),
        1e-6,
        heads,
        kv_heads,
        width,
        64,
    )


@program("vllm", "_relu_squared_static_fp8_quant_kernel", "bf16, fp8")
def relu_squared_fp8() -> Any:
    from vllm.model_executor.layers.fusion.relu2_fp8_quant import relu_squared_static_fp8_quant

    layer = SimpleNamespace(input_scale=torch.tensor([0.05], device=DEVICE))
    return relu_squared_static_fp8_quant(randn(256, 2048, dtype=BRAIN), layer).data


@program("vllm", "_lora_shrink_reduce_kernel", "fp16")
def lora_shrink() -> Any:
    os.environ["VLLM_BATCH_INVARIANT"] = "1"
    from vllm.lora.ops.triton_ops.lora_shrink_op import _lora_shrink

    tokens, width, rank = 64, 2048, 16
    out = torch.zeros(1, tokens, rank, device=DEVICE)
    _lora_shrink(
        randn(tokens, width, dtype=HALF),
        [randn(2, rank, width, dtype=HALF, seed=1)],
        out,
        integers(*(token % 2 for token in range(tokens))),
        integers(*range(0, tokens, 2), *range(1, tokens, 2)),
        integers(tokens // 2, tokens // 2, 0),
        integers(0, tokens // 2, tokens, tokens),
        integers(0, 1, -1),
        torch.tensor([False]),
        torch.tensor([2]),
        0.5,
    )
    return out


@program("vllm", "_prepare_prefill_inputs_kernel", "int32")
def prepare_prefill_inputs() -> Any:
    from vllm.v1.worker.gpu.input_batch import prepare_prefill_inputs

    lengths = [700, 1500, 300, 2000]
    starts = [sum(lengths[:request]) for request in range(5)]
    tokens = torch.zeros(starts[-1], dtype=torch.int32, device=DEVICE)
    following = torch.zeros(2, 8, dtype=torch.int32, device=DEVICE)
    prepare_prefill_inputs(
        tokens,
        following,
        integers(3, 0, 5, 6),
        integers(*starts),
        randint(32000, 8, 4096, dtype=torch.int32),
        integers(*[3000] * 8),
        integers(*range(0, 800, 100)),
    )
    return tokens, following


@program("vllm", "_store_prefill_checkpoint_kernel", "fp16")
def store_prefill_checkpoint() -> Any:
    from vllm.model_executor.layers.mamba.ops.ssd_checkpoint import store_prefill_checkpoint

    channels, blocks, heads, width, states = 512, 6, 4, 32, 64
    conv_state = torch.zeros(blocks, channels, 4, dtype=HALF, device=DEVICE)
    ssm_state = torch.zeros(blocks, heads, width, states, dtype=HALF, device=DEVICE)
    checkpoint = SimpleNamespace(
        checkpoint_offsets=integers(64, 0, 128), state_indices=integers(1, 2, 4)
    )
    store_prefill_checkpoint(
        checkpoint,
        integers(0, 1, 3),
        randn(channels, 512, dtype=HALF),
        conv_state,
        randn(5, heads, width, states, dtype=HALF, seed=1),
        ssm_state,
        integers(0, 100, 200, 400),
        state_len=3,
    )
    return conv_state, ssm_state


@program("vllm", "_ultraquant_full_dequant_kv", "bf16, fp4")
def ultraquant_dequant() -> Any:
    from vllm.v1.attention.ops.ultraquant.triton_dequant import ultraquant_full_dequant_kv

    sequences, heads, length, width = 2, 4, 128, 128
    cache = 122 + randint(8, 17, 16, heads, 160, dtype=torch.uint8)
    pages = 1 + torch.arange(16, dtype=torch.int32, device=DEVICE).view(sequences, 8)
    shape = (sequences, heads, length, width)
    keys, values = (torch.zeros(shape, dtype=BRAIN, device=DEVICE) for _ in range(2))
    ultraquant_full_dequant_kv(cache, pages, keys, values, length)
    return keys, values


if __name__ == "__main__":
    main()
