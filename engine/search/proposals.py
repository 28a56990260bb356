"""A sampler, its training set and its next proposal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
from foundation.config import Config
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


@dataclass
class _Outcomes:
    """Outcomes by number, in the order of telling.

    Args:
        times_s: None for a failure.
        further, models_s: as of `SearchState`.
    """

    times_s: dict[int, float | None] = field(default_factory=dict)
    further: dict[int, Values] = field(default_factory=dict)
    models_s: dict[int, Mapping[str, float]] = field(default_factory=dict)

    def add(self, number: int, values: Values | None, models_s: Mapping[str, float] | None) -> None:
        self.times_s[number] = None if values is None else values[0]
        if values is not None:
            self.further[number] = tuple(values[1:])
            if models_s:
                self.models_s[number] = models_s


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
    learn to avoid them (they ignore failed trials).

    Proposal n depends on the seed, on the n candidates that are taken, on the outcomes of all but
    the last `in_flight` - 1 of these, and on the violations met before. So a study that was killed
    and is resumed with as many open goes on as if it had not stopped: what was open is proposed
    again, from what was known then.

    Args:
        candidates: the valid configurations.
        sampler: what proposes.
        seed: of the whole study.
        transfer: the transfer model of a history, None without one.
        robust: which regret over several models is minimised.
        in_flight: how many proposals are open at once.
    """

    def __init__(
        self,
        candidates: Candidates,
        sampler: Sampler,
        seed: int,
        transfer: TransferModel | None = None,
        robust: Robust = "off",
        in_flight: int = 1,
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
        self._late = in_flight - 1
        self._told = _Outcomes()
        self._learnt = _Outcomes()
        self._held: dict[int, None] = {}  # those with an outcome that is not learnt yet
        # Violations by the number of the proposal that met them; and those that were taught.
        self._met: dict[int, dict[Config, None]] = {}
        self._taught: set[tuple[int, Config]] = set()

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """Shape (candidates,): whether each may still be proposed."""
        return self._free

    def state(self) -> SearchState:
        """All that is known."""
        return self._state(self._told)

    def learnt_times_s(self) -> Mapping[int, float | None]:
        """The outcomes that the next proposal is made from."""
        self._learn_held()
        return self._learnt.times_s

    def _learn_held(self) -> None:
        """Learn the outcomes of all but the last that were taken."""
        if not self._held:
            return
        taken = list(self._trial_numbers)
        late = set(taken[max(0, len(taken) - self._late) :])
        for number in [number for number in self._held if number not in late]:
            del self._held[number]
            self._learn(number)

    def _learn(self, number: int) -> None:
        time_s, trial = self._told.times_s[number], self._trial_numbers[number]
        values = None if time_s is None else (time_s, *self._told.further[number])
        self._learnt.add(number, values, self._told.models_s.get(number))
        state = TrialState.PRUNED if time_s is None else TrialState.COMPLETE
        self._study.finish(trial, state, time_s)

    def _state(self, known: _Outcomes) -> SearchState:
        rng = np.random.default_rng((self._seed, len(self._trial_numbers)))
        return SearchState(
            self._candidates,
            self._free,
            tuple(self._trial_numbers),
            known.times_s,
            rng,
            self._seed,
            self._transfer,
            known.further,
            known.models_s,
            self._robust,
        )

    def propose(self) -> Proposal:
        """A free candidate, and the violations met on the way to it.

        At least one candidate must be free. The candidate stays free until `take`.
        """
        violations: list[Violation] = []
        self._learn_held()
        self._teach(before=len(self._trial_numbers))
        sampler = self._sampler.make(self._state(self._learnt))
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
        """Teach a violation, up to `_MAX_VIOLATIONS`; none that an earlier process met here."""
        rule = self._candidates.space.violation(config)
        if rule is None or len(self._taught) >= _MAX_VIOLATIONS:
            return []
        at = len(self._trial_numbers)
        is_known = config in self._met.get(at, {})
        self.meet(config, at)
        self._teach_one(config, at)
        return [] if is_known else [Violation(config, rule)]

    def meet(self, config: Config, at: int) -> None:
        """Take a combination that is impossible; foreign values teach nothing.

        Args:
            config: the combination.
            at: the number of the proposal that met it: later ones learn it.
        """
        if self._candidates.is_combination(config):
            self._met.setdefault(at, {})[config] = None

    def _teach(self, before: int) -> None:
        """Tell the sampler what earlier proposals met."""
        for at in [at for at in self._met if at < before]:
            for config in self._met[at]:
                self._teach_one(config, at)

    def _teach_one(self, config: Config, at: int) -> None:
        if (at, config) not in self._taught:
            self._taught.add((at, config))
            self._study.add(config, TrialState.PRUNED)

    def take(self, number: int, notes: Mapping[str, object]) -> None:
        """Mark a candidate as being tried; with the notes of its proposal."""
        self._teach(before=len(self._trial_numbers) + 1)
        self._free[number] = False
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
        self._told.add(number, values, models_s)
        self._held[number] = None

    def release(self, number: int) -> None:
        """Free a candidate that was taken and not tried after all."""
        self._free[number] = True
        self._study.finish(self._trial_numbers.pop(number), TrialState.FAIL)
