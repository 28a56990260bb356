"""Ask, build, measure, tell, pipelined: while boards measure, the next configurations are built."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from engine.artifacts import BuildFailure
from engine.board_pool import BoardPool
from engine.builders import BuilderPool
from engine.events import EndReason, Event, Listener, RunEnded, RunStarted, Standing, TrialFinished
from engine.search import Search
from rvv_runner.board import BoardError
from rvv_runner.measurement import Artifact, Measurement
from search_spaces.config import Config

__all__ = ["Budget", "TuningLoop"]

_POLL_S = 0.1  # how soon a stop is noticed
_FAULTS_IN_A_ROW = 3  # configurations that no board could measure, before the boards are blamed

# The default configuration may run this long. Any other may take ten times as long as the default
# took, board time and checks included: it cannot be a winner after that.
_DEFAULT_LIMIT_S = 600.0
_SLOWER_THAN_DEFAULT = 10.0
_LEAST_LIMIT_S = 20.0
_LIMIT_WITHOUT_DEFAULT_S = 120.0


@dataclass(frozen=True)
class Budget:
    """When to stop.

    Args:
        trials: distinct configurations to try in the study, earlier runs included.
        timeout_s: after so many seconds nothing new is started; None for no limit.
    """

    trials: int
    timeout_s: float | None = None


@dataclass(frozen=True)
class _Outcome:
    measurement: Measurement
    artifact: Artifact | None = None
    wall_s: float | None = None  # of the default's measurement, which sets the others' limit


class _Interrupted(Exception):
    """The user stopped the run."""


class _TimeLimit:
    """Seconds that a candidate may run, known once the default configuration has been measured."""

    def __init__(self) -> None:
        self._limit_s = _LIMIT_WITHOUT_DEFAULT_S
        self._known = threading.Event()
        self._known.set()

    def expect(self) -> None:
        """The default is about to be measured: whoever asks for the limit has to wait for it."""
        self._known.clear()

    def learn(self, wall_s: float | None) -> None:
        """The default was measured in `wall_s` seconds, or could not be."""
        if wall_s is not None:
            self._limit_s = max(_LEAST_LIMIT_S, _SLOWER_THAN_DEFAULT * wall_s)
        self._known.set()

    def wait(self) -> float:
        """The limit in seconds, as soon as it is known."""
        self._known.wait()
        return self._limit_s


class TuningLoop:
    """One run of a study. It owns the two pools and closes them at its end.

    The order of asks and tells never depends on who is quicker: configuration number n is asked for
    just after the outcome of number n - in_flight was told, and outcomes are told in the order of
    asking. With one seed and boards that repeat themselves, two runs are the same run.

    Args:
        search: proposes, and keeps what became of the proposals.
        builders, boards: where the work is done.
        budget: when to stop.
        in_flight: proposals that are open at once; enough to feed every board, but no more, since a
            proposal knows nothing of those before it that are still open.
        repeats: timed runs of a measurement.
        estimated: whether the boards' times come from a model.
        listeners: told of every event, in this thread.
    """

    def __init__(
        self,
        search: Search,
        builders: BuilderPool,
        boards: BoardPool,
        *,
        budget: Budget,
        in_flight: int,
        repeats: int,
        estimated: bool = False,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self._search = search
        self._builders = builders
        self._boards = boards
        self._budget = budget
        self._in_flight = in_flight
        self._repeats = repeats
        self._estimated = estimated
        self._listeners = listeners
        self._stop = threading.Event()
        self._pending: deque[tuple[Config, Future[_Outcome]]] = deque()
        self._set_aside: list[Config] = []
        self._faults_in_a_row = 0
        self._measured = 0
        self._limit = _TimeLimit()

    def stop(self) -> None:
        """Ask the run to end now; safe in a signal handler."""
        self._stop.set()

    def run(self) -> RunEnded:
        """Try configurations until the budget is used up.

        Raises:
            BoardError: where no board can measure any more; what was measured stays told, and
                the listeners are told of the end first.
        """
        start_s = time.monotonic()
        self._emit(RunStarted(self._standing(), self._estimated))
        reason: EndReason = "failed"
        try:
            reason = self._run_lanes(start_s)
        finally:
            ended = RunEnded(reason, self._search.tried, self._measured, time.monotonic() - start_s)
            self._emit(ended)
        return ended

    def _run_lanes(self, start_s: float) -> EndReason:
        lanes = ThreadPoolExecutor(self._in_flight, thread_name_prefix="lane")
        try:
            self._limit.learn(self._known_default_wall_s())
            return self._drive(lanes, start_s)
        except _Interrupted:
            return "interrupted"
        finally:
            self._wind_up(lanes)

    def _known_default_wall_s(self) -> float | None:
        """How long the default took in an earlier run of the study, where it was measured then."""
        default = self._search.space.default
        tried = (trial for trial in self._search.trials() if trial.config == default)
        wall_s = next((trial.attributes.get("wall_s") for trial in tried), None)
        return wall_s if isinstance(wall_s, float) else None

    def _drive(self, lanes: ThreadPoolExecutor, start_s: float) -> EndReason:
        while True:
            reason = self._fill(lanes, start_s)
            if not self._pending:
                return reason or "exhausted"
            config, future = self._pending[0]
            outcome = self._wait_for(future)
            self._pending.popleft()
            self._tell(config, outcome)
            self._check_boards(outcome)

    def _fill(self, lanes: ThreadPoolExecutor, start_s: float) -> EndReason | None:
        """Open proposals up to the number in flight; why no more are opened, if so."""
        while len(self._pending) < self._in_flight:
            if self._search.tried + len(self._pending) >= self._budget.trials:
                return "trials"
            timeout_s = self._budget.timeout_s
            if timeout_s is not None and time.monotonic() - start_s >= timeout_s:
                return "timeout"
            if self._stop.is_set():
                raise _Interrupted
            config = self._search.ask()
            if config is None:
                return "exhausted"
            if config == self._search.space.default:
                self._limit.expect()
            self._pending.append((config, lanes.submit(self._evaluate, config)))
        return None

    def _wait_for(self, future: Future[_Outcome]) -> _Outcome:
        while not self._stop.is_set():
            if wait([future], timeout=_POLL_S).done:
                return future.result()
        raise _Interrupted

    def _evaluate(self, config: Config) -> _Outcome:
        """Build and measure; runs in a lane."""
        if config == self._search.space.default:
            return self._evaluate_default(config)
        built = self._builders.build(config)
        if isinstance(built, BuildFailure):
            return _failed_build(built)
        measurement = self._boards.measure(built, self._repeats, self._limit.wait())
        return _Outcome(measurement, built)

    def _evaluate_default(self, config: Config) -> _Outcome:
        """Build and measure with plenty of time, and set the limit of all others."""
        wall_s = None
        try:
            built = self._builders.build(config)
            if isinstance(built, BuildFailure):
                return _failed_build(built)
            start_s = time.monotonic()
            measurement = self._boards.measure(built, self._repeats, _DEFAULT_LIMIT_S)
            if measurement.status == "correct":
                wall_s = time.monotonic() - start_s
            return _Outcome(measurement, built, wall_s)
        finally:
            self._limit.learn(wall_s)

    def _tell(self, config: Config, outcome: _Outcome) -> None:
        measurement = outcome.measurement
        if measurement.status == "board":
            self._set_aside.append(config)
            self._faults_in_a_row += 1
        else:
            self._faults_in_a_row = 0
            self._measured += 1
            time_s = measurement.time_s if measurement.status == "correct" else None
            best = self._search.best()
            leads = time_s is not None and (best is None or time_s < best[1])
            self._search.tell(
                config,
                time_s,
                status=measurement.status,
                attributes=_attributes(outcome),
                files=_texts(outcome.artifact) if leads else (),
            )
        self._emit(TrialFinished(config, measurement, outcome.artifact, self._standing()))

    def _check_boards(self, outcome: _Outcome) -> None:
        if self._faults_in_a_row >= _FAULTS_IN_A_ROW:
            raise BoardError(
                f"{_FAULTS_IN_A_ROW} configurations in a row could not be measured; "
                f"the last board said: {outcome.measurement.reason}"
            )

    def _wind_up(self, lanes: ThreadPoolExecutor) -> None:
        """End what is under way, tell what is measured, and give back what was asked for else."""
        self._limit.learn(None)
        self._builders.close()
        self._boards.close()
        lanes.shutdown(cancel_futures=True)
        for config, future in self._pending:
            outcome = _measured(future)
            if outcome is None:
                self._set_aside.append(config)
            else:
                self._tell(config, outcome)
        for config in self._set_aside:
            self._search.tell(config, None, status="board")

    def _standing(self) -> Standing:
        search = self._search
        return Standing(search.tried, self._budget.trials, search.best(), search.default_time_s)

    def _emit(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)


def _measured(future: Future[_Outcome]) -> _Outcome | None:
    """What a board found out about a configuration, or None where that was not to be."""
    if future.cancelled() or future.exception() is not None:
        return None
    outcome = future.result()
    # A build may have failed because of whatever ended the run.
    return None if outcome.artifact is None or outcome.measurement.status == "board" else outcome


def _failed_build(failure: BuildFailure) -> _Outcome:
    return _Outcome(Measurement(status="compile", reason=failure.reason))


def _texts(artifact: Artifact | None) -> list[Path]:
    """Assembly and IR, which optuna-dashboard shows with the trials that led the study."""
    if artifact is None:
        return []
    paths = [artifact.elf_path.with_suffix(suffix) for suffix in (".s", ".llir")]
    return [path for path in paths if path.is_file()]


def _attributes(outcome: _Outcome) -> dict[str, object]:
    """What is stored with a trial besides its time; JSON values only."""
    measurement, artifact = outcome.measurement, outcome.artifact
    attributes: dict[str, object] = {
        "reason": measurement.reason,
        "board": measurement.board,
        "estimated": measurement.estimated,
        "times_s": list(measurement.times_s),
        "counters": dict(measurement.counters),
        "max_abs_error": measurement.max_abs_error,
        "conditions": dict(measurement.conditions),
        "wall_s": outcome.wall_s,
    }
    if artifact is not None:
        attributes["elf_sha256"] = artifact.sha256
        attributes["elf_path"] = str(artifact.elf_path)
        attributes["run_command"] = artifact.command
        attributes["build_stages_s"] = artifact.provenance.get("stages_s")
    return {name: value for name, value in attributes.items() if value not in ("", None, {})}
