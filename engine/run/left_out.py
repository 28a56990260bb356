"""What is said of a winner that makes no use of what the default configuration uses."""

from __future__ import annotations

from engine.run.summary import Summary
from kernels.spec import Problem

__all__ = ["note_on_left_out"]


def note_on_left_out(problem: Problem, summary: Summary) -> tuple[str, ...]:
    """A note if the winner leaves out an argument, such as a stride or a seed: a study is for one
    value of each, so that the check tells nothing of others.

    Args:
        problem: what was tuned.
        summary: of its study.
    """
    unused = problem.spec.unused_arguments
    winner, default = summary.winner, summary.default
    if unused is None or winner is None or default is None or winner is default:
        return ()
    left_out = unused(problem, winner.config) - unused(problem, default.config)
    if not left_out:
        return ()
    return (
        f"{winner.config} makes no use of {', '.join(sorted(left_out))}, which the default "
        "configuration uses: it may be right for this shape and these strides alone",
    )
