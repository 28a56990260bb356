"""What ROCm's tune_gemm reads of a configuration in a file of results.

The `read_config` of its `tune_gemm.py` looks up these keys, and takes no
entry that lacks one.
"""

from __future__ import annotations

from collections.abc import Mapping

from foundation.config import Config, ParameterValue

__all__ = ["TUNE_GEMM_KEYS", "tune_gemm_keys"]

# The keys, and the value that stands for a kernel or compiler without the option.
_WITHOUT: Mapping[str, ParameterValue] = {
    "BLOCK_SIZE_M": 1,
    "BLOCK_SIZE_N": 1,
    "BLOCK_SIZE_K": 1,
    "GROUP_SIZE_M": 1,
    "SPLIT_K": 1,
    "num_warps": 4,
    "num_stages": 2,
    "waves_per_eu": 0,
    "matrix_instr_nonkdim": 16,
    "kpack": 1,
    "schedule_hint": "none",
}
TUNE_GEMM_KEYS = tuple(_WITHOUT)


def tune_gemm_keys(config: Config) -> dict[str, ParameterValue]:
    """The keys that a GPU's configuration lacks, with the values that stand for what it does."""
    if "num_warps" not in config:
        return {}  # of a processor, which tune_gemm knows nothing of
    return {name: value for name, value in _WITHOUT.items() if name not in config}
