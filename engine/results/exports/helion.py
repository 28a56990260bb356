"""helion_config.json: a configuration of Helion, for a product written as its example is.

The form is that of `helion.Config.save`, Helion 1.5.1, read in November 2026. The order of block
sizes is that of examples/matmul.py: tiles of M and N, and inside them tiles of K.
"""

from __future__ import annotations

from pathlib import Path

from engine.results.atomic_file import write_json_file
from engine.results.tuned_shape import PRODUCT, tuned_shape
from engine.study.trials import StoredTrials

__all__ = ["write"]

_CONSUMER = "Helion's matrix product"
_INDENT = 2
_BLOCKS = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K")


def write(study: StoredTrials, folder: Path) -> str:
    """Write the winner.

    Raises:
        UnfitStudyError: for another kernel, or for a processor.
    """
    shape = tuned_shape(study)
    shape.on_gpu(_CONSUMER)
    shape.of_kernel(_CONSUMER, ("matmul",), (*PRODUCT, "GROUP_SIZE_M"))
    config = shape.config
    values = {
        "block_sizes": [config[name] for name in _BLOCKS],
        "l2_groupings": [config["GROUP_SIZE_M"]],
        "num_warps": config["num_warps"],
        "num_stages": config["num_stages"],
    }
    write_json_file(folder / "helion_config.json", values, _INDENT)
    return str(config)
