"""The winner ready to paste: the command that measures it, and its triton.Config."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from engine.run.tuning import TuningResult
from foundation.config import Config
from foundation.shapes import shape_text

__all__ = ["measure_command", "program", "triton_config"]


def program(name: str) -> str:
    """The path of a program of this Python environment; relative if it is below this folder."""
    path = Path(sys.executable).with_name(name)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def measure_command(result: TuningResult, config: Config) -> str:
    """The command that measures a configuration; if there are several shapes, at the first."""
    problem = result.problem
    words = [program(Path(sys.executable).name), "-m", "engine.measure", problem.spec.load_name]
    words += ["--shape", shape_text(problem.shape), "--dtype", problem.dtype]
    words += ["--device", result.device_name, "--config", str(config)]
    return shlex.join(words)


def triton_config(config: Config) -> str:
    """A configuration as an entry of the list for `@triton.autotune`."""
    values = ", ".join(f'"{name}": {value!r}' for name, value in config.items())
    return f"triton.Config({{{values}}})"
