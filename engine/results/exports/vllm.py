"""vLLM's files of configurations, one for each weight matrix or layer of experts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.results.tuned_shape import TunedShape, by_rows, grouped, one_version
from engine.results.vllm_files import EXPERTS, vllm_file_name, write_vllm_file
from engine.results.vllm_winner import losses, vllm_winner
from engine.study.trials import StoredTrials

__all__ = ["entry_of", "write_entries"]

_CONSUMER = "vLLM"


def entry_of(study: StoredTrials) -> TunedShape:
    """The study's fastest trial that its kernel can run.

    Raises:
        UnfitStudyError: if vLLM reads no configurations of the kernel, or its kernel can run
            no correct trial.
    """
    return vllm_winner(study, _CONSUMER, _name, ("fp8e4nv",))


def write_entries(shapes: Sequence[TunedShape], folder: Path) -> list[str]:
    """Write a file for each weight matrix, with all numbers of rows that were tuned.

    Raises:
        UnfitStudyError: if experts of one file were tuned with several versions of Triton.
    """
    lines = []
    for name, group in grouped(shapes, _name).items():
        assert name is not None
        triton = one_version(name, group) if group[0].kernel == EXPERTS else None
        winners = by_rows(group)
        path = write_vllm_file(folder / name, winners, triton)
        lines.append(f"{path}: {', '.join(f'M={m}' for m in winners)}")
    return lines + losses(shapes, _CONSUMER)


def _name(shape: TunedShape) -> str | None:
    gpu = shape.on_gpu(_CONSUMER)
    return vllm_file_name(shape.kernel, gpu.name, shape.dtype, shape.shape)
