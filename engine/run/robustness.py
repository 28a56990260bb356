"""What a study's winner loses where the model of the board is not the default one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.study.objectives import Robust
from engine.study.robust import model_regrets
from engine.study.stored_trial import StoredTrial
from rvv_runner.emulated.family import models

__all__ = ["SAFE_REGRET", "Robustness", "UnderModel", "loss_text", "robustness_of"]

# A winner that loses no more than this under any model is safe: models tell no less apart.
SAFE_REGRET = 0.05
# From so many times the default model's time on, the verdict names the model: a winner that ranks
# first everywhere may still take far longer on a chip than its estimate.
_OPEN_TIME = 1.25


@dataclass(frozen=True)
class UnderModel:
    """A study under one model of the board's family.

    Args:
        name: the model's.
        says: what it assumes.
        best: the trial that it would choose.
        loses: how much slower than that the winner is: 0.02 is two percent.
        default_choice_loses: the same of the trial that the default model would choose.
        gain: how many times faster than the default configuration the winner is; None if that was
            not measured.
    """

    name: str
    says: str
    best: StoredTrial
    loses: float
    default_choice_loses: float
    gain: float | None = None


@dataclass(frozen=True)
class Robustness:
    """How far a winner holds.

    Args:
        robust: what the study minimises.
        under: each model, the default first.
        mean, weighted_mean: the winner's mean regrets, as of `ModelRegrets`.
        default_choice_mean, default_choice_weighted_mean: the same of the trial that the default
            model would choose.
        winner: the study's.
    """

    robust: Robust
    under: tuple[UnderModel, ...]
    mean: float
    default_choice_mean: float
    weighted_mean: float
    default_choice_weighted_mean: float
    winner: StoredTrial

    @property
    def worst(self) -> UnderModel:
        """The model under which the winner loses most."""
        return max(self.under, key=lambda model: model.loses)

    @property
    def is_safe(self) -> bool:
        """Whether no model makes another choice worth measuring."""
        return self.worst.loses <= SAFE_REGRET

    @property
    def verdict(self) -> str:
        """One sentence for the user."""
        worst = self.worst
        if worst.loses == 0:
            return f"is the fastest trial under all {len(self.under)} models{self._open_time}"
        if self.is_safe:
            return (
                f"holds under all {len(self.under)} models: it loses at most "
                f"{loss_text(worst.loses)}{self._open_time}"
            )
        if self._is_insurance:
            risk = max(self.under, key=lambda model: model.default_choice_loses)
            return (
                f"is {loss_text(self.under[0].loses)} slower than another one by the default model "
                f"of the core, which loses {loss_text(risk.default_choice_loses)} if {risk.says}; "
                "measure these two on a board"
            )
        return (
            f"depends on the core: if {worst.says}, it loses {loss_text(worst.loses)}; measure "
            "these two on a board"
        )

    @property
    def _is_insurance(self) -> bool:
        """Whether it loses under the default model, too, for what it gains under others."""
        return self.under[0].loses > SAFE_REGRET

    @property
    def _open_time(self) -> str:
        """Under which model it takes far longer than under the default one."""
        slowest = max(self.under, key=lambda model: self.winner.models_s[model.name])
        times_s = [self.winner.models_s[model.name] for model in (slowest, self.under[0])]
        ratio = times_s[0] / times_s[1]
        return f"; if {slowest.says}, it takes {ratio:.1f} times as long" * (ratio >= _OPEN_TIME)

    @property
    def to_measure(self) -> tuple[StoredTrial, ...]:
        """The two configurations that a measurement on a board decides between; none if safe."""
        if self.is_safe:
            return ()
        return self.winner, (self.under[0] if self._is_insurance else self.worst).best


def robustness_of(
    trials: Sequence[StoredTrial],
    winner: StoredTrial,
    robust: Robust,
    default: StoredTrial | None = None,
) -> Robustness | None:
    """How far the winner holds; None for times that no family of models gave.

    Args:
        trials: all finished ones of the study.
        winner: one of them.
        robust: what the study minimises.
        default: the trial of the default configuration; None if it was not measured.
    """
    regrets = model_regrets(trials)
    if regrets is None:
        return None
    default_choice = next(iter(regrets.best.values()))
    first = regrets.of(default_choice)
    lost = regrets.of(winner)
    said = _said()
    return Robustness(
        robust,
        tuple(
            UnderModel(
                name,
                said.get(name, name),
                best,
                lost[name],
                first[name],
                None if default is None else default.models_s[name] / winner.models_s[name],
            )
            for name, best in regrets.best.items()
        ),
        regrets.mean(winner),
        regrets.mean(default_choice),
        regrets.weighted_mean(winner),
        regrets.weighted_mean(default_choice),
        winner,
    )


def _said() -> Mapping[str, str]:
    return {model.name: model.says for model in models()}


def loss_text(regret: float) -> str:
    """A regret as people read it: "0.4%", "25%"."""
    return f"{regret:.1%}" if regret < 0.1 else f"{regret:.0%}"
