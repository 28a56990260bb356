"""The part of vLLM that holds kernels, on a platform that is neither a GPU nor a TPU."""

from __future__ import annotations

import enum
from typing import Any

import torch
from partial_packages import Absent, PartialPackage

__all__ = ["VLLM"]


class _Platform(Absent):
    """False to every question for a kind of device or an ability."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: False

    @staticmethod
    def fp8_dtype() -> torch.dtype:
        return torch.float8_e4m3fn


class _KVQuantMode(enum.IntEnum):
    """How keys and values in the cache are quantised, with vLLM's numbers."""

    NONE = 0
    FP8_PER_TENSOR = 1
    INT8_PER_TOKEN_HEAD = 2
    FP8_PER_TOKEN_HEAD = 3
    INT4_PER_TOKEN_HEAD = 4


VLLM = PartialPackage(
    "vllm",
    real=[
        "vllm.triton_utils!",
        "vllm.utils.math_utils",
        "vllm.kernels.triton",
        "vllm.lora.ops",
        "vllm.model_executor.determinism",
        "vllm.model_executor.kernels.linear.mixed_precision",
        "vllm.model_executor.warmup.jit_warmup",
        "vllm.model_executor.warmup.jit_warmup_triton_helper",
        "vllm.model_executor.layers.activation",
        "vllm.model_executor.layers.fused_embed_norm",
        "vllm.model_executor.layers.fused_moe",
        "vllm.model_executor.layers.fused_qk_norm_rope",
        "vllm.model_executor.layers.lightning_attn",
        "vllm.model_executor.layers.mamba.ops",
        "vllm.model_executor.layers.quantization",
        "vllm.model_executor.layers.rotary_embedding",
        "vllm.third_party.flash_linear_attention",
        "vllm.v1.attention.ops",
        "vllm.v1.sample",
        "vllm.v1.spec_decode.utils",
        "vllm.v1.worker.gpu",
        "vllm.vllm_flash_attn.ops.triton",
    ],
    values={
        "vllm.platforms:current_platform": _Platform(),
        "vllm.envs:VLLM_TUNED_CONFIG_FOLDER": None,
        "vllm.utils.platform_utils:num_compute_units": lambda *_: 2,
        "vllm.v1.attention.backends.utils:NULL_BLOCK_ID": 0,
        "vllm.v1.attention.backends.utils:PAD_SLOT_ID": -1,
        "vllm.v1.kv_cache_interface:KVQuantMode": _KVQuantMode,
    },
    third_party=["einops", "regex"],
)
