"""Rounds of the leaders: at the end of a run, and earlier while a board has nothing else to do."""

from __future__ import annotations

import random
import statistics
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from engine.repeats.rounds import MOST_ROUNDS
from engine.run.outcome import Outcome
from engine.run.time_limit import TimeLimit
from engine.workers.artifacts import BuildFailure
from engine.workers.board_pool import BoardPool
from engine.workers.builders import Builders
from engine.workers.worker_pool import PoolClosed
from foundation.config import Config
from rvv_runner.measurement import Artifact

__all__ = ["LeaderRounds"]

_RECENT = 20  # builds, whose median says how long the next ones take


class LeaderRounds:
    """Measures the leaders in turns, each round on one board.

    A round that was measured early counts in the comparison if all that are compared then took
    part, so the end of a run waits for the rest only.

    Args:
        builders, boards: the pools of the run.
        limit: of one measurement.
    """

    def __init__(self, builders: Builders, boards: BoardPool, limit: TimeLimit) -> None:
        self._builders = builders
        self._boards = boards
        self._limit = limit
        self._rng = random.Random(0)
        self._artifacts: dict[Config, Artifact] = {}
        self._jobs_s: dict[Config, float] = {}
        self._builds_s: deque[float] = deque(maxlen=_RECENT)
        self._lock = threading.Lock()
        self._early: list[Mapping[Config, float]] = []
        self._running: Future[None] | None = None
        self._may_go_on = threading.Event()
        self._leaders: Mapping[Config, Artifact] = {}
        self._has_learnt = False

    def learn(self, config: Config, outcome: Outcome) -> None:
        """Take from a trial what was built, and how long its build and its last job took."""
        took_s = {what: end_s - start_s for what, _, start_s, end_s in outcome.spans}
        if outcome.artifact is not None and "measure" in took_s:
            self._builds_s.append(took_s["build"])
            self._artifacts[config] = outcome.artifact
            self._jobs_s[config] = took_s["measure"]
            self._has_learnt = True

    @property
    def asks_for_leaders(self) -> bool:
        """Whether a board is idle and no early round is running, or other trials may lead now."""
        is_running = self._running is not None and not self._running.done()
        return self._has_learnt if is_running else self._boards.idle > 0

    def begin_early(self, leaders: Sequence[Config], lanes: ThreadPoolExecutor) -> None:
        """Begin rounds in the background, which go on until a board is missed or others lead.

        A configuration whose build ends meanwhile waits for a round, so a round has to be shorter
        than a build.
        """
        self._has_learnt = False
        if self._running is not None and not self._running.done():
            if set(leaders) != set(self._leaders):
                self._may_go_on.clear()
            return
        known = {c: self._artifacts[c] for c in leaders if c in self._artifacts}
        self._artifacts, self._leaders = known, dict(known)
        if len(known) >= max(len(leaders), 2):
            self._may_go_on.set()
            self._running = lanes.submit(self._run_early, self._leaders)

    def measure(self, order: Sequence[Config]) -> list[float] | None:
        """Times in seconds of one run of each configuration, early or now; None if one failed.

        Raises:
            PoolClosed: if the pools are closed meanwhile.
            BoardError, UserError: as the pools raise them.
        """
        self._may_go_on.clear()
        if self._running is not None:
            self._running.result()
        with self._lock:
            for times_s in self._early:
                if _covers(times_s, order):
                    self._early.remove(times_s)
                    return [times_s[config] for config in order]
        built = [self._artifact(config) for config in order]
        artifacts = [artifact for artifact in built if artifact is not None]
        return self._times_s(artifacts) if len(artifacts) == len(order) else None

    def _run_early(self, artifacts: Mapping[Config, Artifact]) -> None:
        while self._is_worth_a_round(artifacts):
            order = self._rng.sample(list(artifacts), len(artifacts))
            try:
                times_s = self._times_s([artifacts[config] for config in order])
            except PoolClosed:
                return  # the run has ended
            if times_s is None:
                return
            with self._lock:
                self._early.append(dict(zip(order, times_s, strict=True)))

    def _is_worth_a_round(self, leaders: Iterable[Config]) -> bool:
        """Whether a board has time for one more round, and the comparison has a use for it."""
        if not self._boards.idle or not self._may_go_on.is_set():
            return False
        with self._lock:
            rounds = sum(_covers(times_s, leaders) for times_s in self._early)
        round_s = sum(self._jobs_s[config] for config in leaders)
        return rounds < MOST_ROUNDS and round_s < statistics.median(self._builds_s)

    def _times_s(self, artifacts: Sequence[Artifact]) -> list[float] | None:
        measured = self._boards.measure_in_turn(artifacts, 1, self._limit.wait())
        times_s = [measurement.time_s for measurement in measured if measurement.time_s is not None]
        return times_s if len(times_s) == len(artifacts) else None

    def _artifact(self, config: Config) -> Artifact | None:
        if config in self._artifacts:
            return self._artifacts[config]
        built = self._builders.build(config)
        if isinstance(built, BuildFailure):
            return None
        self._artifacts[config] = built  # each round would ask a builder again
        return built


def _covers(times_s: Mapping[Config, float], configs: Iterable[Config]) -> bool:
    return all(config in times_s for config in configs)
