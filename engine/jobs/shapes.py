"""Tunes problems one after another in one Ray session, each in its own study."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from engine.jobs.shape_progress import ShapeProgress
from engine.run.request import TuningRequest
from engine.run.tuning import TuningResult, tune
from engine.workers.ray_session import ray_session
from foundation.shapes import shape_text

__all__ = ["tune_each"]


def tune_each(requests: Sequence[TuningRequest]) -> Iterator[TuningResult]:
    """Tune each request in turn, with progress on stderr; ends early if the user stops a run.

    Raises:
        UserError, BoardError: as `engine.run.tuning.tune` does.
    """
    if not requests:
        return
    with (
        ray_session(requests[0].work.jobs, requests[0].work.ray_address),
        ShapeProgress(sys.stderr) as progress,
    ):
        for request in requests:
            result = tune(request, [progress.begin(shape_text(request.shapes[0]))])
            progress.end(result.ended.tried)
            yield result
            if result.ended.reason == "interrupted":
                return
