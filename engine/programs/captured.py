"""Makes the file of a capture, by running a program or within this one."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from engine.programs.watched import program_words, run_watched
from engine.results.units import counted, time_text
from foundation.errors import UserError
from foundation.printing import say
from kernels.captured.task_file import (
    Capture,
    append_winner,
    is_capture_file,
    read_capture,
)
from triton_rvv.launches.capture_file import begin_capture_file

__all__ = ["CallableCapture", "capture", "capture_program"]


def capture_program(words: Sequence[str], path: Path | None, *, keep_data: bool) -> int:
    """Run a program and write the launches of its kernels into a file; says so on stderr.

    Args:
        words: the program's command line.
        path: the file; None for one that is named like the program.
        keep_data: whether large tensors are kept as they are.

    Returns:
        The program's exit status, which is negative if a signal ended it.

    Raises:
        UserError: if there is no such program, or the file cannot be written.
    """
    command = program_words(words)
    path = Path(path or _default_path(command)).absolute()
    _begin(path)
    status = run_watched(command, {"record": str(path), "keep_data": keep_data})
    say(_summary(read_capture(path)), file=sys.stderr)
    return status


@contextlib.contextmanager
def capture(path: str | Path, *, keep_data: bool = False) -> Iterator[None]:
    """Within the block, write the launches of this process's Triton kernels into a file.

    Args:
        path: the file. What it held before is replaced, but for winners.
        keep_data: whether large tensors are kept as they are, instead of by their distribution.

    Raises:
        UserError: if the file cannot be written, or is no capture.
    """
    from triton_rvv.launches.interception import intercept
    from triton_rvv.launches.recorder import Recorder

    path = Path(path).absolute()
    _begin(path)
    recorder = Recorder(path, keep_data=keep_data)
    end = intercept(recorder)
    try:
        yield
    finally:
        end()
        recorder.write(is_last=True)


class CallableCapture(ModuleType):
    """Makes `engine.capture` both the module of the command and a function."""

    def __call__(
        self, path: str | Path, *, keep_data: bool = False
    ) -> contextlib.AbstractContextManager[None]:
        """See `capture`."""
        return capture(path, keep_data=keep_data)


def _default_path(command: Sequence[str]) -> str:
    scripts = [word for word in command if word.endswith(".py")]
    return f"{Path(scripts[0] if scripts else command[0]).stem}.capture"


def _begin(path: Path) -> None:
    """Make an empty capture, which keeps the winners of one that it replaces."""
    if path.exists() and not is_capture_file(path):
        raise UserError(f"{path} is there, and is no capture: give another file with -o")
    winners = read_capture(path).every_winner if path.exists() else ()
    try:
        begin_capture_file(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): give another") from error
    for winner in winners:
        append_winner(path, winner)


def _why_none() -> str:
    if os.environ.get("TRITON_INTERPRET", "0").lower() in ("", "0", "false", "off"):
        return ""
    return ": TRITON_INTERPRET lets Triton's interpreter run kernels, so unset it"


def _summary(captured: Capture) -> str:
    lines = [f"{name} was not recorded: {why}" for name, why in captured.unrecorded.items()]
    if lines and not captured.tasks:
        return "\n".join([*lines, "no launch was recorded"])
    if not captured.tasks:
        return "\n".join([*lines, f"no Triton kernel was launched{_why_none()}"])
    kernels = len({task.kernel.digest for task in captured.tasks})
    launches = sum(task.launches for task in captured.tasks)
    counts = f"{counted(kernels, 'kernel')}, {counted(len(captured.tasks), 'task')}"
    time = f", {time_text(captured.time_s)}" if captured.time_s else ""
    counts += f", {launches} launch{'' if launches == 1 else 'es'}"
    return "\n".join([*lines, f"captured {counts}{time}: {captured.path}"])
