"""The search: `ask` proposes a configuration, `tell` takes its outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast, overload

from engine.repeats.comparison import COMPARISON, Comparison, kept_comparison
from engine.repeats.preference import preference
from engine.search.model.candidates import Candidates
from engine.search.model.transfer_model import transfer_model
from engine.search.model.warm_start import History, WarmStart
from engine.search.proposals import Proposals
from engine.search.samplers.bayesian import BayesianSearch
from engine.search.samplers.registry import sampler_named
from engine.study.objectives import Robust
from engine.study.robust import model_regrets, order_of, rank_of, score_s
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from foundation.config import Config
from foundation.garbage import collecting_later
from rvv_runner.measurement import Status
from search_spaces.enumeration import Census
from search_spaces.space import SearchSpace

__all__ = ["Search"]


class Search:
    """Proposes configurations by `ask` and learns from `tell`.

    Only valid configurations are proposed, the space's default first, and none twice: trials that
    the study already holds count as tried and train the sampler. Several proposals may be open at
    once. With the same seed and the same answers in the same order, the proposals are the same,
    in one process or in several that resume one another.

    Args:
        space: the search space.
        sampler: a name in `engine.search.samplers.registry.SAMPLERS`, or the dotted name of an
            Optuna sampler class.
        seed: of the sampler.
        trials: the study to resume; None for one in memory. If it has several objectives,
            proposals look for the Pareto front.
        history: what was measured elsewhere (another shape, board or compiler): configurations with
            times in seconds that can be compared with each other, None or infinity for a failure.
            Its best are tried early, and `auto` and `gp` learn from all of it where the time is the
            only objective; its times are never results here.
        robust: what is minimised where trials have times under several models; "off" where
            none has.
        in_flight: how many proposals are open at once, where outcomes are told in the order of
            asking. Then a study that was killed and is resumed asks for what it would have asked
            for anyway.

    Raises:
        UserError: for an unknown sampler, one that cannot handle several objectives, and a space
            without a valid configuration.
        ValueError: if the space's default violates a rule, or a time in the history is not
            positive.
    """

    def __init__(
        self,
        space: SearchSpace,
        sampler: str = "auto",
        seed: int = 0,
        trials: StoredTrials | None = None,
        history: History = (),
        robust: Robust = "off",
        in_flight: int = 1,
    ) -> None:
        self._stored = StoredTrials.in_memory() if trials is None else trials
        proposer = sampler_named(sampler, len(self._stored.objectives))
        self._space = space
        self._candidates = Candidates(space)
        self._default = self._number_of_default()
        self._robust = robust
        self._reference: Mapping[str, float] = {}  # times by model of the first correct trial
        known = [(config, _known_time_s(config, time_s)) for config, time_s in history]
        transfer = transfer_model(self._candidates, known) if proposer.uses_history else None
        self._warm_start = WarmStart(self._candidates, known, has_model=transfer is not None)
        self._proposals = Proposals(self._candidates, proposer, seed, transfer, robust, in_flight)
        self._surrogate = BayesianSearch()
        # The trial that holds each candidate which is being tried or has been.
        self._holders: dict[int, int] = {}
        self._finished: dict[int, StoredTrial] = {}
        self._open: dict[int, int] = {}
        self._running: set[int] = set()  # those that a process tries, this one included
        with collecting_later():
            self._catch_up()

    @property
    def space(self) -> SearchSpace:
        """The search space."""
        return self._space

    @property
    def size(self) -> int:
        """How many configurations are valid."""
        return len(self._candidates)

    @property
    def census(self) -> Census:
        """How many configurations are valid, and how many each rule prunes."""
        return self._candidates.census

    @property
    def tried(self) -> int:
        """How many distinct configurations of the space have an outcome of their own."""
        return len(self._finished)

    def tried_elsewhere(self) -> int:
        """How many configurations other processes are trying now."""
        self._catch_up()
        return len(self._running - self._open.keys())

    @property
    def default_time_s(self) -> float | None:
        """Time of the space's default in seconds; None if it is unknown or there is no default."""
        if self._default is None or self._default not in self._finished:
            return None
        return self._finished[self._default].time_s

    @overload
    def ask(self) -> Config | None: ...

    @overload
    def ask(self, count: int) -> list[Config]: ...

    def ask(self, count: int | None = None) -> Config | list[Config] | None:
        """Propose what to try next.

        Args:
            count: if given, propose this many configurations at once, as a list.

        Returns:
            None, or a shorter list, once every valid configuration is tried or being tried.
        """
        if count is None:
            return self._ask_one()
        asked = (self._ask_one() for _ in range(count))
        return [config for config in asked if config is not None]

    def take(self, config: Mapping[str, object]) -> bool:
        """Open a configuration that `ask` did not propose; `tell` takes its outcome like any other.

        Returns:
            False if it is not valid, or is tried or being tried.
        """
        self._catch_up()
        candidate = self._candidates.number(config)
        if candidate is None or not self._proposals.free[candidate]:
            return False
        return self._begin(candidate, {})

    def tell(
        self,
        config: Mapping[str, object],
        seconds: float | None,
        *,
        status: Status | None = None,
        attributes: Mapping[str, object] | None = None,
        note: str = "",
        files: Sequence[Path] = (),
    ) -> None:
        """Take the outcome of a configuration that `ask` proposed.

        Args:
            config: the configuration.
            seconds: its time, or None if it failed.
            status: "correct" with a time; otherwise what went wrong, "runtime" by default.
                "board" gives the configuration back: it is proposed again and counts as not tried.
            attributes: stored with the trial; JSON values only. With a time they must hold every
                other objective of the study by its name.
            note: Markdown that optuna-dashboard shows with the trial.
            files: copied to the study's artifacts, where optuna-dashboard offers them.

        Raises:
            ValueError: for a configuration that is not open, a time that is not positive and
                finite, a status that contradicts the time, or a missing objective.
        """
        candidate = self._candidates.number(config)
        if candidate is None or candidate not in self._open:
            raise ValueError(f"{config} is not open: tell only what ask gave, and only once")
        if seconds is not None and not 0 < seconds < math.inf:
            raise ValueError(f"a time has to be positive and finite, and {seconds} is not")
        status = status or ("runtime" if seconds is None else "correct")
        if (status == "correct") != (seconds is not None):
            raise ValueError(f"the status {status} does not go with the time {seconds}")
        missing = [name for name in self._stored.objectives[1:] if not (attributes or {}).get(name)]
        if missing and seconds is not None:
            raise ValueError(f"{config} has a time and no {' and no '.join(missing)}")
        self._holders[candidate] = self._stored.finish(
            self._open.pop(candidate), seconds, status, attributes or {}, note=note, files=files
        )
        self._catch_up()

    def keep_alive(self) -> None:
        """Tell other processes that this one lives; call it often while trials are open."""
        self._stored.keep_alive()

    def best(self) -> tuple[Config, float] | None:
        """The winner so far and its time in seconds, or None if none was correct."""
        timed = [trial for trial in self.trials() if trial.time_s is not None]
        regrets = model_regrets(timed)
        timed.sort(
            key=lambda trial: (
                rank_of(regrets, self._robust, trial),
                preference(trial.config, trial.code_bytes),
            )
        )
        return (timed[0].config, cast(float, timed[0].time_s)) if timed else None

    @property
    def order(self) -> str:
        """By what `best` is the best; see `order_of`."""
        return order_of(model_regrets(self.trials()), self._robust)

    @property
    def comparison(self) -> Comparison | None:
        """The comparison of the leaders; None before it was made, and once others lead."""
        return kept_comparison(
            self._stored.attribute(COMPARISON), self.trials(), self._space.default
        )

    def keep_comparison(self, comparison: Comparison) -> None:
        """Store the comparison of the leaders."""
        # Earlier versions read "tried": a comparison counted for so many trials.
        value = {**comparison.to_json(), "tried": self.tried}
        self._stored.set_attribute(COMPARISON, value)

    def expected_gain(self) -> float | None:
        """The relative improvement of the best time that the surrogate expects of the next trial.

        It is the surrogate's prediction, whichever sampler proposes: 0.01 is one percent. None
        while there are too few trials, 0.0 if nothing is left to try.
        """
        self._catch_up()
        if not self._proposals.free.any():
            return 0.0
        return self._surrogate.expected_gain(self._proposals.state())

    def trials(self) -> list[StoredTrial]:
        """Every configuration tried, with its outcome, in the order of proposal."""
        return sorted(self._finished.values(), key=lambda trial: trial.number)

    def _ask_one(self) -> Config | None:
        while True:
            self._catch_up()
            if not self._proposals.free.any():
                return None
            candidate, notes = self._next_candidate()
            if self._begin(candidate, notes):
                return self._candidates.config(candidate)

    def _begin(self, candidate: int, notes: Mapping[str, object]) -> bool:
        """Open a candidate; False if another process opened it first."""
        config = self._candidates.config(candidate)
        trial_number = self._stored.start(config, self._space, notes)
        self._catch_up()
        if self._holders[candidate] == trial_number:
            self._open[candidate] = trial_number
            return True
        reason = {"reason": "another process began the same configuration first"}
        self._stored.finish(trial_number, None, "board", reason)
        return False

    def _number_of_default(self) -> int | None:
        default = self._space.default
        if default is None:
            return None
        number = self._candidates.number(default)
        if number is None:
            rule = self._space.violation(default)
            why = f"the rule {rule.name} forbids it" if rule else "it is not made of its values"
            raise ValueError(f"the default {default} is not in the search space: {why}")
        return number

    def _next_candidate(self) -> tuple[int, Mapping[str, object]]:
        """A free candidate with its sampler's notes; violations met on the way are stored."""
        if self._default is not None and self._proposals.free[self._default]:
            return self._default, {}
        times_s = self._proposals.learnt_times_s()
        suggestion = self._warm_start.next(self._holders, times_s)
        if suggestion is not None:
            return suggestion, {}
        proposal = self._proposals.propose()
        for violation in proposal.violations:
            self._stored.forbid(violation.config, violation.rule, self._space, len(self._holders))
        return proposal.number, proposal.notes

    def _catch_up(self) -> None:
        """Learn from every trial that is new or has ended, in any process."""
        for trial in self._stored.changes():
            candidate = self._candidates.number(trial.config)
            if candidate is not None:
                self._learn(candidate, trial)
            elif trial.status == "constraint":
                self._proposals.meet(trial.config, trial.met_at)

    def _learn(self, candidate: int, trial: StoredTrial) -> None:
        if trial.status == "constraint" and not trial.was_started:
            return  # An earlier rule forbade it.
        if candidate not in self._holders:
            if trial.status == "board":
                return  # It was given back before this search saw it.
            self._holders[candidate] = trial.number
            self._proposals.take(candidate, trial.sampler_notes)
        if self._holders[candidate] != trial.number:
            return
        if trial.status is None:
            self._running.add(candidate)
            return
        if trial.status == "board":
            if self._open.get(candidate) == trial.number:
                return  # Another machine considered this process dead; `tell` reopens it.
            del self._holders[candidate]
            self._running.discard(candidate)
            self._proposals.release(candidate)
            return
        self._running.discard(candidate)
        self._reference = self._reference or trial.models_s
        score = score_s(trial, self._robust, self._reference)
        values = None if score is None else (score, *trial.values[1:])
        self._proposals.finish(candidate, values, trial.models_s)
        if trial.has_outcome:
            self._finished[candidate] = trial


def _known_time_s(config: Mapping[str, object], time_s: float | None) -> float | None:
    """A time of a history, None for a failure."""
    if time_s is None or time_s == math.inf:
        return None
    if not 0 < time_s < math.inf:
        raise ValueError(f"the history's time of {config} has to be positive, and {time_s} is not")
    return time_s
