"""What is said of sizes: of those left out, and of a winner that is wrong at other ones."""

from __future__ import annotations

from engine.run.request import TuningRequest
from engine.run.summary import Summary
from foundation.config import Config
from foundation.errors import UserError
from foundation.shapes import shape_text
from kernels.spec import UNTRIED_SIZES, Problem

__all__ = ["notes_on_sizes", "on_sizes_left_out", "wrong_elsewhere"]


def on_sizes_left_out(request: TuningRequest, problem: Problem) -> tuple[str, ...]:
    """A sentence on defaults where some sizes were given: the others may have been forgotten."""
    given = set().union(*request.shapes)
    left_out = {name: size for name, size in problem.shape.items() if name not in given}
    if not given or not left_out:
        return ()
    return (f"sizes that were not given are the kernel's defaults: {shape_text(left_out)}",)


def wrong_elsewhere(problem: Problem, config: Config) -> str:
    """As `KernelSpec.on_other_sizes`: a study, and so its check, is for one value of each size; ""
    also where the kernel has none, or it cannot be found out."""
    if problem.spec.on_other_sizes is None:
        return ""
    try:
        return problem.spec.on_other_sizes(problem, config)
    except (OSError, UserError):  # as on a full disk: the result is worth more than the note
        return ""


def notes_on_sizes(problem: Problem, summary: Summary, *, on_gpu: bool = False) -> tuple[str, ...]:
    """A note if the winner, where the default is to be used, is wrong at other sizes, or else if it
    leaves out an argument, such as a stride or a seed.

    Args:
        problem: what was tuned.
        summary: of its study.
        on_gpu: whether it ran on a GPU, where `KernelSpec.on_gpu` tells of other sizes.
    """
    winner, default = summary.winner, summary.default
    if winner is None or default is None or winner is default or summary.wrong_elsewhere:
        return ()
    if on_gpu:
        # Importing torch takes seconds; whoever tuned on a GPU has imported it.
        from kernels.on_device import made_on

        said = made_on("meta", lambda: _left_out(problem, winner.config, default.config))
    else:
        is_new = winner is not summary.to_use
        said = wrong_elsewhere(problem, winner.config) if is_new else ""
        said = "" if said.startswith(UNTRIED_SIZES) else said
        said = said or _left_out(problem, winner.config, default.config)
    return (said,) if said else ()


def _left_out(problem: Problem, config: Config, default: Config) -> str:
    unused = problem.spec.unused_arguments
    left_out = unused(problem, config) - unused(problem, default) if unused else frozenset()
    if not left_out:
        return ""
    return (
        f"{config} makes no use of {', '.join(sorted(left_out))}, which the default configuration "
        "uses: it may be right for this shape and these strides alone"
    )
