"""Measures again what something else on the machine disturbed."""

from __future__ import annotations

import time
from collections.abc import Callable

from rvv_runner.measurement import Measurement

__all__ = ["DISTURBED", "undisturbed"]

# The condition of a measurement that says what disturbed it.
DISTURBED = "disturbed"

_ATTEMPTS = 3


def undisturbed(
    attempt: Callable[[], Measurement], deadline_s: float, pause_s: float
) -> Measurement:
    """The first of three attempts that nothing disturbed, or else the fastest of them.

    Args:
        attempt: measures once.
        deadline_s: on the monotonic clock; no attempt begins that is expected to end later.
        pause_s: in seconds, before another attempt.
    """
    disturbed: list[Measurement] = []
    while True:
        before_s = time.monotonic()
        measurement = attempt()
        took_s = time.monotonic() - before_s
        if DISTURBED not in measurement.conditions:
            return measurement
        disturbed.append(measurement)
        if len(disturbed) == _ATTEMPTS or time.monotonic() + pause_s + took_s > deadline_s:
            # A disturbance makes a run slower, so the fastest was disturbed the least.
            return min(disturbed, key=lambda one: one.time_s or 0.0)
        time.sleep(pause_s)
