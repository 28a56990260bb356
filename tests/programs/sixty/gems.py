"""Ten operators of FlagGems 5.0.2."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from user import main, program, rand, randint, randn

HALF, BRAIN, FP8 = torch.float16, torch.bfloat16, torch.float8_e4m3fn


def gems() -> Any:
    return importlib.import_module("flag_gems")


@program("flag_gems", "pixel_unshuffle_kernel", "bf16")
def pixel_unshuffle() -> Any:
    return gems().ops.pixel_unshuffle(randn(1, 64, 128, 128, dtype=BRAIN), 2)


@program("flag_gems", "arcsinh_kernel_", "fp32")
def arcsinh_() -> Any:
    return gems().ops.arcsinh_(randn(1024, 1024))


@program("flag_gems", "fill_scalar_func", "fp16")
def fill_scalar() -> Any:
    return gems().ops.fill_scalar(randn(1024, 1024, dtype=HALF), 0.5)


@program("flag_gems", "transform_func_tensor_tensor", "bf16")
def normal_tensor_tensor() -> Any:
    torch.manual_seed(0)
    return gems().ops.normal_tensor_tensor(
        randn(512, 512, dtype=BRAIN), rand(512, 512, dtype=BRAIN, seed=1)
    )


@program("flag_gems", "_per_token_group_quant_fp8_colmajor", "bf16, fp8")
def per_token_group_quant_fp8() -> Any:
    return gems().ops.per_token_group_quant_fp8(
        randn(256, 4096, dtype=BRAIN), 128, dtype=FP8, column_major_scales=True
    )


@program("flag_gems", "_fp8_matmul_kernel", "fp8")
def fp8_matmul() -> Any:
    gems()
    from flag_gems.ops.fp8_matmul import fp8_matmul

    return fp8_matmul(
        randn(256, 512).to(FP8),
        rand(256, 4, seed=1),
        randn(512, 512, seed=2).to(FP8),
        rand(4, 4, seed=3),
    )


@program("flag_gems", "silu_forward", "fp32")
def silu() -> Any:
    return gems().ops.silu(randn(1024, 1024))


@program("flag_gems", "geglu_kernel", "bf16")
def geglu() -> Any:
    return gems().fused.geglu(randn(256, 4096, dtype=BRAIN))


@program("flag_gems", "_embedding_dense_backward_count_kernel", "bf16")
def embedding_dense_backward() -> Any:
    return gems().ops.embedding_dense_backward(
        randn(4, 128, 512, dtype=BRAIN), randint(1000, 4, 128), 1000, -1, True
    )


@program("flag_gems", "scaled_softmax_forward_kernel", "fp16")
def scaled_softmax() -> Any:
    return gems().ops.scaled_softmax_forward(randn(2, 8, 128, 1024, dtype=HALF), 0.125)


if __name__ == "__main__":
    main()
