"""Builds and measures one configuration: what each lane of the loop does."""

from __future__ import annotations

import time

from engine.repeats.racing import Race
from engine.run.outcome import Outcome, failed_build
from engine.run.time_limit import DEFAULT_LIMIT_S, TimeLimit
from engine.workers.artifacts import BuildFailure
from engine.workers.board_pool import BoardPool
from engine.workers.builders import Builders
from engine.workers.spans import Span
from foundation.config import Config
from rvv_runner.measurement import Artifact

__all__ = ["Evaluation"]


class Evaluation:
    """The way from a configuration to its outcome; several threads may take it at once.

    Args:
        builders, boards: the pools that build and measure.
        default: measured under a generous limit, which sets the limit of all others.
        limit: of a measurement; it waits for that of the default.
        race: ends a measurement early where it cannot be among the best.

    Attributes:
        build_end_s: when builds end that are under way, as `time.monotonic` gives it; None if they
            come to their end.
    """

    def __init__(
        self,
        builders: Builders,
        boards: BoardPool,
        default: Config | None,
        limit: TimeLimit,
        race: Race,
    ) -> None:
        self._builders = builders
        self._boards = boards
        self._default = default
        self._limit = limit
        self._race = race
        self.build_end_s: float | None = None

    def of(self, config: Config) -> Outcome:
        """Build and measure it."""
        if config == self._default:
            return self._of_default(config)
        spans: list[Span] = []
        built = self._build(config, spans)
        if isinstance(built, BuildFailure):
            return failed_build(built, spans)
        limit_s = self._limit.wait()
        measurement = self._race.measure(
            lambda runs: self._boards.measure(built, runs, limit_s, spans)
        )
        return Outcome(measurement, built, spans=tuple(spans))

    def _build(self, config: Config, spans: list[Span]) -> Artifact | BuildFailure:
        with self._boards.waiting.building():
            return self._builders.build(config, spans, self.build_end_s)

    def _of_default(self, config: Config) -> Outcome:
        wall_s = None
        spans: list[Span] = []
        try:
            built = self._build(config, spans)
            if isinstance(built, BuildFailure):
                return failed_build(built, spans)
            start_s = time.monotonic()
            measurement = self._race.measure(
                lambda runs: self._boards.measure(built, runs, DEFAULT_LIMIT_S, spans)
            )
            if measurement.status == "correct":
                wall_s = time.monotonic() - start_s
            return Outcome(measurement, built, wall_s, tuple(spans))
        finally:
            self._limit.learn(wall_s)
