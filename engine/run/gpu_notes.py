"""What is said of how a GPU's study was checked: of other inputs and sizes, which its runs tell."""

from __future__ import annotations

from collections.abc import Sequence

from engine.run.summary import Summary
from foundation.config import Config
from foundation.errors import UserError
from gpu_runner.names import gpu_name
from kernels.spec import Problem, SaidOnGpu

__all__ = ["said_on_gpu"]


def said_on_gpu(
    problem: Problem, device: str, summary: Summary, wrong: Sequence[Config]
) -> SaidOnGpu | None:
    """As `KernelSpec.on_gpu`; None on other boards.

    Args:
        problem: what was tuned.
        device: where, as users name it.
        summary: of its study.
        wrong: configurations that were.
    """
    gpu = gpu_name(device)
    if gpu is None:
        return None
    if problem.spec.on_gpu is None:
        return SaidOnGpu()
    # It is slow to import; whoever tuned on a GPU has imported it.
    import torch

    to_use = summary.to_use
    try:
        with torch.device("cuda", gpu.place):
            return problem.spec.on_gpu(problem, to_use.config if to_use else None, wrong)
    except (OSError, UserError):  # as on a full disk: the result is worth more than the notes
        return SaidOnGpu()
