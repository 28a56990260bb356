"""Seven operators of torchao 0.18.

Left out, in the order drawn: `hadamard_amax_triton.py`, `quantize_2d_triton.py` and
`hadamard_quantize_row_col_triton.py`, which ask for NVIDIA's Blackwell;
`triton_hadamard_utils.py`, which reads the properties of a GPU; `intmm_triton.py`, which is not
called for tensors of a CPU.
"""

from __future__ import annotations

from typing import Any

import torch
from user import DEVICE, main, program, rand, randn

HALF, BRAIN, FP8 = torch.float16, torch.bfloat16, torch.float8_e4m3fn


@program("torchao", "hadamard_single_phase1_kernel", "fp16, fp8")
def hadamard_qkv() -> Any:
    from torchao.prototype.attention.quantization.triton_hadamard_qkv_quantization import (
        triton_fp8_hadamard_sdpa_quantize,
    )

    q, k, v = (randn(1, heads, 256, 64, dtype=HALF, seed=heads) for heads in (8, 2, 3))
    return triton_fp8_hadamard_sdpa_quantize(q, k, v[:, :2].contiguous(), num_chunks=4)


@program("torchao", "_scale_reduction", "fp32, fp8")
def fp8_tensorwise() -> Any:
    from torchao.float8.float8_training_tensor import LinearMMConfig
    from torchao.prototype.float8nocompile.kernels.fp8_dynamic_tensorwise import (
        KernelAlgorithm,
        hp_to_fp8_row_major,
    )

    scaled = hp_to_fp8_row_major(
        randn(512, 1024), FP8, LinearMMConfig(), algo=KernelAlgorithm.REDUCTION
    )
    return scaled._data, scaled._scale


@program("torchao", "single_reduce_kernel", "fp16, fp8")
def sdpa_quantize() -> Any:
    from torchao.prototype.attention.quantization.triton_qkv_quantization import (
        triton_fp8_sdpa_quantize,
    )

    q, k, v = (randn(1, 8, 256, 64, dtype=HALF, seed=seed) for seed in range(3))
    return triton_fp8_sdpa_quantize(q, k, v, num_chunks=4)


@program("torchao", "blockwise_fp8_gemm_kernel", "fp8")
def blockwise_fp8_gemm() -> Any:
    from torchao.kernel.blockwise_quantization import blockwise_fp8_gemm

    a, b = randn(128, 512).to(FP8), randn(512, 512, seed=1).to(FP8)
    return blockwise_fp8_gemm(a, rand(128, 4, seed=2), b, rand(4, 4, seed=3))


@program("torchao", "_triton_fp8_per_group_rowwise_scales_kernel", "bf16, fp8")
def per_group_rowwise_scales() -> Any:
    from torchao.prototype.moe_training.kernels.jagged_float8_scales import (
        triton_fp8_per_group_rowwise_scales,
    )

    ends = torch.tensor([64, 128, 256], dtype=torch.int32, device=DEVICE)
    return triton_fp8_per_group_rowwise_scales(randn(512, 256, dtype=BRAIN), ends)


@program("torchao", "single_reduce_kernel", "fp16, fp8")
def rope_quantize() -> Any:
    from torchao.prototype.attention.quantization.triton_rope_qkv_quantization import (
        triton_fp8_rope_sdpa_quantize,
    )

    q, k, v = (randn(1, 256, 8, 64, dtype=HALF, seed=seed) for seed in range(3))
    angles = rand(256, 64, seed=3)
    return triton_fp8_rope_sdpa_quantize(q, k, v, angles.cos(), angles.sin(), num_chunks=4)


@program("torchao", "hadamard_rope_single_phase1_kernel", "fp16, fp8")
def hadamard_rope_quantize() -> Any:
    from torchao.prototype.attention.quantization.triton_hadamard_rope_qkv_quantization import (
        triton_fp8_hadamard_rope_sdpa_quantize,
    )

    q, k, v = (randn(1, 256, 8, 64, dtype=HALF, seed=seed) for seed in range(3))
    angles = rand(256, 64, seed=3)
    return triton_fp8_hadamard_rope_sdpa_quantize(q, k, v, angles.cos(), angles.sin(), num_chunks=4)


if __name__ == "__main__":
    main()
