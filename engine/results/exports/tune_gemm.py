"""tuning_results.yaml: matrix products and their winners, as ROCm's tune_gemm reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from engine.results.gemm_results import result_record, write_results
from engine.results.tuned_shape import PRODUCT, TunedShape, one_per_shape, tuned_shape
from engine.results.units import counted
from engine.study.trials import StoredTrials
from kernels.registry import load_kernel, make_problem

__all__ = ["entry_of", "write_entries"]

_CONSUMER = "tune_gemm"
_KERNELS = ("matmul", "split_k_matmul")  # with B in row-major order, as rowMajorB says


def entry_of(study: StoredTrials) -> TunedShape:
    """The study's winner.

    Raises:
        UnfitStudyError: for another kernel than a matrix product, or for a processor.
    """
    shape = tuned_shape(study)
    shape.on_gpu(_CONSUMER)
    shape.of_kernel(_CONSUMER, _KERNELS, PRODUCT)
    return shape


def write_entries(
    shapes: Sequence[TunedShape], folder: Path, _tell: Callable[[str], None]
) -> list[str]:
    """Write one file with an entry for each product."""
    written = one_per_shape(shapes)
    path = folder / "tuning_results.yaml"
    write_results(path, [_record(shape) for shape in written])
    return [f"{path}: {counted(len(written), 'product')}"]


def _record(shape: TunedShape) -> dict[str, object]:
    problem = make_problem(load_kernel(shape.kernel), shape.shape, shape.dtype)
    return result_record(problem, shape.device, shape.summary, shape.winner)
