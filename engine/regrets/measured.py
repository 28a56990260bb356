"""Finds the winners of several boards in their studies, and measures them on the other boards."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence

from engine.regrets.times import BoardTimes
from engine.run.events import Event, StageStarted
from engine.winners.lookup import Wanted, wanted, winners_for
from engine.winners.stored import Winner
from engine.workers.devices import load_board
from engine.workers.workbench import workbench
from foundation.config import Config
from foundation.errors import UserError
from foundation.programs import python_command
from foundation.shapes import Shape, shape_text
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem

__all__ = ["board_times", "is_complete", "model_times", "problems_of"]

_LIMIT_S = 600.0

Winners = Mapping[str, Winner]
_ShapeKey = tuple[tuple[str, int], ...]


def problems_of(
    kernel: str, devices: Sequence[str], dtype: str | None, storage: str
) -> list[tuple[Problem, Winners]]:
    """Every shape of the kernel that has a winner on each device, with the winners by device.

    Raises:
        UserError: if there is no such shape.
    """
    spec = load_kernel(kernel)
    shape = dict(make_problem(spec, {}, dtype).shape)
    by_device = {
        device: _by_shape(wanted(kernel, shape, dtype, device), storage) for device in devices
    }
    shared = set.intersection(*(set(winners) for winners in by_device.values()))
    if not shared:
        lacking = [device for device in devices if not by_device[device]] or list(devices)
        raise UserError(
            f"no shape of {kernel} has a winner on each of {', '.join(devices)}: tune it with "
            f"`{python_command('engine.tune')} {kernel} --device {lacking[0]}`"
        )
    return [
        (
            make_problem(spec, dict(key), dtype),
            {device: by_device[device][key] for device in devices},
        )
        for key in sorted(shared)
    ]


def _by_shape(about: Wanted, storage: str) -> dict[_ShapeKey, Winner]:
    """The winner at each shape, made with today's compiler and model."""
    found: dict[_ShapeKey, Winner] = {}
    for winner in winners_for(about, storage):
        if winner.made_with == about.made_with:
            key = _key(winner.shape)
            found[key] = min(found.get(key, winner), winner, key=lambda each: each.time_s)
    return found


def is_complete(winners: Winners) -> bool:
    """Whether the studies hold the time of each winner on each board."""
    configs = {winner.config for winner in winners.values()}
    return all(configs <= set(winner.times_s) for winner in winners.values())


def board_times(problem: Problem, winners: Winners, tell: Callable[[Event], None]) -> BoardTimes:
    """The time of each winner on each device: from the studies, or measured now.

    Args:
        problem: what the winners are of.
        winners: by device.
        tell: is told what is being done.

    Raises:
        BoardError, UserError: if a board cannot be used.
    """
    configs = list(dict.fromkeys(winner.config for winner in winners.values()))
    times_s: dict[Config, dict[str, float]] = {config: {} for config in configs}
    measured = set()
    for device, winner in winners.items():
        missing = [config for config in configs if config not in winner.times_s]
        for config in configs:
            times_s[config][device] = winner.times_s.get(config, math.inf)
        if missing:
            tell(StageStarted(f"measuring {shape_text(problem.shape)} on {device}"))
            measured |= {(config, device) for config in missing}
            for config, time_s in _measure(problem, device, missing).items():
                times_s[config][device] = time_s
    return BoardTimes(
        problem.name,
        {device: winner.config for device, winner in winners.items()},
        times_s,
        any(winner.estimated for winner in winners.values()),
        frozenset(measured),
    )


def model_times(problem: Problem, winner: Winner) -> BoardTimes:
    """The times of one board's study under each model of its family, as `board_times` has boards'.

    Beside what each model would choose, it has the study's winner.

    Args:
        problem: what the study is about.
        winner: of the study.

    Raises:
        UserError: if its trials have times under one model only.
    """
    of_all = winner.models_s
    names = list(of_all.get(winner.config, ()))
    of_all = {config: times_s for config, times_s in of_all.items() if list(times_s) == names}
    if len(names) < 2:
        raise UserError(
            f"{winner.study} has times under one model only: give several boards with --device "
            "NAME,NAME, or tune on an emulated board"
        )
    best = {name: min(of_all, key=functools.partial(_time_under, of_all, name)) for name in names}
    configs = dict.fromkeys([winner.config, *best.values()])
    return BoardTimes(
        problem.name,
        best,
        {config: of_all[config] for config in configs},
        estimated=True,
        measured=frozenset(),
    )


def _time_under(times_s: Mapping[Config, Mapping[str, float]], model: str, config: Config) -> float:
    return times_s[config][model]


def _measure(problem: Problem, device: str, configs: Sequence[Config]) -> dict[Config, float]:
    """The time of each configuration in seconds; infinity if it is not correct there."""
    found = {}
    with workbench(problem, [device], load_board(device).info, jobs=1) as bench:
        for config in configs:
            measurement, _ = bench.measure(config, _LIMIT_S)
            correct = measurement.status == "correct" and measurement.time_s is not None
            found[config] = measurement.time_s or math.inf if correct else math.inf
    return found


def _key(shape: Shape) -> _ShapeKey:
    return tuple(sorted(shape.items()))
