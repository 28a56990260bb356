"""SGLang's files of configurations, one for each weight matrix or layer of experts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.results.sglang_files import sglang_file
from engine.results.tuned_shape import TunedShape, by_rows, grouped
from engine.results.vllm_files import write_vllm_file
from engine.results.vllm_winner import losses, vllm_winner
from engine.study.trials import StoredTrials

__all__ = ["entry_of", "write_entries"]

_CONSUMER = "SGLang"


def entry_of(study: StoredTrials) -> TunedShape:
    """The study's fastest trial that its kernel can run.

    Raises:
        UnfitStudyError: if SGLang reads no configurations of the kernel, or its kernel can run
            no correct trial.
    """
    return vllm_winner(study, _CONSUMER, _file, ("fp8e4nv", "i8"))


def write_entries(shapes: Sequence[TunedShape], folder: Path) -> list[str]:
    """Write a file for each weight matrix, with all numbers of rows that were tuned."""
    lines = []
    for file, group in grouped(shapes, _file).items():
        assert file is not None
        winners = by_rows(group)
        path = write_vllm_file(folder / file, winners, None)
        lines.append(f"{path}: {', '.join(f'M={m}' for m in winners)}")
    return lines + losses(shapes, _CONSUMER)


def _file(shape: TunedShape) -> Path | None:
    gpu = shape.on_gpu(_CONSUMER)
    return sglang_file(shape.kernel, gpu.name, shape.dtype, shape.shape, shape.triton)
