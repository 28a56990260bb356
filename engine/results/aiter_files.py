"""AITER's files as its newest loader finds them: ARCH/triton/gemm/FAMILY/DEFAULT.json and others.

The layout and the keys are those of `gemm_config_utils.py` and `config_writer.py` in AITER's
aiter/ops/triton/utils, as of August 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.results.atomic_file import write_json_file
from engine.results.gemm_json import Buckets
from foundation.config import Config, ParameterValue

__all__ = ["aiter_config", "aiter_file", "write_aiter_file"]

_INDENT = 2

# Our parameters under AITER's names, and those that its kernels have no choice in.
_RENAMED = {"SPLIT_K": "NUM_KSPLIT"}
_LEFT_OUT = {"B_COLUMN_MAJOR"}
_RANGES = ("M_LEQ_", "M_GEQ_", "any")


def aiter_file(root: Path, arch: str, tag: str, n: int | None = None, k: int | None = None) -> Path:
    """The path of the file of one weight matrix, or of the default.

    Args:
        root: AITER's folder of configurations, AITER_TRITON_CONFIGS_PATH.
        arch: of the GPU: "gfx942".
        tag: of the kernel's family: "A8W8_BLOCKSCALE".
        n, k: columns and rows of the weights; None for the default.
    """
    family = f"GEMM-{tag}"
    folder = root / arch / "triton" / "gemm" / family.lower().replace("-", "_")
    return folder / ("DEFAULT.json" if n is None else f"{family}-N={n}-K={k}.json")


def aiter_config(config: Config) -> dict[str, ParameterValue]:
    """A configuration under the names that AITER's kernels take."""
    return {
        _RENAMED.get(name, name): value for name, value in config.items() if name not in _LEFT_OUT
    }


def write_aiter_file(path: Path, found: Buckets) -> Path:
    """Write the configurations of the ranges that the newest loader looks up; return the path.

    Raises:
        UserError: if it cannot be written.
    """
    values: Mapping[str, object] = {
        name: aiter_config(config) for name, config in found.items() if name.startswith(_RANGES)
    }
    return write_json_file(path, values, _INDENT)
