"""The summary of a study: the winner, the default, the five best, and why others failed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from engine.repeats.comparison import Comparison, Contender
from engine.repeats.preference import preference
from engine.run.counters import CounterChange, counter_changes
from engine.run.estimates import estimate_text, tied, trial_band, without_prefetches
from engine.run.robustness import Robustness, robustness_of
from engine.run.shape_times import ShapeTimes, times_at_shapes
from engine.study.objectives import Robust, front
from engine.study.robust import model_regrets, rank_of
from engine.study.stored_trial import StoredTrial
from foundation.config import Config

__all__ = ["Summary", "summarise"]

_BEST = 5


@dataclass(frozen=True)
class Summary:
    """The outcome of a study, over all its runs.

    Args:
        best: the fastest correct trials, five at most, the fastest first; of a family of models,
            those that lose least over it; if the leaders were compared, in the order of the
            comparison. Equal times are ordered by `preference`.
        default: the trial of the default configuration; None if it was not measured.
        changes: counters of the winner beside the default's, as `counter_changes` orders them.
        statuses: number of tried configurations by status.
        first_reasons: for each status but "correct", the first failure's reason and configuration.
        comparison: of the leaders; None if there was none, as on a deterministic board.
        shapes: in a study of several shapes, the winner's times at each; a trial's time is their
            geometric mean.
        robustness: how far the winner holds under other models of the board; None of a real board.
        front: in a study with several objectives, the Pareto front, the fastest first; empty in any
            other.
        wrong_elsewhere: at which other sizes what is to be used is wrong, in one sentence; "" if at
            none that were tried.
        probably_wrong: for which ordinary inputs the kernel is, in one sentence; "" for none.
    """

    best: tuple[StoredTrial, ...]
    default: StoredTrial | None
    changes: tuple[CounterChange, ...]
    statuses: Mapping[str, int]
    first_reasons: Mapping[str, str]
    comparison: Comparison | None = None
    shapes: Mapping[str, ShapeTimes] = field(default_factory=dict)
    front: tuple[StoredTrial, ...] = ()
    robustness: Robustness | None = None
    wrong_elsewhere: str = ""
    probably_wrong: str = ""

    @property
    def winner(self) -> StoredTrial | None:
        """The fastest correct trial, or the winner of the comparison."""
        return self.best[0] if self.best else None

    @property
    def succeeded(self) -> bool:
        """Whether there is a winner, of a kernel that is not probably wrong: what commands exit
        with."""
        return self.winner is not None and not self.probably_wrong

    @property
    def default_is_as_fast(self) -> bool:
        """Whether the default is the winner, or cannot be told from it."""
        if self.default is None:
            return False
        if self.comparison is None:
            return self.default is self.winner or self.tied(self.default)
        config = self.default.config
        found = next((c for c in self.comparison.contenders if c.config == config), None)
        return found is not None and not found.is_significantly_slower

    @property
    def to_use(self) -> StoredTrial | None:
        """The default where it is as fast as the winner; else the winner."""
        return self.default if self.default_is_as_fast else self.winner

    @property
    def is_slower_than_default(self) -> bool:
        """Whether the winner is slower under the default model; over all of them it loses least."""
        return self.winner is not None and (self.speedup(self.winner) or 1.0) < 1.0

    @property
    def unconfirmed(self) -> float | None:
        """How many times faster than the default the fastest was in its trial, where measured again
        in turns none is significantly faster; None if none was, or if none was measured again."""
        if self.comparison is None or self.default is None or self.winner is not self.default:
            return None
        fastest = max((self.default.time_s or 0.0) / (t.time_s or math.inf) for t in self.best)
        return fastest if fastest > 1.0 else None

    @property
    def estimated(self) -> bool:
        """Whether the times come from a model."""
        return self.winner is not None and bool(self.winner.attributes.get("estimated"))

    @property
    def estimate(self) -> str:
        """What to say beside the winner's time alone: "estimated, ±24%, 2.1 times as long if
        software prefetches do nothing"; empty for one from a clock."""
        text = "" if self.winner is None else without_prefetches(self.winner)
        return ", ".join(filter(None, (self.estimate_of_all, text)))

    @property
    def estimate_of_all(self) -> str:
        """What to say above the times of several: "estimated, ±24%"."""
        band = None if self.winner is None else trial_band(self.winner)
        return estimate_text(self.estimated, band)

    def tied(self, trial: StoredTrial) -> bool:
        """Whether a model cannot tell `trial` from the winner, which it is not."""
        winner = self.winner
        return winner is not None and trial is not winner and tied(trial, winner)

    def time_s(self, trial: StoredTrial) -> float | None:
        """The time of `trial` in seconds: where it was measured again in turns, that of the rounds,
        as its speed-up."""
        again = (c.time_s for c in self._contenders if c.config == trial.config)
        return next(again, trial.time_s)

    def speedup(self, trial: StoredTrial) -> float | None:
        """How many times faster than the default `trial` is; None without a default's time.

        Where both were measured again in turns, by the rounds: other jobs are other times.
        """
        if self.default is None or self.default.time_s is None or not trial.time_s:
            return None
        if self.is_compared(trial):
            slower = {c.config: 1 + c.slower for c in self._contenders}
            return slower[self.default.config] / slower[trial.config]
        return self.default.time_s / trial.time_s

    def is_compared(self, trial: StoredTrial) -> bool:
        """Whether both the default and `trial` were measured again in turns."""
        known = {contender.config for contender in self._contenders}
        return self.default is not None and {self.default.config, trial.config} <= known

    @property
    def _contenders(self) -> tuple[Contender, ...]:
        return () if self.comparison is None else self.comparison.contenders


def summarise(
    trials: Sequence[StoredTrial],
    default: Config | None,
    comparison: Comparison | None = None,
    cycles_per_event: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    robust: Robust = "mean",
) -> Summary:
    """Sum up a study.

    Args:
        trials: the finished ones.
        default: the default configuration; None if there is none.
        comparison: of the leaders; None if they were not compared.
        cycles_per_event: the least and the most by event name, for the order of counters.
        robust: by what trials are ordered that have times under several models.
    """
    places = {
        c.config: place for place, c in enumerate(comparison.contenders if comparison else ())
    }
    correct = [trial for trial in trials if trial.status == "correct" and trial.time_s is not None]
    regrets = model_regrets(correct)
    correct.sort(
        key=lambda trial: (
            places.get(trial.config, len(places)),
            rank_of(regrets, robust, trial),
            preference(trial.config, trial.code_bytes),
        )
    )
    best = tuple(correct[:_BEST])
    of_default = next((trial for trial in correct if trial.config == default), None)
    return Summary(
        best=best,
        default=of_default,
        changes=counter_changes(of_default, best[0], cycles_per_event)
        if best and of_default and best[0] is not of_default
        else (),
        statuses=Counter(str(trial.status) for trial in trials),
        first_reasons=_first_reasons(trials),
        comparison=comparison,
        shapes=times_at_shapes(correct, best[0], of_default) if best else {},
        front=_front(correct),
        robustness=robustness_of(correct, best[0], robust, of_default) if best else None,
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
