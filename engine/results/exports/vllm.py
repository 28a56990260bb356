"""vLLM's files of configurations, one for each weight matrix or layer of experts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from engine.results.consumer_winner import consumer_file, consumer_winner, losses
from engine.results.consumers import consumer_named
from engine.results.tuned_shape import TunedShape, by_rows, grouped, one_version
from engine.results.vllm_files import EXPERTS, write_vllm_file
from engine.study.trials import StoredTrials

__all__ = ["entry_of", "write_entries"]

_VLLM = consumer_named("vllm")


def entry_of(study: StoredTrials) -> TunedShape:
    """The study's fastest trial that vLLM's kernel can run.

    Raises:
        UnfitStudyError: as `consumer_winner`.
    """
    return consumer_winner(study, _VLLM)


def write_entries(
    shapes: Sequence[TunedShape], folder: Path, _tell: Callable[[str], None]
) -> list[str]:
    """Write a file for each weight matrix, with all numbers of rows that were tuned.

    Raises:
        UnfitStudyError: if experts of one file were tuned with several versions of Triton.
    """
    lines = []
    for file, group in grouped(shapes, lambda shape: consumer_file(shape, _VLLM)).items():
        assert file is not None
        triton = one_version(str(file), group) if group[0].kernel == EXPERTS else None
        winners = by_rows(group)
        path = write_vllm_file(folder / file, winners, triton)
        lines.append(f"{path}: {', '.join(f'M={m}' for m in winners)}")
    return lines + losses(shapes, _VLLM)
