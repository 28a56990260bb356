"""The counters of a trial, and how they changed from the default to the winner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.study.stored_trial import StoredTrial

__all__ = ["ALWAYS_SHOWN", "CYCLES", "CounterChange", "counter_changes", "counters_of"]

CYCLES = "u_mode_cycle"

ALWAYS_SHOWN = (CYCLES, "instructions")
_MOST_OTHERS = 6
_LEAST_WEIGHT = 0.01  # of the default's cycles


@dataclass(frozen=True)
class CounterChange:
    """A counter of the winner beside the default's.

    Args:
        name: event name.
        winner, default: its values.
        cycles, most_cycles: what the change weighs, a rough estimate: the difference in events,
            times the fewest and the most cycles that one event costs in the model of the core, or
            one cycle if the model does not know it. Events overlap, so weights do not add up to
            the change in cycles.
    """

    name: str
    winner: float
    default: float
    cycles: float
    most_cycles: float

    @property
    def ratio(self) -> float | None:
        """The winner's value over the default's; None if the default's is 0."""
        return self.winner / self.default if self.default else None


def counters_of(trial: StoredTrial) -> dict[str, float]:
    """The counters stored with a trial."""
    stored = trial.attributes.get("counters")
    if not isinstance(stored, Mapping):
        return {}
    return {
        str(name): float(value) for name, value in stored.items() if isinstance(value, int | float)
    }


def counter_changes(
    default: StoredTrial, winner: StoredTrial, cycles_per_event: Mapping[str, tuple[float, float]]
) -> tuple[CounterChange, ...]:
    """Cycles and instructions, then the counters whose change may weigh most, in that order.

    If the default's cycles are known, a change below one hundredth of them is left out. Both trials
    must have the counter.
    """
    before, after = counters_of(default), counters_of(winner)
    changes = {}
    for name, value in before.items():
        if name in after:
            more, costs = after[name] - value, cycles_per_event.get(name, (1.0, 1.0))
            changes[name] = CounterChange(name, after[name], value, *(more * c for c in costs))
    first = [changes.pop(name) for name in ALWAYS_SHOWN if name in changes]
    least = _LEAST_WEIGHT * before.get(CYCLES, 0.0)
    others = [c for c in changes.values() if c.cycles and abs(c.most_cycles) >= least]
    others.sort(key=lambda change: -abs(change.most_cycles))
    return (*first, *others[:_MOST_OTHERS])
