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
from search_spaces.gemm_a8w8_blockscale import SCALED_ELEMENTS

__all__ = ["block_file_name", "moe_file_name", "unusable", "vllm_config", "write_vllm_file"]

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
_IMPLIED: Mapping[str, ParameterValue] = {
    "NUM_KSPLIT": 1,
    "cache_modifier": "",
    "B_COLUMN_MAJOR": True,
}

# vLLM's names of element types in names of files; 16-bit types are left out there.
_BLOCK_TYPES = {"fp8e4nv": "fp8_w8a8", "i8": "int8_w8a8"}
_MOE_TYPES = {"fp32": "float32"}

# All GPUs of this family share the files of mixtures of experts.
_FAMILY = ("H200", "NVIDIA_H200")


def block_file_name(device: str, dtype: str, n: int, k: int) -> str | None:
    """The file of a product of 8-bit matrices with scales; None if vLLM has none for the type.

    Args:
        device: the GPU's name, as its driver gives it: "NVIDIA H200".
        dtype: element type of the matrices.
        n, k: columns and rows of the weights.
    """
    named = _BLOCK_TYPES.get(dtype)
    if named is None:
        return None
    shape = f"block_shape=[{SCALED_ELEMENTS},{SCALED_ELEMENTS}]"
    return f"N={n},K={k},device_name={_device(device)},dtype={named},{shape}.json"


def moe_file_name(device: str, dtype: str, experts: int, n: int) -> str:
    """The file of a mixture of experts.

    Args:
        device: the GPU's name, as its driver gives it.
        dtype: element type of tokens and experts.
        experts: number of experts.
        n: columns of the first product of the layer, twice those that vLLM names it by.
    """
    name = _device(device)
    if _FAMILY[0] in name.split("_"):
        name = _FAMILY[1]
    typed = f",dtype={_MOE_TYPES[dtype]}" if dtype in _MOE_TYPES else ""
    return f"E={experts},N={n // 2},device_name={name}{typed}.json"


def unusable(config: Config) -> str:
    """What vLLM's kernels cannot do of a configuration, such as "NUM_KSPLIT=4"; "" if nothing."""
    other = {name: value for name, value in config.items() if name not in _TAKEN}
    return ", ".join(
        f"{name}={value}"
        for name, value in other.items()
        if name not in _IMPLIED or _IMPLIED[name] != value
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


def _device(name: str) -> str:
    return name.replace(" ", "_")
