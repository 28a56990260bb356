"""A sampler, its training set and its next proposal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from optuna.samplers import BaseSampler
from optuna.trial import TrialState

from engine.search.model.candidates import Candidates
from engine.search.model.search_state import SearchState
from engine.search.model.transfer_model import TransferModel
from engine.search.sampler_study import SamplerStudy
from engine.search.samplers.encoding import Encoding
from engine.search.samplers.sampler import Chooser, Sampler
from engine.study.objectives import Robust, Values
from foundation.config import Config, ParameterValue
from search_spaces.space import Rule

__all__ = ["Proposal", "Proposals", "Violation"]

# After so many invalid or tried answers of a sampler, the free candidate nearest to its last answer
# is taken.
_MAX_ATTEMPTS = 10

# The most violations that one study learns from: in a space with few valid combinations, more would
# slow the sampler down and fill the storage.
_MAX_VIOLATIONS = 500


@dataclass(frozen=True)
class Violation:
    """A combination that the sampler proposed and a rule forbids.

    Args:
        config: the combination.
        rule: the first rule that it violates.
    """

    config: Config
    rule: Rule


@dataclass(frozen=True)
class Proposal:
    """One proposal of a sampler.

    Args:
        number: of a free candidate.
        notes: what the sampler stored with its trial for its own use; JSON values only.
        violations: earlier answers that a rule forbids.
    """

    number: int
    notes: Mapping[str, object]
    violations: tuple[Violation, ...]


class Proposals:
    """Trains a sampler and asks it, one proposal at a time.

    Candidates are named by their number. The sampler's own study is in memory and holds more than
    the stored one: violations and failures are pruned trials in it, which is how Optuna's samplers
    learn to avoid them (they ignore failed trials). A proposal depends only on the seed and on
    what was taught, in that order.

    Args:
        candidates: the valid configurations.
        sampler: what proposes.
        seed: of the whole study.
        transfer: the transfer model of a history, None without one.
        robust: which regret over several models is minimised.
    """

    def __init__(
        self,
        candidates: Candidates,
        sampler: Sampler,
        seed: int,
        transfer: TransferModel | None = None,
        robust: Robust = "off",
    ) -> None:
        self._candidates = candidates
        self._sampler = sampler
        self._study = SamplerStudy(Encoding(candidates.space, ranks=sampler.uses_ranks))
        self._seed = seed
        self._transfer = transfer
        self._robust = robust
        self._free = np.ones(len(candidates), dtype=bool)
        # The trial of each candidate that was taken, in the order of taking.
        self._trial_numbers: dict[int, int] = {}
        self._times_s: dict[int, float | None] = {}
        self._further: dict[int, Values] = {}
        self._models_s: dict[int, Mapping[str, float]] = {}
        self._takings = 0
        self._violations = 0

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """Shape (candidates,): whether each may still be proposed."""
        return self._free

    def state(self) -> SearchState:
        """What the next proposal is made from."""
        rng = np.random.default_rng((self._seed, self._takings))
        taken = tuple(self._trial_numbers)
        return SearchState(
            self._candidates,
            self._free,
            taken,
            self._times_s,
            rng,
            self._seed,
            self._transfer,
            self._further,
            self._models_s,
            self._robust,
        )

    def propose(self) -> Proposal:
        """A free candidate, and the violations met on the way to it.

        At least one candidate must be free. The candidate stays free until `take`.
        """
        violations: list[Violation] = []
        sampler = self._sampler.make(self.state())
        for _ in range(_MAX_ATTEMPTS):
            wanted, notes = self._ask(sampler)
            number = self._candidates.number(wanted)
            if number is None:
                violations += self._forbid(wanted)
            elif self._free[number]:
                return Proposal(number, notes, tuple(violations))
        distances = np.where(self._free, self._candidates.distances(wanted), np.inf)
        return Proposal(int(distances.argmin()), notes, tuple(violations))

    def _ask(self, sampler: BaseSampler | Chooser) -> tuple[Config, Mapping[str, object]]:
        """The sampler's answer, valid or not, and its notes."""
        if isinstance(sampler, BaseSampler):
            return self._study.ask(sampler)
        return Config(sampler()), {}

    def _forbid(self, config: Config) -> list[Violation]:
        """Teach a violation, up to `_MAX_VIOLATIONS`."""
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
        self._study.add(config, TrialState.PRUNED)

    def take(self, number: int, notes: Mapping[str, object]) -> None:
        """Mark a candidate as being tried; with the notes of its proposal."""
        self._free[number] = False
        self._takings += 1
        config = self._candidates.config(number)
        self._trial_numbers[number] = self._study.add(config, TrialState.RUNNING, notes)

    def finish(
        self, number: int, values: Values | None, models_s: Mapping[str, float] | None = None
    ) -> None:
        """Take the objectives of a candidate that was tried, None if it failed.

        The sampler's study holds the first of them, the time.

        Args:
            number: of the candidate.
            values: the objectives.
            models_s: times by model, for samplers that minimise regrets by themselves.
        """
        trial_number = self._trial_numbers[number]
        if values is None:
            self._study.finish(trial_number, TrialState.PRUNED)
            self._times_s[number] = None
        else:
            self._study.finish(trial_number, TrialState.COMPLETE, values[0])
            self._times_s[number], *further = values
            self._further[number] = tuple(further)
            if models_s:
                self._models_s[number] = models_s

    def release(self, number: int) -> None:
        """Free a candidate that was taken and not tried after all."""
        self._free[number] = True
        self._study.finish(self._trial_numbers.pop(number), TrialState.FAIL)
