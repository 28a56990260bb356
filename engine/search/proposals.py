"""What a sampler has been taught, and what it proposes next: an Optuna study kept in memory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import optuna
from optuna.trial import TrialState, create_trial

from engine.search.model.candidates import Candidates
from engine.search.model.search_state import SearchState
from engine.search.model.transfer_model import TransferModel
from engine.search.samplers.encoding import Encoding
from engine.search.samplers.sampler import Sampler
from engine.study.objectives import Values
from foundation.config import Config, ParameterValue
from search_spaces.space import Rule

__all__ = ["Proposal", "Proposals", "Violation"]

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


@dataclass(frozen=True)
class Proposal:
    """What a sampler proposes.

    Args:
        number: of a free candidate.
        notes: what the sampler noted with its trial, to find it there again; JSON values only.
        violations: what it wanted before and a rule forbids.
    """

    number: int
    notes: Mapping[str, object]
    violations: tuple[Violation, ...]


class Proposals:
    """Teaches a sampler and asks it, one proposal at a time.

    Candidates go by their number. The sampler's own study is in memory and holds more than the
    stored one: what a rule forbids and what failed both stand in it as pruned, which is how
    Optuna's samplers learn to stay away (they ignore failed trials). A proposal depends on the
    seed and on what was taught, in that order, and on nothing else.

    Args:
        candidates: the valid configurations.
        sampler: what proposes.
        seed: of the whole study.
        transfer: what a history leads to expect, None without one.
    """

    def __init__(
        self,
        candidates: Candidates,
        sampler: Sampler,
        seed: int,
        transfer: TransferModel | None = None,
    ) -> None:
        self._candidates = candidates
        self._sampler = sampler
        self._encoding = Encoding(candidates.space, ranks=sampler.uses_ranks)
        self._distributions = self._encoding.distributions
        self._seed = seed
        self._transfer = transfer
        self._free = np.ones(len(candidates), dtype=bool)
        self._study = optuna.create_study(storage=None)
        # The trial of each candidate that was taken, in the order of taking.
        self._trial_numbers: dict[int, int] = {}
        self._times_s: dict[int, float | None] = {}
        self._further: dict[int, Values] = {}
        self._takings = 0
        self._violations = 0

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """For each candidate whether it may still be proposed."""
        return self._free

    def state(self) -> SearchState:
        """What a proposal would be made from now."""
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
        )

    def propose(self) -> Proposal:
        """A free candidate, and what had to be taught on the way to it.

        At least one candidate has to be free. The candidate stays free until `take`.
        """
        violations: list[Violation] = []
        self._study.sampler = self._sampler.make(self.state())
        for _ in range(_MAX_ATTEMPTS):
            wanted, notes = self._ask()
            number = self._candidates.number(wanted)
            if number is None:
                violations += self._forbid(wanted)
            elif self._free[number]:
                return Proposal(number, notes, tuple(violations))
        distances = np.where(self._free, self._candidates.distances(wanted), np.inf)
        return Proposal(int(distances.argmin()), notes, tuple(violations))

    def _ask(self) -> tuple[Config, Mapping[str, object]]:
        """What the sampler wants, valid or not, and what it noted with the trial."""
        trial = self._study.ask(self._distributions)
        notes = self._study.get_trials(deepcopy=False)[trial.number].system_attrs
        with suppress(RuntimeError):  # A sampler that has seen everything may stop its study.
            self._study.tell(trial, state=TrialState.FAIL)
        return self._encoding.decode(trial.params), notes

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

    def take(self, number: int, notes: Mapping[str, object]) -> None:
        """A candidate is being tried; with the notes of its proposal."""
        self._free[number] = False
        self._takings += 1
        config = self._candidates.config(number)
        self._trial_numbers[number] = self._add(config, TrialState.RUNNING, notes)

    def finish(self, number: int, values: Values | None) -> None:
        """A candidate that was taken has these objectives, or failed.

        The sampler's study holds the first of them, the time.
        """
        trial_number = self._trial_numbers[number]
        if values is None:
            self._study.tell(trial_number, state=TrialState.PRUNED)
            self._times_s[number] = None
        else:
            self._study.tell(trial_number, values[0])
            self._times_s[number], *further = values
            self._further[number] = tuple(further)

    def release(self, number: int) -> None:
        """A candidate that was taken was not tried after all: it is free again."""
        self._free[number] = True
        self._study.tell(self._trial_numbers.pop(number), state=TrialState.FAIL)

    def _add(
        self,
        config: Mapping[str, ParameterValue],
        state: TrialState,
        notes: Mapping[str, object] | None = None,
    ) -> int:
        """Add a trial to the sampler's study; its number there."""
        trial = create_trial(
            state=state,
            params=self._encoding.encode(config),
            distributions=self._distributions,
            system_attrs=dict(notes or {}),
        )
        self._study.add_trial(trial)
        return len(self._study.get_trials(deepcopy=False)) - 1
