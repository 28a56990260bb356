"""Runs a program, unchanged, while its launches are watched from inside."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from foundation.errors import UserError
from triton_rvv.launches.process import watched_environment

__all__ = ["end_like", "host_target", "on_ended", "program_words", "run_watched"]

_HOST = "host"
_TELL_EVERY_S = 10.0
_PYTHONS = ("python", "python3")
_ENVIRONMENTS = ("VIRTUAL_ENV", "CONDA_PREFIX")  # variables of those that are active


def program_words(words: Sequence[str]) -> list[str]:
    """The command line of a program, which may begin with the path of a Python file.

    Where no environment is active, `python` is the one that runs this: that in PATH is the
    system's, which has none of the packages.

    Raises:
        UserError: if there is none, or no such program.
    """
    command = [*words[1:]] if words[:1] == ["--"] else [*words]
    if not command:
        raise UserError("give the program after --, as in: -- python program.py")
    if command[0].endswith(".py"):
        command.insert(0, sys.executable)
    elif command[0] in _PYTHONS and not any(map(os.environ.get, _ENVIRONMENTS)):
        command[0] = sys.executable
    if shutil.which(command[0]) is None:
        raise UserError(f"there is no program {command[0]}: give one that can be started, after --")
    return command


def host_target() -> str | None:
    """What kernels run on where this machine has no GPU: its processor; None if it has one."""
    has_gpu = any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/kfd").exists()
    return None if has_gpu else _HOST


def run_watched(
    command: Sequence[str],
    settings: Mapping[str, Any],
    tell: Callable[[float], None] = lambda _: None,
) -> int:
    """Run a program to its end, with this process's streams.

    Args:
        command: as `program_words` gives it.
        settings: what the program's processes are to do, as in `triton_rvv.launches.process`.
        tell: called every 10 s, with the seconds that the program has run.

    Returns:
        Its exit status; that of a signal is negative.
    """
    environment = watched_environment(os.environ, settings, host_target())
    begun_s = time.monotonic()
    with subprocess.Popen(command, env=environment) as program, _signals_to(program):
        while True:
            try:
                return program.wait(_TELL_EVERY_S)
            except subprocess.TimeoutExpired:
                tell(time.monotonic() - begun_s)


@contextlib.contextmanager
def _signals_to(program: subprocess.Popen[bytes]) -> Iterator[None]:
    """Within the block, signals concern the program alone.

    A terminal sends Ctrl-C to both, so only the program hears of it.
    """

    def pass_on(number: int, _: object) -> None:
        program.send_signal(number)

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.SIGTERM: signal.signal(signal.SIGTERM, pass_on),
    }
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def on_ended(status: int, kernel: str) -> str:
    """One sentence on a program that ended while a kernel ran.

    Args:
        status: of the program, as `run_watched` gives it.
        kernel: its name.
    """
    number = -status if status < 0 else status - 128  # as a shell between tells of a signal
    if number not in set(signal.Signals):
        return f"{kernel} was running when its process ended"
    name = signal.Signals(number).name
    is_access = number in (signal.SIGSEGV, signal.SIGBUS) and host_target() is not None
    finds = ": TRITON_RVV_SANITIZE=1 before the command finds the access" if is_access else ""
    return f"{kernel} was running when {name} ended its process{finds}"


def end_like(status: int) -> int:
    """The exit status of a program; if a signal ended it, the same signal ends this process."""
    if status < 0:
        sys.stdout.flush()
        sys.stderr.flush()
        with contextlib.suppress(OSError):  # SIGKILL has one action alone
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status
