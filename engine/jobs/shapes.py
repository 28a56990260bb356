"""Tunes problems one after another on one Ray, each in a study of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from engine.jobs.shape_progress import ShapeProgress
from engine.ray_workers import ray_session
from engine.tuning import TuningRequest, TuningResult, tune
from engine.winners import shape_text

__all__ = ["tune_each"]


def tune_each(requests: Sequence[TuningRequest]) -> Iterator[TuningResult]:
    """Tune each in turn, with progress on stderr; ends early where the user stops a run.

    Raises:
        UserError, BoardError: as `engine.tuning.tune`.
    """
    if not requests:
        return
    with (
        ray_session(requests[0].jobs, requests[0].ray_address),
        ShapeProgress(sys.stderr) as progress,
    ):
        for request in requests:
            result = tune(request, [progress.begin(shape_text(request.shape))])
            progress.end(result.ended.tried)
            yield result
            if result.ended.reason == "interrupted":
                return
