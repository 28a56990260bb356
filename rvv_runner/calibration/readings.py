"""What was measured: cycles of each micro-kernel, with all that was counted meanwhile."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

__all__ = ["OVERHEAD", "Reading", "Readings"]

OVERHEAD = "nothing"  # the kernel that only shows what calling one costs

_TOO_SHORT = "it took no longer than a call of nothing"


@dataclass(frozen=True)
class Reading:
    """One micro-kernel with one set of parameters.

    Args:
        kernel: its name.
        parameters: it ran with; "iterations" is among them.
        copies: of what was timed, in one iteration.
        status: of the measurement: "correct" if its output was.
        cycles: of the timed run, from a counter or from time and clock, as in all readings of one
            core; None if it is not correct, or was not counted.
        times_s: of each repetition, in seconds.
        counters: by event, as far as the board counts any.
        reason: one sentence if there are no cycles.
    """

    kernel: str
    parameters: Mapping[str, int]
    copies: int
    status: str
    cycles: float | None = None
    times_s: tuple[float, ...] = ()
    counters: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""


class Readings:
    """All readings of one core, by kernel and parameters."""

    def __init__(self, readings: Iterable[Reading] = ()) -> None:
        self._all: list[Reading] = []
        self._by_kernel: dict[str, list[Reading]] = {}
        for reading in readings:
            self.add(reading)

    def add(self, reading: Reading) -> None:
        """One more reading."""
        self._all.append(reading)
        self._by_kernel.setdefault(reading.kernel, []).append(reading)

    def __iter__(self) -> Iterator[Reading]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def cycles(self, kernel: str, **parameters: int) -> float | None:
        """Cycles of one copy; None if it was not measured, not right or too short to tell.

        Args:
            kernel: its name.
            parameters: as far as they tell one reading from the others.
        """
        for reading in self._by_kernel.get(kernel, ()):
            if parameters.items() <= reading.parameters.items():
                return self._each(reading)
        return None

    def curve(self, kernel: str, along: str, **parameters: int) -> dict[int, float]:
        """Cycles of one copy by the parameter `along`, in rising order, of all that are right."""
        found = {}
        for reading in self._by_kernel.get(kernel, ()):
            each = self._each(reading)
            if each is not None and parameters.items() <= reading.parameters.items():
                found[reading.parameters[along]] = each
        return dict(sorted(found.items()))

    def left_out(self) -> list[Reading]:
        """Those that tell no cycles, each with the reason."""
        return [
            reading if reading.cycles is None else replace(reading, reason=_TOO_SHORT)
            for reading in self._all
            if reading.kernel != OVERHEAD and self._each(reading) is None
        ]

    def _each(self, reading: Reading) -> float | None:
        if reading.cycles is None:
            return None
        cycles = reading.cycles - self._overhead()
        return cycles / (reading.copies * reading.parameters["iterations"]) if cycles > 0 else None

    def _overhead(self) -> float:
        """Cycles of calling a kernel, the median; 0 if not known."""
        found = [r.cycles for r in self._by_kernel.get(OVERHEAD, ()) if r.cycles is not None]
        return statistics.median(found) if found else 0.0
