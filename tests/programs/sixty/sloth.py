"""Five operators of unsloth 2026.10.9, with their gradients where it has any.

Left out, in the order drawn, since they take tensors or ask for properties of a GPU only:
`int4_packed.py`, `large_head_attention.py`, `nvfp4.py`, `cross_entropy_loss.py` and both files of
`moe/grouped_gemm`; `qk_norm_rope.py`, which runs other kernels where no GPU is; and
`flash_adamw.py`, whose optimiser takes a model on a GPU.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from user import backward, main, program, rand, randn

HALF, BRAIN = torch.float16, torch.bfloat16


@program("unsloth", "_DWf_DW_dfg_kernel", "fp16")
def swiglu_backward() -> Any:
    from unsloth.kernels.swiglu import swiglu_DWf_DW_dfg_kernel

    return swiglu_DWf_DW_dfg_kernel(*(randn(256, 2048, dtype=HALF, seed=seed) for seed in range(3)))


@program("unsloth", "_exact_forward_kernel", "fp16")
def geglu_exact() -> Any:
    from unsloth.kernels.geglu import geglu_exact_forward_kernel

    return geglu_exact_forward_kernel(
        *(randn(2, 128, 2048, dtype=HALF, seed=seed) for seed in range(2))
    )


@program("unsloth", "_fp8_rowwise_gemv_rows_reduce", "fp16, fp8")
def fp8_rowwise_gemv() -> Any:
    from unsloth.kernels.fp8 import fp8_rowwise_gemv

    weight = randn(1024, 4096, seed=1).to(torch.float8_e4m3fn)
    return fp8_rowwise_gemv(randn(4, 4096, dtype=HALF), weight, rand(1024, 1, seed=2))


@program("unsloth", "_rms_layernorm_backward", "fp32")
def rms_layernorm() -> Any:
    from unsloth.kernels.rms_layernorm import fast_rms_layernorm

    layer = SimpleNamespace(weight=randn(2048, seed=1), variance_epsilon=1e-6)
    return backward(lambda x: fast_rms_layernorm(layer, x), randn(1, 256, 2048))


@program("unsloth", "_add_rms_layernorm_inference", "bf16")
def fused_add_rms_layernorm() -> Any:
    from unsloth.kernels.fused_add_rms_layernorm import fast_add_rms_layernorm_inference

    x, residual = (randn(8, 1, 4096, dtype=BRAIN, seed=seed) for seed in range(2))
    weight = randn(4096, dtype=BRAIN, seed=2)
    return fast_add_rms_layernorm_inference(x, residual, weight, 1e-6), residual


if __name__ == "__main__":
    main()
