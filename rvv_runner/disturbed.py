"""Measures again what something else on the machine disturbed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from rvv_runner.measurement import Measurement

__all__ = ["DISTURBED", "undisturbed"]

# The condition of a measurement that says what disturbed it.
DISTURBED = "disturbed"

_ATTEMPTS = 3

# Runs of one executable on the same data do not differ by more: another program had the processor.
_APART = 2.0


def undisturbed(
    attempt: Callable[[], Measurement], deadline_s: float, pause_s: float
) -> Measurement:
    """The first of three attempts that nothing disturbed, or else the fastest of them.

    An attempt is disturbed, too, if half of its runs or more took over twice as long as its fastest
    run: their median is no time of the kernel. Such runs are left out of it.

    Args:
        attempt: measures once.
        deadline_s: on the monotonic clock; no attempt begins that is expected to end later.
        pause_s: in seconds, before another attempt.
    """
    disturbed: list[Measurement] = []
    while True:
        before_s = time.monotonic()
        measurement = _without_held_up(attempt())
        took_s = time.monotonic() - before_s
        if DISTURBED not in measurement.conditions:
            return measurement
        disturbed.append(measurement)
        if len(disturbed) == _ATTEMPTS or time.monotonic() + pause_s + took_s > deadline_s:
            # A disturbance makes a run slower, so the fastest was disturbed the least.
            return min(disturbed, key=lambda one: one.time_s or 0.0)
        time.sleep(pause_s)


def _without_held_up(measurement: Measurement) -> Measurement:
    """The measurement without runs that took over twice the fastest, if the median depends on
    them."""
    runs_s = measurement.times_s
    alike_s = tuple(time_s for time_s in runs_s if time_s <= _APART * min(runs_s))
    held_up = len(runs_s) - len(alike_s)
    if 2 * held_up < len(runs_s) or not runs_s:
        return measurement
    told = (
        f"{held_up} of {len(runs_s)} runs took up to {max(runs_s) / min(runs_s):.0f} times as long "
        "as the fastest and are left out"
    )
    found = measurement.conditions.get(DISTURBED)
    conditions = {**measurement.conditions, DISTURBED: f"{found}; {told}" if found else told}
    return replace(measurement, times_s=alike_s, conditions=conditions)
