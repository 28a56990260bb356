"""What is said of a wrong configuration that is right on other inputs than the check's."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from foundation.config import Config
from foundation.errors import UserError
from kernels.spec import Problem

__all__ = ["note_on_inputs", "on_inputs"]


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


def note_on_inputs(problems: Sequence[Problem], wrong: Sequence[Config]) -> tuple[str, ...]:
    """Of some wrong configurations one that is right on other inputs, and which."""
    notes = (on_inputs(problem, config) for config in wrong for problem in problems)
    return tuple(itertools.islice(filter(None, notes), 1))
