"""Ask, build, measure, tell, pipelined: while boards measure, the next configurations are built."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from engine.repeats.comparison import compare, leaders
from engine.repeats.racing import Race, noise_of
from engine.run.budget import Budget
from engine.run.evaluation import Evaluation
from engine.run.events import (
    EndReason,
    Event,
    Listener,
    RunEnded,
    RunStarted,
    StageStarted,
    Standing,
    TrialFinished,
)
from engine.run.leader_rounds import LeaderRounds
from engine.run.outcome import Outcome, measured_outcome
from engine.run.second_tries import SecondTries
from engine.run.time_limit import TimeLimit
from engine.run.unknown_names import refuse_unknown_names
from engine.search import Search
from engine.search.convergence import Convergence
from engine.workers.board_pool import BoardPool
from engine.workers.builders import Builders
from engine.workers.waiting import Cause
from foundation.config import Config
from kernels.spec import Problem

__all__ = ["TuningLoop"]

_POLL_S = 0.1  # how soon a stop is noticed
_LOOK_S = 0.5  # how often others' trials are looked at, once no more are to be begun

_T = TypeVar("_T")


class _Interrupted(Exception):
    """The user stopped the run."""


class TuningLoop:
    """One run of a study. It closes the two pools at its end, unless other runs share them.

    On deterministic boards, the order of asks and tells does not depend on timing: proposal n is
    asked for just after the outcome of proposal n - in_flight is told, and outcomes are told in the
    order of asking. With the same seed, two runs are identical. On others, outcomes are told as
    they come, so that no proposal waits for a slow build.

    Args:
        search: proposes configurations and learns from their outcomes.
        builders, boards: the pools that build and measure.
        budget: when to stop.
        in_flight: open proposals; enough to keep every board busy, but no more, since a proposal
            cannot learn from proposals that are still open.
        repeats: timed runs of a measurement, fewer for a configuration that is significantly
            slower than the best. If more than one, the leaders are compared in turns at the end.
        deterministic: whether the boards are.
        estimated: whether the boards' times come from a model.
        rounds_while_idle: whether boards that wait for builds measure the leaders in turns.
        shares_pools: whether the pools stay open for other runs; not if work is pending at the end,
            which only closing them ends.
        problems: what is tuned, at each shape: it tells where a failure is.
        listeners: called with every event, in this thread.
    """

    def __init__(
        self,
        search: Search,
        builders: Builders,
        boards: BoardPool,
        *,
        budget: Budget,
        in_flight: int,
        repeats: int,
        deterministic: bool = True,
        estimated: bool = False,
        rounds_while_idle: bool = False,
        shares_pools: bool = False,
        problems: Sequence[Problem] = (),
        listeners: Sequence[Listener] = (),
    ) -> None:
        self._search = search
        self._builders = builders
        self._boards = boards
        self._budget = budget
        self._in_flight = in_flight
        self._repeats = repeats
        self._convergence = Convergence(search)
        self._race = Race(repeats)
        for trial in search.trials():
            self._race.learn(trial.times_s)
        self._deterministic = deterministic
        self._estimated = estimated
        self._rounds_while_idle = rounds_while_idle
        self._shares_pools = shares_pools
        self._listeners = listeners
        self._stop = threading.Event()
        self._pending: deque[tuple[Config, Future[Outcome]]] = deque()
        self._second_tries = SecondTries()
        self._measured = 0
        self._build_end_s: float | None = None
        self._first_build_end_s: float | None = None
        self._limit = TimeLimit()
        default = search.space.default
        self._evaluation = Evaluation(builders, boards, default, self._limit, self._race, problems)
        self._wall_s = 0.0
        self._waits_s: Mapping[Cause, float] = {}
        self._rounds = LeaderRounds(builders, boards, self._limit)

    def stop(self) -> None:
        """Ask the run to end now; safe in a signal handler."""
        self._stop.set()

    def run(self) -> RunEnded:
        """Try configurations until the budget is used up.

        Raises:
            BoardError: if no board can measure any more. What was measured stays in the study,
                and the listeners get `RunEnded` first.
            UserError: in the same way, for a kernel that no configuration lets compile.
        """
        start_s = time.monotonic()
        self._emit(RunStarted(self._standing(), self._estimated))
        reason: EndReason = "failed"
        try:
            self._boards.waiting.begin()
            reason = self._run_lanes(start_s)
        finally:
            self._tell_of_boards()
            tried, records = self._search.tried, self._boards.records()
            ended = RunEnded(reason, tried, self._measured, self._wall_s, records, self._waits_s)
            self._emit(ended)
        return ended

    def _run_lanes(self, start_s: float) -> EndReason:
        # One more is for a round of the leaders.
        lanes = ThreadPoolExecutor(self._in_flight + 1, thread_name_prefix="lane")
        try:
            self._limit.learn(self._known_default_wall_s())
            reason = self._drive(lanes, self._budget.begun_s or start_s)
            if self._repeats > 1 and self._budget.rounds.most and reason != "timeout":
                self._compare_leaders(lanes)
            return reason
        except _Interrupted:
            self._emit(StageStarted("stopping, what was measured is kept"))
            return "interrupted"
        finally:
            # What it takes to end processes is no time in which a board could have had work.
            self._wall_s = time.monotonic() - start_s
            self._waits_s = self._boards.waiting.end()
            self._wind_up(lanes)

    def _known_default_wall_s(self) -> float | None:
        """How long the default took in an earlier run of the study; None if it was not measured."""
        default = self._search.space.default
        tried = (trial for trial in self._search.trials() if trial.config == default)
        wall_s = next((trial.attributes.get("wall_s") for trial in tried), None)
        return wall_s if isinstance(wall_s, float) else None

    def _drive(self, lanes: ThreadPoolExecutor, start_s: float) -> EndReason:
        self._build_end_s = self._budget.build_end_s(start_s)
        self._first_build_end_s = self._budget.build_end_s(start_s, is_first=True)
        refuse_unknown_names(self._search.trials(), self._search.space.default)
        self._fill(lanes, start_s, late=int(self._budget.spares_first))
        if self._pending:
            which = "next" if self._search.tried else "first"
            self._emit(StageStarted(f"building the {which} configuration"))
        while True:
            reason = self._fill(lanes, start_s)
            if not self._pending and reason == "trials" and not self._is_full():
                reason = self._wait_for_others(start_s)
                if reason is None:
                    continue
            if not self._pending:
                return reason or "exhausted"
            self._wait_for([future for _, future in self._awaited()], lanes)
            for config, future in [one for one in self._awaited() if one[1].done()]:
                outcome = future.result()
                self._pending.remove((config, future))
                if self._has_ended(outcome):
                    self._second_tries.give_up(config)
                    continue
                self._tell(config, outcome)
                if outcome.measurement.status == "compile":
                    refuse_unknown_names(self._search.trials(), self._search.space.default)
                self._second_tries.check(outcome.measurement.reason)

    def _fill(self, lanes: ThreadPoolExecutor, start_s: float, late: int = 0) -> EndReason | None:
        """Open proposals up to `in_flight`, the first `late` of them after the time's end, too;
        return why no more will be opened, if so."""
        while len(self._pending) < self._in_flight:
            others = self._search.tried_elsewhere()
            if self._search.tried + len(self._pending) + others >= self._budget.trials:
                return self._budget.end_of(self._search.size)
            if self._budget.until_converged and self._convergence.is_reached():
                return "converged"
            if self._is_late(start_s) and len(self._pending) >= late:
                return "timeout"
            if self._stop.is_set():
                raise _Interrupted
            config = self._next()
            if config is None:
                return "exhausted"
            if config == self._search.space.default:
                self._limit.expect()
            ended = lanes.submit(self._evaluation.of, config, self._next_build_end_s())
            self._pending.append((config, ended))
        return None

    def _next_build_end_s(self) -> float | None:
        is_first = not self._pending and not self._measured
        return self._first_build_end_s if is_first else self._build_end_s

    def _is_full(self) -> bool:
        return self._search.tried >= self._budget.trials

    def _is_late(self, start_s: float) -> bool:
        timeout_s = self._budget.timeout_s
        return timeout_s is not None and time.monotonic() - start_s >= timeout_s

    def _has_ended(self, outcome: Outcome) -> bool:
        """Whether a configuration was not built, and the end of the time may be why."""
        is_over = self._build_end_s is not None and time.monotonic() >= self._build_end_s
        return is_over and outcome.artifact is None and outcome.measurement.status == "board"

    def _wait_for_others(self, start_s: float) -> EndReason | None:
        """Wait while other tuners of the study measure its last trials; None if one of them gave
        a trial back."""
        while self._search.tried + self._search.tried_elsewhere() >= self._budget.trials:
            if self._is_full():
                return self._budget.end_of(self._search.size)
            if self._is_late(start_s):
                return "timeout"
            self._search.keep_alive()
            if self._stop.wait(_LOOK_S):
                raise _Interrupted
        return None

    def _next(self) -> Config | None:
        """What to try next; None if nothing is left.

        What a builder or a board could not finish comes first, once another configuration got
        through, or else last: it may be the default, without which a study knows no speed-up.
        """
        again = self._second_tries.next(at_once=True)
        if again is not None:
            return again
        with self._boards.waiting.doing("proposals"):
            config = self._search.ask()
        return self._second_tries.next(at_once=False) if config is None else config

    def _awaited(self) -> list[tuple[Config, Future[Outcome]]]:
        """The proposals of which one has to end before the next is asked for."""
        return list(self._pending)[:1] if self._deterministic else list(self._pending)

    def _wait_for(
        self, futures: Sequence[Future[_T]], lanes: ThreadPoolExecutor | None = None
    ) -> _T:
        """The result of the first to end; given lanes, idle boards measure leaders meanwhile."""
        while not self._stop.is_set():
            self._search.keep_alive()
            if lanes is not None and self._rounds_while_idle and self._rounds.asks_for_leaders:
                self._rounds.begin_early(self._leaders(), lanes)
            done = wait(futures, timeout=_POLL_S, return_when=FIRST_COMPLETED).done
            self._tell_of_boards()
            if done:
                return next(iter(done)).result()
        raise _Interrupted

    def _tell(self, config: Config, outcome: Outcome) -> None:
        measurement = outcome.measurement
        if measurement.status == "board":
            self._second_tries.fault(config)
        else:
            self._second_tries.got_through()
            self._measured += 1
            time_s = measurement.time_s if measurement.status == "correct" else None
            self._race.learn(measurement.times_s)
            if self._rounds_while_idle:
                self._rounds.learn(config, outcome)
            best = self._search.best()
            leads = time_s is not None and (best is None or time_s < best[1])
            with self._boards.waiting.doing("store"):
                self._search.tell(
                    config,
                    time_s,
                    status=measurement.status,
                    attributes=outcome.attributes(),
                    note=outcome.note(),
                    files=outcome.texts() if leads else (),
                )
        self._emit(TrialFinished(config, measurement, outcome.artifact, self._standing()))

    def _compare_leaders(self, lanes: ThreadPoolExecutor) -> None:
        """Measure the leaders again in turns, unless these leaders are already compared."""
        trials = self._search.trials()
        is_deterministic = noise_of(trial.times_s for trial in trials) == 0
        if is_deterministic or self._search.comparison is not None:
            return
        self._emit(StageStarted("measuring the leaders again, in turns"))
        comparison = compare(
            self._leaders(),
            lambda order: self._wait_for([lanes.submit(self._rounds.measure, order)]),
            seed=len(trials),
            default=self._search.space.default,
            code_bytes={trial.config: trial.code_bytes for trial in trials},
            rounds=self._budget.rounds,
        )
        if comparison is not None:
            self._search.keep_comparison(comparison)

    def _leaders(self) -> list[Config]:
        return leaders(self._search.trials(), self._search.space.default)

    def _wind_up(self, lanes: ThreadPoolExecutor) -> None:
        """End running work, tell what was measured, and give back all other open proposals.

        Where order matters, what follows one without an outcome is given back too, so that the
        next run goes on as this one would have.
        """
        self._limit.learn(None)
        if self._pending or not self._shares_pools:
            self._builders.close()
            self._boards.close()
        lanes.shutdown(cancel_futures=True)
        is_whole = True
        for config, future in self._pending:
            outcome = measured_outcome(future)
            is_whole = is_whole and outcome is not None
            if outcome is None or (self._deterministic and not is_whole):
                self._second_tries.give_up(config)
            else:
                self._tell(config, outcome)
        for config in self._second_tries.left():
            reason = {"reason": "given back: the run ended before it had an outcome"}
            self._search.tell(config, None, status="board", attributes=reason)

    def _tell_of_boards(self) -> None:
        for event in self._boards.take_events():
            self._emit(event)

    def _standing(self) -> Standing:
        search = self._search
        trials = min(self._budget.trials, search.size)
        return Standing(search.tried, trials, search.best(), search.default_time_s, search.order)

    def _emit(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)
