"""Where a configuration reached outside of its arrays: the line, the byte and the program."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from foundation.config import Config
from foundation.errors import UserError
from kernels.spec import Problem
from rvv_runner.measurement import Measurement

__all__ = ["Astray"]

_OUT_OF_BOUNDS = "out of bounds"  # as `launchers.output` ends its sentence
_MOST_RUNS = 3


class Astray:
    """Adds to the reason of an access outside of an array where the kernel makes it.

    A run on this machine finds it, which checks every access: once for each reason, three times at
    most. Any thread may call it.

    Args:
        problems: what is tuned, at each shape.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self._problems = problems
        self._asked: set[str] = set()
        self._lock = threading.Lock()

    def told(self, config: Config, measurement: Measurement) -> Measurement:
        """The measurement of a configuration, with the place if its reason lacks it."""
        reason = measurement.reason
        if not reason.endswith(_OUT_OF_BOUNDS):
            return measurement
        with self._lock:
            if reason in self._asked or len(self._asked) >= _MOST_RUNS:
                return measurement
            self._asked.add(reason)
        found = next(filter(None, (self._at(problem, config) for problem in self._problems)), "")
        return replace(measurement, reason=f"{reason}: {found}") if found else measurement

    def _at(self, problem: Problem, config: Config) -> str:
        if problem.spec.astray is None:
            return ""
        try:
            return problem.spec.astray(problem, config)
        except (OSError, UserError):  # as on a full disk: the verdict stands without it
            return ""
