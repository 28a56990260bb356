"""Builds given configurations, runs them and compares them with the reference, without a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.run.identity import identity_of
from engine.run.outcome import Outcome
from engine.run.tuning import TuningResult
from engine.study.storage import open_study
from engine.workers.devices import load_board
from engine.workers.ray_session import ray_session
from engine.workers.workbench import workbench
from foundation.config import Config
from foundation.errors import UserError
from kernels.spec import Problem
from rvv_runner.measurement import Measurement

__all__ = ["add_to_study", "check_configs"]

# Time limit of one configuration in seconds; long, since its time is unknown.
_LIMIT_S = 600.0


def check_configs(
    configs: Sequence[tuple[Problem, Config]], device: str, ray_address: str | None = None
) -> Iterator[tuple[Problem, Measurement]]:
    """Measure each configuration with one timed run.

    Args:
        configs: problems with the configuration to run.
        device: name of the board.
        ray_address: of a Ray cluster to build on; None for this machine.

    Raises:
        BoardError, UserError: if the board or the cluster cannot be used.
    """
    info = load_board(device).info
    with ray_session(1, ray_address):
        for problem, config in configs:
            with workbench(
                problem, [device], info, jobs=1, ray_address=ray_address, repeats=1
            ) as bench:
                yield problem, bench.measure(config, _LIMIT_S)[0]


def add_to_study(
    result: TuningResult, config: Config, device: str, ray_address: str | None = None
) -> None:
    """Measure a configuration as a new trial of a study, unless it has an outcome there.

    Args:
        result: of the study.
        config: may be one that a rule of the study's space forbids.
        device, ray_address: as in `check_configs`.

    Raises:
        UserError: for a value that is not in the study's space.
        BoardError: if the board cannot be used.
    """
    problem, info = result.problem, load_board(device).info
    space = problem.space(info)
    identity = identity_of(problem, info, result.sampler, seed=result.seed)
    stored = open_study(result.storage, identity, space, result.study)
    if any(t.config == config and t.has_outcome for t in stored.changes()):
        return
    with workbench(problem, [device], info, jobs=1, ray_address=ray_address) as bench:
        measurement, _ = bench.measure(config, _LIMIT_S)
    try:
        number = stored.start(config, space, {})
    except ValueError as error:
        raise UserError(f"{config} is not in the space of {problem.name}: {error}") from error
    time_s = measurement.time_s if measurement.status == "correct" else None
    stored.finish(number, time_s, measurement.status, Outcome(measurement).attributes())
