"""What runs behind the last trial tell of a study: of other sizes, orders and inputs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from engine.run.gpu_notes import said_on_gpu
from engine.run.on_inputs import note_on_inputs
from engine.run.sizes import notes_on_sizes, wrong_elsewhere
from engine.run.stored_summary import with_sizes
from engine.run.summary import Summary
from engine.study.check_notes import WRONG_ELSEWHERE, keep_wrong_elsewhere
from engine.study.trials import StoredTrials
from foundation.config import Config
from kernels.spec import UNTRIED_SIZES, Problem

__all__ = ["elsewhere", "notes_of_later_runs"]

# By the clock: beside no further shape are other sizes tried after so long.
_PATIENCE_S = 10.0


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
    untried: tuple[str, ...] = ()
    if summary.to_use is not None:
        config = summary.to_use.config
        said = elsewhere(problems, config) if on_gpu is None else on_gpu.elsewhere
        if said.startswith(UNTRIED_SIZES):
            untried, said = (said,), ""
        keep_wrong_elsewhere(stored, config, said)
    known = with_sizes(summary, stored.attribute(WRONG_ELSEWHERE))
    notes = untried + notes_on_sizes(problems[0], known, on_gpu=on_gpu is not None)
    if on_gpu is None:
        return (*notes, *note_on_inputs(problems, wrong))
    return (*on_gpu.notes, *notes)


def elsewhere(problems: Sequence[Problem], config: Config) -> str:
    """As `wrong_elsewhere`, beside each shape of a study as long as that does not take long."""
    end_s = time.monotonic() + _PATIENCE_S
    found: list[str] = []
    for problem in problems:
        if found and time.monotonic() > end_s:
            break
        found.append(wrong_elsewhere(problem, config))
        if found[-1] and not found[-1].startswith(UNTRIED_SIZES):
            return found[-1]
    return found[0] if all(found) else ""
