"""What a study found: the winner, the default, the five best, and what became of the rest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.repeats.comparison import Comparison
from engine.run.shape_times import ShapeTimes, times_at_shapes
from engine.study.objectives import front
from engine.study.trials import StoredTrial
from foundation.config import Config

__all__ = ["CounterChange", "Summary", "counters_of", "summarise"]

_BEST = 5
_COUNTERS = 6


@dataclass(frozen=True)
class CounterChange:
    """A counter of the winner beside the default's.

    Args:
        name: event name.
        winner, default: its values.
    """

    name: str
    winner: float
    default: float

    @property
    def ratio(self) -> float:
        """The winner's value over the default's."""
        return self.winner / self.default


@dataclass(frozen=True)
class Summary:
    """The outcome of a study, over every run of it.

    Args:
        best: the fastest correct trials, five at most, the fastest first; where the leaders were
            measured again, in the order that this showed.
        default: the trial of the default configuration, None where it was not measured.
        changes: counters in which the winner differs most from the default, most first.
        statuses: number of tried configurations by status.
        first_reasons: for each status but "correct", what went wrong the first time, and with what.
        comparison: what measuring the leaders again showed; None where that was not done, as on a
            board that repeats itself to the bit.
        shapes: in a study of several shapes, the winner's times at each; their geometric means are
            the times of all trials.
        front: in a study with several objectives the trials that no other beats in all of them, the
            fastest first; empty in any other.
    """

    best: tuple[StoredTrial, ...]
    default: StoredTrial | None
    changes: tuple[CounterChange, ...]
    statuses: Mapping[str, int]
    first_reasons: Mapping[str, str]
    comparison: Comparison | None = None
    shapes: Mapping[str, ShapeTimes] = field(default_factory=dict)
    front: tuple[StoredTrial, ...] = ()

    @property
    def winner(self) -> StoredTrial | None:
        """The fastest correct trial."""
        return self.best[0] if self.best else None

    @property
    def estimated(self) -> bool:
        """Whether the times come from a model."""
        return self.winner is not None and bool(self.winner.attributes.get("estimated"))

    def speedup(self, trial: StoredTrial) -> float | None:
        """How many times faster than the default `trial` is; None without a default's time."""
        if self.default is None or self.default.time_s is None or not trial.time_s:
            return None
        return self.default.time_s / trial.time_s


def summarise(
    trials: Sequence[StoredTrial], default: Config | None, comparison: Comparison | None = None
) -> Summary:
    """The summary of a study's finished trials, and of the comparison of the leaders if any."""
    places = {
        c.config: place for place, c in enumerate(comparison.contenders if comparison else ())
    }
    correct = [trial for trial in trials if trial.status == "correct" and trial.time_s is not None]
    correct.sort(
        key=lambda trial: (places.get(trial.config, len(places)), trial.time_s, trial.number)
    )
    best = tuple(correct[:_BEST])
    of_default = next((trial for trial in correct if trial.config == default), None)
    return Summary(
        best=best,
        default=of_default,
        changes=_changes(best[0], of_default) if best and of_default else (),
        statuses=Counter(str(trial.status) for trial in trials),
        first_reasons=_first_reasons(trials),
        comparison=comparison,
        shapes=times_at_shapes(correct, best[0], of_default) if best else {},
        front=_front(correct),
    )


def _front(correct: Sequence[StoredTrial]) -> tuple[StoredTrial, ...]:
    several = [trial for trial in correct if len(trial.values) > 1]
    found = [several[place] for place in front([trial.values for trial in several])]
    return tuple(sorted(found, key=lambda trial: (trial.values, trial.number)))


def _first_reasons(trials: Sequence[StoredTrial]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for trial in trials:
        reason = trial.attributes.get("reason")
        if trial.status != "correct" and reason:
            reasons.setdefault(str(trial.status), f"{reason} ({trial.config})")
    return reasons


def counters_of(trial: StoredTrial) -> dict[str, float]:
    """The counters that were stored with a trial."""
    stored = trial.attributes.get("counters")
    if not isinstance(stored, Mapping):
        return {}
    return {str(name): float(value) for name, value in stored.items()}


def _changes(winner: StoredTrial, default: StoredTrial) -> tuple[CounterChange, ...]:
    """Counters that both have, by how far their ratio is from 1; zeros have no ratio."""
    before, after = counters_of(default), counters_of(winner)
    changes = [
        CounterChange(name, after[name], before[name])
        for name in before
        if after.get(name) and before[name] and after[name] != before[name]
    ]
    changes.sort(key=lambda change: -abs(math.log(change.ratio)))
    return tuple(changes[:_COUNTERS])
