"""The winner ready to paste: the command that measures it, and its triton.Config."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from engine.workers.devices import machine_of
from foundation.config import Config
from foundation.programs import python_command
from foundation.shapes import shape_text
from foundation.triton_options import CONFIG_OPTIONS

if TYPE_CHECKING:  # it takes seconds to import, for which the text of a configuration does not wait
    from engine.run.tuning import TuningResult

__all__ = ["measure_command", "triton_config", "winner_to_use"]


def measure_command(result: TuningResult, config: Config, device: str | None = None) -> str:
    """The command that measures a configuration; if there are several shapes, at the first.

    Args:
        result: of the study.
        config: the configuration.
        device: where to measure; None for the study's own device.
    """
    problem = result.problem
    words = [problem.spec.load_name, "--shape", shape_text(problem.shape), "--dtype", problem.dtype]
    board, _ = machine_of(result.device_name)  # to be run on the machine that reaches it
    words += ["--device", device or board, "--config", str(config)]
    return f"{python_command('engine.measure')} {shlex.join(words)}"


def winner_to_use(result: TuningResult, config: Config) -> str:
    """A configuration as a program uses it: an entry of `@triton.autotune`, or a callable's."""
    is_callable = result.problem.spec.callable_file is not None
    return repr(dict(config)) if is_callable else triton_config(config)


def triton_config(config: Config) -> str:
    """A configuration as an entry of the list for `@triton.autotune`."""
    values = ", ".join(
        f'"{name}": {value!r}' for name, value in config.items() if name not in CONFIG_OPTIONS
    )
    options = "".join(f", {name}={config[name]!r}" for name in CONFIG_OPTIONS if name in config)
    return f"triton.Config({{{values}}}{options})"
