"""Builds and measures one configuration: what each lane of the loop does."""

from __future__ import annotations

import time
from collections.abc import Sequence

from engine.repeats.racing import Race
from engine.run.astray import Astray
from engine.run.outcome import Outcome, failed_build
from engine.run.time_limit import DEFAULT_LIMIT_S, TimeLimit
from engine.workers.artifacts import BuildFailure
from engine.workers.board_pool import BoardPool
from engine.workers.builders import NO_TIME_LEFT, Builders
from engine.workers.spans import Span
from foundation.config import Config
from kernels.spec import Problem
from rvv_runner.measurement import Artifact

__all__ = ["Evaluation"]


class Evaluation:
    """The way from a configuration to its outcome; several threads may take it at once.

    Args:
        builders, boards: the pools that build and measure.
        default: measured under a generous limit, which sets the limit of all others.
        limit: of a measurement; it waits for that of the default.
        race: ends a measurement early where it cannot be among the best.
        problems: what is tuned, at each shape.
    """

    def __init__(
        self,
        builders: Builders,
        boards: BoardPool,
        default: Config | None,
        limit: TimeLimit,
        race: Race,
        problems: Sequence[Problem],
    ) -> None:
        self._builders = builders
        self._boards = boards
        self._default = default
        self._limit = limit
        self._astray = Astray(problems)
        self._race = race

    def of(self, config: Config, build_end_s: float | None = None) -> Outcome:
        """Build and measure it.

        Args:
            config: what to measure.
            build_end_s: when its build ends, as `time.monotonic` gives it, if it is under way then;
                None if it comes to its end. What is built later is not measured.
        """
        if config == self._default:
            return self._of_default(config, build_end_s)
        spans: list[Span] = []
        built = self._build(config, spans, build_end_s)
        if isinstance(built, BuildFailure):
            return failed_build(built, spans)
        limit_s = self._limit.wait()
        measurement = self._race.measure(
            lambda runs: self._boards.measure(built, runs, limit_s, spans)
        )
        return Outcome(self._astray.told(config, measurement), built, spans=tuple(spans))

    def _build(
        self, config: Config, spans: list[Span], end_s: float | None
    ) -> Artifact | BuildFailure:
        with self._boards.waiting.building():
            built = self._builders.build(config, spans, end_s)
        return NO_TIME_LEFT if end_s is not None and time.monotonic() >= end_s else built

    def _of_default(self, config: Config, build_end_s: float | None) -> Outcome:
        wall_s = None
        spans: list[Span] = []
        try:
            built = self._build(config, spans, build_end_s)
            if isinstance(built, BuildFailure):
                return failed_build(built, spans)
            start_s = time.monotonic()
            measurement = self._race.measure(
                lambda runs: self._boards.measure(built, runs, DEFAULT_LIMIT_S, spans)
            )
            if measurement.status == "correct":
                wall_s = time.monotonic() - start_s
            measurement = self._astray.told(config, measurement)
            return Outcome(measurement, built, wall_s, tuple(spans))
        finally:
            self._limit.learn(wall_s)
