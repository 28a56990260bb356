"""The studies of a storage, the winner of each, and the cost of the power-of-two key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.repeats.preference import Preference, preference
from engine.results.advice import advice
from engine.run.stored_summary import KeptFacts, kept_facts, summary_of
from engine.study.identity import SPACE_NAME
from engine.study.location import DEFAULT_STORAGE
from engine.study.passed_over import is_odd, note_passed_over
from engine.study.storage import read_studies
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from foundation.config import Config
from foundation.shapes import Shape, as_shape, shape_text
from search_spaces.rules import next_power_of_two
from search_spaces.space import SearchSpace

__all__ = [
    "FEWEST_TRIALS",
    "KeyCost",
    "StoredStudy",
    "Winner",
    "key_costs",
    "key_of",
    "stored_studies",
]

# Correct trials that a study needs before other configurations are compared with its best.
FEWEST_TRIALS = 10


@dataclass(frozen=True)
class Winner:
    """The winner of a study, with the times of all configurations.

    Args:
        study: name of the study.
        kernel, dtype, device, shape: its problem.
        made_with: compiler, board model and kernel source, as short texts.
        config, time_s: what to use and its time in seconds: the fastest configuration, or the
            default if that is as fast.
        advice: how sure that is, as all results of the study say it.
        wrong_elsewhere: at which other sizes it is wrong, in one sentence; "" if at none that were
            tried.
        probably_wrong: for which ordinary inputs the kernel is, in one sentence; "" for none.
        estimate: what to say beside its time: "estimated, ±24%"; "" for one from a clock.
        elf_sha256: of the executable that was timed; None if it is not known.
        times_s: time of every correct configuration, and infinity for those that failed; includes
            configurations that today's search space does not hold.
        models_s: of every correct configuration, the time under each model of the board's family;
            empty of real boards.
    """

    study: str
    kernel: str
    dtype: str
    device: str
    shape: Shape
    made_with: Mapping[str, str]
    config: Config
    time_s: float
    estimate: str
    elf_sha256: str | None
    times_s: Mapping[Config, float]
    models_s: Mapping[Config, Mapping[str, float]] = field(default_factory=dict)
    advice: str = ""
    wrong_elsewhere: str = ""
    probably_wrong: str = ""

    @property
    def estimated(self) -> bool:
        """Whether its times come from a model."""
        return bool(self.estimate)


@dataclass(frozen=True)
class StoredStudy:
    """A study of one shape, as it is stored.

    Args:
        name: its name.
        kernel, dtype, device, shape, made_with: as in `Winner`.
        space_name: of its search space, if that is not the kernel's own.
        outcomes: its trials with an outcome.
        kept: what its winner follows from besides.
    """

    name: str
    kernel: str
    dtype: str
    device: str
    shape: Shape
    made_with: Mapping[str, str]
    space_name: str
    outcomes: tuple[StoredTrial, ...]
    kept: KeptFacts

    def winner(self, space: SearchSpace | None) -> Winner | None:
        """What `python -m engine.tune` says to use; None if no configuration was correct.

        Args:
            space: today's search space at this shape, which must hold the winner; None if it is
                not known, for that of the study's last run.
        """
        summary = summary_of(self.kept, self.outcomes, space=space)
        best = summary.to_use
        time_s = None if best is None else summary.time_s(best)
        if best is None or time_s is None:
            return None
        sha256 = best.attributes.get("elf_sha256")
        return Winner(
            study=self.name,
            kernel=self.kernel,
            dtype=self.dtype,
            device=self.device,
            shape=self.shape,
            made_with=self.made_with,
            config=best.config,
            time_s=time_s,
            estimate=summary.estimate,
            elf_sha256=None if sha256 is None else str(sha256),
            times_s={trial.config: trial.time_s or math.inf for trial in self.outcomes},
            models_s={t.config: t.models_s for t in self.outcomes if t.time_s and t.models_s},
            advice=advice(summary),
            wrong_elsewhere=summary.wrong_elsewhere,
            probably_wrong=summary.probably_wrong,
        )


@dataclass(frozen=True)
class KeyCost:
    """The cost of running the power-of-two key's winner at one shape.

    Args:
        shape: the shape.
        key: its sizes rounded up to powers of two.
        config: the winner at the key.
        time_s: its time at `shape` in seconds; infinity if it fails there.
        best_time_s: the best known time at `shape` in seconds.
        trials: number of correct configurations at `shape`, from which that is the best.
        estimated: whether times come from a model.
    """

    shape: Shape
    key: Shape
    config: Config
    time_s: float
    best_time_s: float
    trials: int
    estimated: bool

    @property
    def cost(self) -> float:
        """How much slower it is than the best: 0.02 is two percent."""
        return self.time_s / self.best_time_s - 1

    def __str__(self) -> str:
        """One line for a report."""
        if math.isinf(self.cost):
            return f"{shape_text(self.shape)}: the winner of {shape_text(self.key)} fails"
        estimated = ", estimated" if self.estimated else ""
        return (
            f"{shape_text(self.shape)}: the winner of {shape_text(self.key)} takes {self.cost:.1%} "
            f"longer than the best of {self.trials}{estimated}"
        )


def stored_studies(storage: str = DEFAULT_STORAGE) -> list[StoredStudy]:
    """Every study of one shape in a storage.

    Raises:
        UserError: if the storage cannot be read.
    """
    found = (_study(stored) for stored in read_studies(storage))
    return [study for study in found if study is not None]


def key_of(shape: Shape) -> dict[str, int]:
    """Each size rounded up to a power of two, as in CUTLASS's guidance for auto-tuning."""
    return {name: next_power_of_two(size) for name, size in shape.items()}


