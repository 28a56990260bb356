"""vLLM's files of tuned configurations: a configuration for each number of rows, by its nearest.

Names and contents are those that vLLM 0.2x reads: `get_w8a8_block_fp8_configs` of
model_executor/layers/quantization/utils/fp8_utils.py, and `get_moe_configs` of
model_executor/layers/fused_moe/fused_moe.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.results.atomic_file import write_json_file
from foundation.config import Config, ParameterValue
from foundation.shapes import Shape
from search_spaces.gemm_a8w8_blockscale import SCALED_ELEMENTS

__all__ = [
    "EXPERTS",
    "IMPLIED",
    "SCALED_PRODUCT",
    "moe_type",
    "unusable",
    "vllm_config",
    "vllm_file_name",
    "write_vllm_file",
]

# The kernels whose configurations it reads.
SCALED_PRODUCT = "gemm_a8w8_blockscale"
EXPERTS = "fused_moe"

_INDENT = 4

# What vLLM's kernels take; every other parameter has to have the value that they imply.
_TAKEN = (
    "BLOCK_SIZE_M",
    "BLOCK_SIZE_N",
    "BLOCK_SIZE_K",
    "GROUP_SIZE_M",
    "num_warps",
    "num_stages",
    "waves_per_eu",
    "matrix_instr_nonkdim",
    "kpack",
)
IMPLIED: Mapping[str, ParameterValue] = {
    "NUM_KSPLIT": 1,
    "cache_modifier": "",
    "B_COLUMN_MAJOR": True,
}

# vLLM's names of element types in names of files; 16-bit types are left out there.
_BLOCK_TYPES = {"fp8e4nv": "fp8_w8a8"}
_MOE_TYPES = {"fp32": "float32"}

# All GPUs of this family share the files of mixtures of experts.
_FAMILY = ("H200", "NVIDIA_H200")


def vllm_file_name(kernel: str, device: str, dtype: str, shape: Shape) -> str | None:
    """The file that holds the configurations of a weight matrix, or of a layer of experts.

    Args:
        kernel: the kernel's name.
        device: the GPU's name, as its driver gives it: "NVIDIA H200".
        dtype: element type of the matrices.
        shape: N and K of the weights. With experts: their number E, and as N the columns of the
            layer's first product, half of which vLLM names the layer by.

    Returns:
        Its name; None if vLLM reads no configurations of the kernel in this type.
    """
    name = device.replace(" ", "_")
    if kernel == SCALED_PRODUCT and dtype in _BLOCK_TYPES:
        block = f"block_shape=[{SCALED_ELEMENTS},{SCALED_ELEMENTS}]"
        sizes = f"N={shape['N']},K={shape['K']}"
        return f"{sizes},device_name={name},dtype={_BLOCK_TYPES[dtype]},{block}.json"
    if kernel == EXPERTS:
        if _FAMILY[0] in name.split("_"):
            name = _FAMILY[1]
        sizes = f"E={shape['E']},N={shape['N'] // 2}"
        return f"{sizes},device_name={name}{moe_type(dtype)}.json"
    return None


def moe_type(dtype: str) -> str:
    """The part of a file's name that says the type of experts; empty for 16-bit types."""
    return f",dtype={_MOE_TYPES[dtype]}" if dtype in _MOE_TYPES else ""


def unusable(config: Config) -> str:
    """What vLLM's kernels cannot do of a configuration, such as "NUM_KSPLIT=4"; "" if nothing."""
    other = {name: value for name, value in config.items() if name not in _TAKEN}
    return ", ".join(
        f"{name}={value}"
        for name, value in other.items()
        if name not in IMPLIED or IMPLIED[name] != value
    )


def vllm_config(config: Config) -> dict[str, ParameterValue]:
    """The part of a configuration that vLLM's kernels take."""
    return {name: value for name, value in config.items() if name in _TAKEN}


def write_vllm_file(path: Path, winners: Mapping[int, Config], triton_version: str | None) -> Path:
    """Write the winners by their number of rows and return the path.

    Args:
        path: of the file.
        winners: the best configuration by M.
        triton_version: for a mixture of experts; None for products, whose reader takes every key
            for a number of rows.

    Raises:
        UserError: if it cannot be written.
    """
    head = {} if triton_version is None else {"triton_version": triton_version}
    rows = {str(m): vllm_config(winners[m]) for m in sorted(winners)}
    return write_json_file(path, {**head, **rows}, _INDENT)
