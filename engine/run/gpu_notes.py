"""What is said of how a GPU's study was checked: of other inputs and sizes, which its runs tell."""

from __future__ import annotations

from collections.abc import Sequence

from engine.run.summary import Summary
from foundation.config import Config
from foundation.errors import UserError
from gpu_runner.names import gpu_name
from kernels.spec import Problem

__all__ = ["notes_on_gpu"]


def notes_on_gpu(
    problem: Problem, device: str, summary: Summary, wrong: Sequence[Config]
) -> tuple[str, ...]:
    """As `KernelSpec.on_gpu`; none on other boards, and where the kernel has none.

    Args:
        problem: what was tuned.
        device: where, as users name it.
        summary: of its study.
        wrong: configurations that were.
    """
    gpu = gpu_name(device)
    if gpu is None or problem.spec.on_gpu is None:
        return ()
    # It is slow to import; whoever tuned on a GPU has imported it.
    import torch

    winner = summary.winner
    other = None if winner is None or winner is summary.default else winner.config
    try:
        with torch.device("cuda", gpu.place):
            return problem.spec.on_gpu(problem, other, wrong)
    except (OSError, UserError):  # as on a full disk: the result is worth more than the notes
        return ()
