"""The page of a study, written at the end of its run."""

from __future__ import annotations

import sys
from typing import TextIO

from engine.reports.explanation import keep_explanation
from engine.reports.written import report_path, write_report
from engine.results.progress import progress_on
from engine.run.events import StageStarted
from engine.run.tuning import TuningResult
from engine.study.storage import study_named
from foundation.errors import CommandError
from foundation.printing import say

__all__ = ["report_run"]

# To explain two configurations then takes at most a tenth of the run; engine.report always does.
_ENOUGH_TO_EXPLAIN = 20


def report_run(result: TuningResult, stream: TextIO) -> None:
    """Write the study's page and say where it is; without one, the result still stands.

    Args:
        result: of the run.
        stream: where the line with the page's path goes.
    """
    path = report_path(result.storage, [result.study])
    stored = study_named(result.storage, result.study)
    if result.ended.measured >= _ENOUGH_TO_EXPLAIN and result.ended.reason != "interrupted":
        try:
            with progress_on(sys.stderr) as progress:
                progress(StageStarted("explaining the winner"))
                keep_explanation(stored, result.summary, result.problem)
        except CommandError as error:
            say(f"note: the report does not say where the cycles went: {error}", file=sys.stderr)
    try:
        write_report([stored], path)
    except OSError as error:
        say(f"note: no report was written: {path}: {error.strerror}", file=sys.stderr)
    else:
        say(f"report: {path}" if stream.isatty() else f"report={path}", file=stream)
