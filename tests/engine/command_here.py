"""Runs a command in this process, since a process of its own takes seconds to import torch.

What a process has of its own is tested elsewhere: its streams, signals and first line.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import signal
import subprocess
from pathlib import Path

import pytest

from foundation.command_line import run_command

__all__ = ["run_here"]


def run_here(
    folder: Path, name: str, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `engine.<name>` in a folder, with variables of the environment; it ends as a process."""
    command = importlib.import_module(f"engine.{name}").main
    out, err = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in variables.items():
            patch.setenv(variable, value)
        patch.chdir(folder)
        try:
            with (
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
                pytest.raises(SystemExit) as ended,
            ):
                run_command(lambda _: command(list(arguments)), f"engine.{name}")
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    status = ended.value.code
    assert isinstance(status, int)
    return subprocess.CompletedProcess([name, *arguments], status, out.getvalue(), err.getvalue())
