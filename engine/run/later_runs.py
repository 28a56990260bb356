"""What runs behind the last trial tell of a study: of other sizes, orders and inputs."""

from __future__ import annotations

from collections.abc import Sequence

from engine.run.gpu_notes import said_on_gpu
from engine.run.on_inputs import note_on_inputs
from engine.run.sizes import notes_on_sizes, wrong_elsewhere
from engine.run.stored_summary import with_sizes
from engine.run.summary import Summary
from engine.study.check_notes import WRONG_ELSEWHERE, keep_wrong_elsewhere
from engine.study.trials import StoredTrials
from foundation.config import Config
from kernels.spec import Problem

__all__ = ["notes_of_later_runs"]


def notes_of_later_runs(
    problems: Sequence[Problem],
    device: str,
    summary: Summary,
    stored: StoredTrials,
    wrong: Sequence[Config],
) -> tuple[str, ...]:
    """Sentences for the user; the study keeps at which other sizes what is to be used is wrong.

    Args:
        problems: what was tuned.
        device: where, as users name it.
        summary: of the study.
        stored: the study.
        wrong: configurations that were.
    """
    on_gpu = said_on_gpu(problems[0], device, summary, wrong)
    if summary.to_use is not None:
        config = summary.to_use.config
        said = wrong_elsewhere(problems[0], config) if on_gpu is None else on_gpu.elsewhere
        keep_wrong_elsewhere(stored, config, said)
    known = with_sizes(summary, stored.attribute(WRONG_ELSEWHERE))
    notes = notes_on_sizes(problems[0], known, on_gpu=on_gpu is not None)
    if on_gpu is None:
        return (*notes, *note_on_inputs(problems, wrong))
    return (*on_gpu.notes, *notes)
