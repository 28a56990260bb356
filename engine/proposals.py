"""What a sampler has been taught, and what it proposes next: an Optuna study kept in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import optuna
from optuna.trial import TrialState, create_trial

from engine.candidates import Candidates
from engine.samplers import SamplerFactory
from engine.situation import Situation
from search_spaces.config import Config, ParameterValue
from search_spaces.space import Rule

__all__ = ["Proposals", "Violation"]

# How often a sampler may answer with something forbidden or tried before the free candidate
# nearest to its last answer is taken instead.
_MAX_ATTEMPTS = 10

# Violations taught in one study, so that a space with few valid combinations neither slows the
# sampler down nor fills the storage.
_MAX_VIOLATIONS = 500


@dataclass(frozen=True)
class Violation:
    """A combination that the sampler wanted and a rule forbids.

    Args:
        config: the combination.
        rule: the first rule it breaks.
    """

    config: Config
    rule: Rule


class Proposals:
    """Teaches a sampler and asks it, one proposal at a time.

    Candidates go by their number. The sampler's own study is in memory and holds more than the
    stored one: what a rule forbids and what failed both stand in it as pruned, which is how
    Optuna's samplers learn to stay away (they ignore failed trials). A proposal depends on the
    seed and on what was taught, in that order, and on nothing else.

    Args:
        candidates: the valid configurations.
        factory: makes the sampler.
        seed: of the whole study.
    """

    def __init__(self, candidates: Candidates, factory: SamplerFactory, seed: int) -> None:
        self._candidates = candidates
        self._factory = factory
        self._seed = seed
        self._free = np.ones(len(candidates), dtype=bool)
        self._study = optuna.create_study(storage=None)
        # The trial of each candidate that was taken, in the order of taking.
        self._trial_numbers: dict[int, int] = {}
        self._times_s: dict[int, float | None] = {}
        self._takings = 0
        self._violations = 0

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """For each candidate whether it may still be proposed."""
        return self._free

    def propose(self) -> tuple[int, list[Violation]]:
        """A free candidate, and what had to be taught on the way to it.

        At least one candidate has to be free. The candidate stays free until `take`.
        """
        violations = []
        rng = np.random.default_rng((self._seed, self._takings))
        self._study.sampler = self._factory(
            Situation(self._candidates, self._free, tuple(self._trial_numbers), self._times_s, rng)
        )
        for _ in range(_MAX_ATTEMPTS):
            trial = self._study.ask(self._candidates.distributions)
            self._study.tell(trial, state=TrialState.FAIL)
            wanted = Config(trial.params)
            number = self._candidates.number(wanted)
            if number is None:
                violations += self._forbid(wanted)
            elif self._free[number]:
                return number, violations
        distances = np.where(self._free, self._candidates.distances(wanted), np.inf)
        return int(distances.argmin()), violations

    def _forbid(self, config: Config) -> list[Violation]:
        """Teach a violation, unless enough have been taught."""
        rule = self._candidates.space.violation(config)
        if rule is None or self._violations >= _MAX_VIOLATIONS:
            return []
        self.teach_violation(config)
        return [Violation(config, rule)]

    def teach_violation(self, config: Mapping[str, ParameterValue]) -> None:
        """Tell the sampler that a combination is impossible; foreign values teach nothing."""
        if not self._candidates.is_combination(config):
            return
        self._violations += 1
        self._add(config, TrialState.PRUNED)

    def take(self, number: int) -> None:
        """A candidate is being tried."""
        self._free[number] = False
        self._takings += 1
        self._trial_numbers[number] = self._add(self._candidates.config(number), TrialState.RUNNING)

    def finish(self, number: int, seconds: float | None) -> None:
        """A candidate that was taken took so long, or failed."""
        trial_number = self._trial_numbers[number]
        if seconds is None:
            self._study.tell(trial_number, state=TrialState.PRUNED)
        else:
            self._study.tell(trial_number, seconds)
        self._times_s[number] = seconds

    def release(self, number: int) -> None:
        """A candidate that was taken was not tried after all: it is free again."""
        self._free[number] = True
        self._study.tell(self._trial_numbers.pop(number), state=TrialState.FAIL)

    def _add(self, config: Mapping[str, ParameterValue], state: TrialState) -> int:
        """Add a trial to the sampler's study; its number there."""
        trial = create_trial(
            state=state, params=dict(config), distributions=self._candidates.distributions
        )
        self._study.add_trial(trial)
        return len(self._study.get_trials(deepcopy=False)) - 1
