"""Measure one configuration: python -m engine.measure KERNEL --config BLOCK_SIZE_M=16,..."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from engine.arguments.configuration import add_config_argument, complete_config
from engine.arguments.problem import (
    add_device_argument,
    add_problem_arguments,
)
from engine.run.events import Listener, StageStarted
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    run_command,
)
from foundation.config import Config, ParameterValue
from foundation.printing import say

if TYPE_CHECKING:
    from engine.workers.board_pool import BoardPool
    from kernels.spec import Problem
    from rvv_runner.measurement import Measurement

__all__ = ["main"]

_PROG = "engine.measure"
_DESCRIPTION = "Builds one configuration of a kernel, checks it and measures it."
_EPILOG = (
    "Exit status: 0 if the output is correct, 1 if it is not or the kernel is probably wrong for "
    "other inputs, 2 for a mistake in the command."
)
_LIMIT_S = 600.0
_LOOK_S = 0.2


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments or a board that cannot be used.
    """
    arguments = _parse(argv)
    record = _measure(arguments)
    say(_text(record, as_json=arguments.json))
    is_right = record["status"] == "correct" and not record["warning"]
    return EXIT_FOUND if is_right else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add_problem_arguments(parser)
    add_device_argument(parser)
    add_config_argument(parser)
    return parser.parse(argv)


def _measure(arguments: argparse.Namespace) -> dict[str, object]:
    from engine.results.progress import LOADING, progress_on

    with progress_on(sys.stderr) as tell:
        tell(LOADING)
        return _measure_telling(arguments, tell)


def _measure_telling(arguments: argparse.Namespace, tell: Listener) -> dict[str, object]:
    # Ray and Triton take seconds to import: --help and mistyped names do not wait for them.
    from engine.run.astray import Astray
    from engine.run.checked_file import checked_file
    from engine.run.on_inputs import on_inputs
    from engine.run.wrong_everywhere import note_on_reference_of_one
    from engine.study.check_notes import probably_wrong
    from engine.workers.devices import load_board
    from engine.workers.workbench import workbench
    from kernels.registry import load_kernel, make_problem

    problem = make_problem(load_kernel(arguments.kernel), arguments.shape, arguments.dtype)
    info = load_board(arguments.device).info
    space = problem.space(info)
    default = space.default or problem.default_config
    config = complete_config(arguments.config, default, problem.spec.name, space.parameters)
    _say_what_is_left_out(arguments.config, config)
    notes = checked_file(problem, info, lambda stage: tell(StageStarted(stage)))
    with workbench(
        problem,
        [arguments.device],
        info,
        jobs=1,
        tell=lambda stage: tell(StageStarted(stage)),
    ) as bench:
        tell(StageStarted("building and measuring"))
        with _telling_of(bench.boards, tell):
            measurement, artifact = bench.measure(config, _LIMIT_S)
        measurement = Astray([problem]).told(config, measurement)
    if measurement.status == "wrong":
        is_own = problem.spec.file is not None
        notes += note_on_reference_of_one(measurement.reason, is_own=is_own)
        notes += (on_inputs(problem, config),) if info.gpu is None else ()
    doubt = probably_wrong(notes)
    for note in notes:
        if note and note != doubt:
            say(f"note: {note}", file=sys.stderr)
    record = _record(problem, config, measurement, info.name, doubt)
    return {**record, **(artifact.record if artifact else {})}


@contextlib.contextmanager
def _telling_of(boards: BoardPool, tell: Listener) -> Iterator[None]:
    """Within the block, tell at once what the boards have to say."""

    def tell_all() -> None:
        for event in boards.take_events():
            tell(event)

    def keep_telling() -> None:
        while not is_over.wait(_LOOK_S):
            tell_all()

    is_over = threading.Event()
    telling = threading.Thread(target=keep_telling, daemon=True)
    telling.start()
    try:
        yield
    finally:
        is_over.set()
        telling.join()
        tell_all()


def _record(
    problem: Problem, config: Config, measurement: Measurement, device: str, doubt: str
) -> dict[str, object]:
    """A measurement as JSON, without its executable."""
    from engine.workers.devices import cores_of
    from rvv_runner.emulated.error_band import error_band

    board, has_time = measurement.board or device, bool(measurement.times_s)
    band = error_band(board, measurement.counters) if has_time else None
    return {
        "kernel": problem.spec.name,
        "shape": dict(problem.shape),
        "dtype": problem.dtype,
        "config": dict(config),
        "board": board,
        "cores": cores_of(device),
        "status": measurement.status,
        "reason": measurement.reason,
        "warning": doubt or _warning_of_heat(measurement),
        "times_s": measurement.times_s,
        "estimated": measurement.estimated if has_time else None,
        "estimate_error": None if band is None else band.error,
        "counters": dict(measurement.counters),
        "max_abs_error": measurement.max_abs_error,
        "max_share": measurement.max_share,
        "conditions": dict(measurement.conditions),
        **dict.fromkeys(("elf_path", "elf_sha256", "run_command")),
        "models_s": dict(measurement.models_s),
    }


def _warning_of_heat(measurement: Measurement) -> str | None:
    """That a time was taken on a board hotter than its file allows; None if it was not."""
    from rvv_runner.conditions import HOT

    text = measurement.conditions.get(HOT)
    return f"the time may be too long, since it was measured {text}" if text else None


def _say_what_is_left_out(given: Mapping[str, ParameterValue], config: Config) -> None:
    """Say which values are the default configuration's, if the user gave others."""
    taken = [f"{name}={value}" for name, value in config.items() if name not in given]
    if given and taken:
        say(f"note: --config leaves out {', '.join(taken)}, the default's", file=sys.stderr)


def _text(record: Mapping[str, object], as_json: bool) -> str:
    if as_json:
        from engine.results.json import json_text

        return json_text(record)
    # What a failed build does not have would stand below its reason as a column of dashes.
    texts = {name: _readable(value) for name, value in record.items()}
    return "\n".join(f"{name}: {text}" for name, text in texts.items() if text)


def _readable(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_plain(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return "" if value is None else str(value)


def _plain(value: object) -> str:
    """Whole numbers without a decimal point; counters are floats, since some are estimates."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    run_command(main, _PROG)
