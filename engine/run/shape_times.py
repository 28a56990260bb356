"""One configuration for several shapes: its time at each, beside the times of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.study.stored_trial import StoredTrial

__all__ = ["ShapeTimes", "times_at", "times_at_shapes"]


@dataclass(frozen=True)
class ShapeTimes:
    """Times in seconds at one shape.

    Args:
        winner_s: of the configuration with the lowest geometric-mean time over all shapes.
        default_s: of the default configuration; None if it was not measured.
        fastest_s: of the fastest configuration at this shape, among those correct at all shapes.
    """

    winner_s: float
    default_s: float | None
    fastest_s: float

    @property
    def speedup(self) -> float | None:
        """How many times faster than the default the winner is here."""
        return None if self.default_s is None else self.default_s / self.winner_s

    @property
    def cost(self) -> float:
        """How much slower the winner is than the fastest tried here: 0.02 is two percent."""
        return self.winner_s / self.fastest_s - 1


def times_at(trial: StoredTrial) -> dict[str, float]:
    """A correct trial's time in seconds at each shape; empty in a study of one shape."""
    stored = trial.attributes.get("shapes")
    if trial.status != "correct" or not isinstance(stored, Mapping):
        return {}
    return {str(shape): float(part["time_s"]) for shape, part in stored.items()}


def times_at_shapes(
    correct: Sequence[StoredTrial], winner: StoredTrial, default: StoredTrial | None
) -> dict[str, ShapeTimes]:
    """The winner's times beside those of others, by shape; empty in a study of one shape.

    Args:
        correct: every correct trial.
        winner, default: two of them.
    """
    defaults = {} if default is None else times_at(default)
    every = [times_at(trial) for trial in correct]
    return {
        shape: ShapeTimes(time_s, defaults.get(shape), min(times_s[shape] for times_s in every))
        for shape, time_s in times_at(winner).items()
    }
