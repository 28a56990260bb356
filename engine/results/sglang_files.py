"""SGLang's files of tuned configurations, which differ from vLLM's in names and folders.

Names are those of SGLang 0.5.23, read in November 2026: `get_config_file_name` and
`get_moe_configs` of srt/layers/moe/moe_runner/triton_utils/fused_moe_triton_config.py, and
`get_w8a8_block_fp8_configs` and `get_w8a8_block_int8_configs` of kernels/ops/gemm. Its block shapes
have a space, no family of GPUs shares files, and every key of a file is a number of rows. Files
with `per_channel_quant=True` are for scales per channel, which no kernel here has.
"""

from __future__ import annotations

from pathlib import Path

from engine.results.vllm_files import EXPERTS, SCALED_PRODUCT, moe_type
from foundation.shapes import Shape
from search_spaces.gemm_a8w8_blockscale import SCALED_ELEMENTS

__all__ = ["sglang_file"]

_BLOCK_TYPES = {"fp8e4nv": "fp8_w8a8", "i8": "int8_w8a8"}


def sglang_file(kernel: str, device: str, dtype: str, shape: Shape, triton: str) -> Path | None:
    """Where SGLang finds a weight matrix's configurations, or those of a layer of experts.

    Args:
        kernel, device, dtype, shape: as `engine.results.vllm_files.vllm_file_name` takes them.
        triton: the version of Triton; for experts, part of the folder's name.

    Returns:
        The path: of experts below SGLANG_MOE_CONFIG_DIR, of products below SGLang's
        kernels/ops/gemm. None if SGLang reads no configurations of the kernel in this type.
    """
    name = device.replace(" ", "_")
    folder = Path("configs")
    if kernel == SCALED_PRODUCT and dtype in _BLOCK_TYPES:
        block = f"block_shape=[{SCALED_ELEMENTS}, {SCALED_ELEMENTS}]"
        sizes = f"N={shape['N']},K={shape['K']}"
        return folder / f"{sizes},device_name={name},dtype={_BLOCK_TYPES[dtype]},{block}.json"
    if kernel == EXPERTS:
        sizes = f"E={shape['E']},N={shape['N'] // 2}"
        versioned = folder / f"triton_{triton.replace('.', '_')}"
        return versioned / f"{sizes},device_name={name}{moe_type(dtype)}.json"
    return None
