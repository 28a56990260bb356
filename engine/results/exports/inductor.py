"""inductor_table.json: a lookup table of torch.compile's matrix products.

Keys and entries are those of torch 2.13, read in November 2026: `LookupTableChoices` of
torch/_inductor/lookup_table/choices.py, and `_convert_config_to_template_kwargs` of
template_heuristics/triton.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from engine.results.atomic_file import write_json_file
from engine.results.tuned_shape import (
    PRODUCT,
    TunedShape,
    UnfitStudyError,
    one_per_shape,
    tuned_shape,
)
from engine.results.units import counted
from engine.study.trials import StoredTrials
from foundation.config import Config, ParameterValue
from foundation.triton_options import GPU_OPTIONS

__all__ = ["entry_of", "write_entries"]

_CONSUMER = "Inductor's lookup table"
_INDENT = 2

# As str() writes the types: torch takes seconds to import.
_TORCH_TYPES = {"fp32": "torch.float32", "fp16": "torch.float16", "bf16": "torch.bfloat16"}

# Our parameters under the template's names.
_NAMES = {
    "BLOCK_SIZE_M": "BLOCK_M",
    "BLOCK_SIZE_N": "BLOCK_N",
    "BLOCK_SIZE_K": "BLOCK_K",
    "GROUP_SIZE_M": "GROUP_M",
    **{name: name for name in ("num_warps", "num_stages", *GPU_OPTIONS)},
}
_GROUP_IF_NONE = 8  # what the template has where nothing is said


def entry_of(study: StoredTrials) -> TunedShape:
    """The study's winner.

    Raises:
        UnfitStudyError: for another kernel or type, or for a processor.
    """
    shape = tuned_shape(study)
    shape.on_gpu(_CONSUMER)
    shape.of_kernel(_CONSUMER, tuple(_OPERATIONS), PRODUCT)
    if shape.dtype not in _TORCH_TYPES:
        raise UnfitStudyError(
            f"{shape.study} is in {shape.dtype}, and {_CONSUMER} is asked for products of "
            f"{', '.join(_TORCH_TYPES)}: tune it with one of these as --dtype"
        )
    return shape


def write_entries(
    shapes: Sequence[TunedShape], folder: Path, _tell: Callable[[str], None]
) -> list[str]:
    """Write one table with a configuration for each product and GPU."""
    table = {_key(shape): [_entry(shape)] for shape in one_per_shape(shapes)}
    path = write_json_file(folder / "inductor_table.json", table, _INDENT)
    return [f"{path}: {counted(len(table), 'product')}"]


def _key(shape: TunedShape) -> str:
    """What Inductor looks a product of row-major matrices up by."""
    operation, batch = _OPERATIONS[shape.kernel], _batch(shape.shape)
    m, n, k = (shape.shape[name] for name in "MNK")
    inputs = ", ".join(
        f"({_TORCH_TYPES[shape.dtype]}, {[*batch, rows, columns]}, "
        f"{[*(rows * columns for _ in batch), columns, 1]})"
        for rows, columns in ((m, k), (k, n))
    )
    gpu = shape.on_gpu(_CONSUMER)
    # Of AMD's GPUs, Inductor's name has features that a study does not know: any GPU then.
    device = () if gpu.is_amd else (gpu.name,)
    return "+".join((*device, f"({inputs})", operation))


def _batch(shape: Mapping[str, int]) -> list[int]:
    return [shape["B"]] if "B" in shape else []


def _entry(shape: TunedShape) -> dict[str, ParameterValue]:
    """A configuration of the template. What else it needs, Inductor adds."""
    config: Config = shape.config
    values = {_NAMES[name]: value for name, value in config.items() if name in _NAMES}
    return {
        "template_id": f"triton::{_OPERATIONS[shape.kernel]}",
        "GROUP_M": _GROUP_IF_NONE,
        **values,
        # Inductor works it out for a block of its own, which is not this one.
        "EVEN_K": shape.shape["K"] % int(config["BLOCK_SIZE_K"]) == 0,
    }


_OPERATIONS = {"matmul": "mm", "batched_matmul": "bmm"}
