"""What is said of a wrong configuration that is right on other inputs than the check's."""

from __future__ import annotations

from foundation.config import Config
from foundation.errors import UserError
from kernels.spec import Problem

__all__ = ["on_inputs"]


def on_inputs(problem: Problem, config: Config) -> str:
    """As `KernelSpec.on_inputs`; "" also where the kernel has none, or it cannot be found out.

    Args:
        problem: what was tuned.
        config: the configuration that was wrong.
    """
    if problem.spec.on_inputs is None:
        return ""
    try:
        return problem.spec.on_inputs(problem, config)
    except (OSError, UserError):  # as on a full disk: the result is worth more than the note
        return ""