def key_costs(winners: list[Winner], made_with: Mapping[str, str]) -> tuple[KeyCost, ...]:
    """The costs of the power-of-two key that the studies show; empty if nothing was checked.

    Args:
        winners: of one kernel, element type and device.
        made_with: only studies made with exactly this are compared.
    """
    same = [winner for winner in winners if winner.made_with == made_with]
    at_key = {_hashable(w.shape): w for w in sorted(same, key=_rank, reverse=True)}
    costs = []
    for winner in _merged(same):
        key = at_key.get(_hashable(key_of(winner.shape)))
        trials = sum(math.isfinite(time_s) for time_s in winner.times_s.values())
        if key is None or key.shape == winner.shape or trials < FEWEST_TRIALS:
            continue
        if key.config in winner.times_s:
            costs.append(
                KeyCost(
                    shape=winner.shape,
                    key=key.shape,
                    config=key.config,
                    time_s=winner.times_s[key.config],
                    best_time_s=min(winner.times_s.values()),
                    trials=trials,
                    estimated=winner.estimated,
                )
            )
    return tuple(costs)


def _study(stored: StoredTrials) -> StoredStudy | None:
    """Read a study; None if it has several shapes, or what it says of its shape makes no sense."""
    shape, made_with = as_shape(stored.attribute("shape")), stored.attribute("made_with")
    if shape is None or not isinstance(made_with, Mapping):
        if is_odd({"shape": stored.attribute("shape")}):
            note_passed_over(stored.study_name)
        return None
    return StoredStudy(
        name=stored.study_name,
        kernel=str(stored.attribute("kernel")),
        dtype=str(stored.attribute("dtype")),
        device=str(stored.attribute("device")),
        shape=shape,
        made_with=dict(made_with),
        space_name=str(stored.attribute(SPACE_NAME) or ""),
        outcomes=tuple(trial for trial in stored.changes() if trial.has_outcome),
        kept=kept_facts(stored),
    )


def _merged(winners: list[Winner]) -> list[Winner]:
    """One winner per shape, with the times of all studies of the shape."""
    by_shape: dict[tuple[tuple[str, int], ...], list[Winner]] = {}
    for winner in winners:
        by_shape.setdefault(_hashable(winner.shape), []).append(winner)
    merged = []
    for group in by_shape.values():
        fastest = min(group, key=_rank)
        times_s = {config: t for winner in group for config, t in winner.times_s.items()}
        merged.append(Winner(**{**vars(fastest), "times_s": times_s}))
    return merged


def _rank(winner: Winner) -> tuple[float, Preference]:
    return winner.time_s, preference(winner.config)


def _hashable(shape: Shape) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(shape.items()))
