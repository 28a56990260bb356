"""The winner as people use it next: a command that measures it, a triton.Config that holds it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from engine.run.tuning import TuningResult
from foundation.config import Config
from foundation.shapes import shape_text

__all__ = ["measure_command", "program", "triton_config"]


def program(name: str) -> str:
    """A program of the environment that this one runs in, as short as it can be typed here."""
    path = Path(sys.executable).with_name(name)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def measure_command(result: TuningResult, config: Config) -> str:
    """The command that measures a configuration, at the first shape where there are several."""
    problem = result.problem
    words = [program(Path(sys.executable).name), "-m", "engine.measure", problem.spec.load_name]
    words += ["--shape", shape_text(problem.shape), "--dtype", problem.dtype]
    words += ["--device", result.device_name, "--config", str(config)]
    return shlex.join(words)


def triton_config(config: Config) -> str:
    """What stands for a configuration in a list for `@triton.autotune`."""
    values = ", ".join(f'"{name}": {value!r}' for name, value in config.items())
    return f"triton.Config({{{values}}})"
