"""Racing: repeat a measurement only while the configuration may be the fastest."""

from __future__ import annotations

import itertools
import math
import statistics
import threading
from collections.abc import Callable, Iterable, Sequence

from rvv_runner.measurement import Measurement

__all__ = ["Race", "noise_of", "stands_out"]

# Timed runs per job. What differs between jobs (the placement of memory, other load) is noise too,
# and jobs of many runs would hide it.
_RUNS_A_JOB = 2

# Configurations other than the first get at most this part of its runs. Ties with the best are
# resolved when the leaders are compared.
_PART = 0.5

# A configuration is dropped once it is slower than the best by so many standard errors: one-sided,
# that is wrong about once in 160 times.
_STANDARD_ERRORS = 2.5

# Configurations that were measured minutes apart may differ by this factor through other load or
# heat alone, of which successive runs show nothing.
_DRIFT = 1.1

# The standard error of a median over that of a mean, for normal errors; less with heavy tails.
_MEDIAN_ERROR = math.sqrt(math.pi / 2)

# The median absolute difference of two normal values, in their standard deviations.
_MEDIAN_DIFFERENCE = 0.6745 * math.sqrt(2)


class Race:
    """Repeats a measurement until the configuration is settled: the fastest, or slower.

    The first configuration, which the board's noise is estimated from, gets all timed runs, two per
    job. Any other gets one job, and more while it is not significantly slower than the best so far.
    If the runs of a configuration are identical, the board is deterministic and one job is enough.
    Methods may be called from any thread.

    Args:
        most: timed runs of the first configuration; one if the board is deterministic.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: list[Sequence[float]] = []

    def learn(self, times_s: Sequence[float]) -> None:
        """Take the timed runs of one configuration in seconds; none if it failed."""
        if times_s:
            with self._lock:
                self._known.append(tuple(times_s))

    def measure(self, run: Callable[[int], Measurement]) -> Measurement:
        """All timed runs of one configuration as one measurement.

        The counters are those of the first runs.

        Args:
            run: measures the configuration with a number of timed runs.
        """
        measurement: Measurement | None = None
        for total in self._totals():
            done = 0 if measurement is None else len(measurement.times_s)
            more = run(total - done)
            if more.status != "correct":
                return more
            measurement = more if measurement is None else measurement.plus(more)
            if self._is_settled(measurement.times_s):
                break
        assert measurement is not None
        return measurement

    def _totals(self) -> Iterable[int]:
        """Timed runs after each job."""
        with self._lock:
            most = self._most if not self._known else math.ceil(self._most * _PART)
        return [*range(_RUNS_A_JOB, most, _RUNS_A_JOB), max(most, min(_RUNS_A_JOB, self._most))]

    def _is_settled(self, times_s: Sequence[float]) -> bool:
        if _are_the_same(times_s):
            return True
        with self._lock:
            known = list(self._known)
        best = min(known, key=statistics.median, default=None)
        if best is None:
            return False
        noise = noise_of(map(_by_job, [*known, times_s]))
        return _is_plainly_slower(_by_job(times_s), _by_job(best), noise)


def _is_plainly_slower(jobs_s: Sequence[float], best_s: Sequence[float], noise: float) -> bool:
    """Whether one configuration's median exceeds another's by more than noise explains.

    Args:
        jobs_s, best_s: times of their jobs in seconds.
        noise: of one job, as `noise_of` gives it.
    """
    error = noise * _MEDIAN_ERROR * math.sqrt(1 / len(jobs_s) + 1 / len(best_s))
    gap = math.log(statistics.median(jobs_s) / statistics.median(best_s))
    return gap > _STANDARD_ERRORS * error


def stands_out(times_s: Sequence[float], others_s: Sequence[Sequence[float]]) -> bool:
    """Whether one configuration is faster than each of the others by more than noise and drift.

    Args:
        times_s: its timed runs in seconds.
        others_s: those of each of the others.
    """
    jobs_s = list(map(_by_job, others_s))
    first_s = _by_job(times_s)
    noise = noise_of([first_s, *jobs_s])
    return noise > 0 and all(
        statistics.median(other_s) > _DRIFT * statistics.median(first_s)
        and _is_plainly_slower(other_s, first_s, noise)
        for other_s in jobs_s
    )


def _by_job(times_s: Sequence[float]) -> list[float]:
    """The median time of each job."""
    starts = range(0, len(times_s), _RUNS_A_JOB)
    return [statistics.median(times_s[start : start + _RUNS_A_JOB]) for start in starts]


def noise_of(series: Iterable[Sequence[float]]) -> float:
    """Standard deviation of the logarithm of one time: 0.02 is noise of two percent.

    It comes from the median difference of successive times of one configuration, so that outliers
    and slow drift of the board do not count.

    Args:
        series: for each configuration its times in seconds, in order.

    Returns:
        The noise; 0.0 if no configuration was timed twice.
    """
    differences = [
        abs(math.log(later / earlier))
        for times_s in series
        for earlier, later in itertools.pairwise(times_s)
    ]
    return statistics.median(differences) / _MEDIAN_DIFFERENCE if differences else 0.0


def _are_the_same(times_s: Sequence[float]) -> bool:
    return len(times_s) > 1 and len(set(times_s)) == 1
