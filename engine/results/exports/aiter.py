"""AITER's files of configurations, one for each weight matrix, and the default for all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from engine.results.aiter_files import aiter_file, write_aiter_file
from engine.results.gemm_json import Buckets, buckets, commonest
from engine.results.tuned_shape import (
    PRODUCT,
    TunedShape,
    UnfitStudyError,
    by_rows,
    grouped,
    tuned_shape,
)
from engine.results.vllm_files import SCALED_PRODUCT
from engine.study.trials import StoredTrials

__all__ = ["entry_of", "write_entries"]

_CONSUMER = "AITER"
_TAG = "A8W8_BLOCKSCALE"  # its family of the kernel


def entry_of(study: StoredTrials) -> TunedShape:
    """The study's winner.

    Raises:
        UnfitStudyError: for another kernel or type, or another maker's GPU.
    """
    shape = tuned_shape(study)
    gpu = shape.on_gpu(_CONSUMER)
    shape.of_kernel(_CONSUMER, (SCALED_PRODUCT,), PRODUCT)
    if not gpu.is_amd:
        raise UnfitStudyError(
            f"{shape.study} was measured on {shape.device}, and AITER runs on AMD's GPUs only: "
            "give a study that was tuned with --device hip"
        )
    if not shape.dtype.startswith("fp8"):
        raise UnfitStudyError(
            f"{shape.study} is in {shape.dtype}, and AITER's kernel of the family {_TAG} "
            "multiplies 8-bit floats: tune it with --dtype fp8e4nv"
        )
    return shape


def write_entries(
    shapes: Sequence[TunedShape], folder: Path, _tell: Callable[[str], None]
) -> list[str]:
    """Write a file for each weight matrix, and the commonest configurations as the default."""
    lines = []
    for arch, on_arch in grouped(shapes, lambda s: s.on_gpu(_CONSUMER).arch).items():
        every: list[Buckets] = []
        for (n, k), group in grouped(on_arch, lambda s: (s.shape["N"], s.shape["K"])).items():
            winners = by_rows(group)
            every.append(buckets(winners))
            path = write_aiter_file(aiter_file(folder, arch, _TAG, n, k), every[-1])
            lines.append(f"{path}: {', '.join(f'M={m}' for m in winners)}")
        path = write_aiter_file(aiter_file(folder, arch, _TAG), commonest(every))
        lines.append(f"{path}: for other sizes")
    return lines
