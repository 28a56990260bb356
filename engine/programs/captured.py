"""Makes the file of a capture, by running a program or within this one."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from engine.programs.program_share import share_text
from engine.programs.watched import host_target, on_ended, program_words, run_watched
from engine.results.units import counted, time_text
from foundation.errors import UserError
from foundation.printing import say, wrapped
from kernels.captured.task_file import (
    Capture,
    append_record,
    append_winner,
    is_capture_file,
    read_capture,
)
from triton_rvv.launches.capture_file import begin_capture_file

__all__ = ["CallableCapture", "capture", "capture_program", "summary"]

_FOR_GPUS_ALONE = (
    "packages that ask for a GPU call torch or end: "
    "torch.Tensor.is_cuda = property(lambda tensor: True) before their calls, where they ask "
    "tensor.is_cuda, and torch.cuda.is_available = lambda: True before they are imported, where "
    "they ask that, let them launch their kernels here"
)


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
    shown = Path(path or _default_path(command))
    path = shown.absolute()  # the program may go to another folder
    with _begun(path):
        settings = {"record": str(path), "keep_data": keep_data}
        with _timed(path):
            status = run_watched(command, settings, lambda ran_s: _tell(path, ran_s))
        say(summary(read_capture(path), status, shown), file=sys.stderr)
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
    with _begun(path), _timed(path):
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


@contextlib.contextmanager
def _begun(path: Path) -> Iterator[None]:
    """Within the block, the file is a capture that begins empty, but for what tuning added to it.

    If nothing was recorded, what was there before is there afterwards. What a killed command left
    in its place, the next command puts back.
    """
    before = path.with_name(f"{path.name}.before")
    if is_capture_file(before):
        _settle(path, before, is_new=False)
    if path.exists() and not is_capture_file(path):
        raise UserError(f"{path} is there, and is no capture: give another file with -o")
    earlier = read_capture(path) if path.exists() else None
    is_new = not path.exists()
    try:
        if not is_new:
            path.replace(before)
        try:
            begin_capture_file(path)
            if earlier is not None:
                _keep_tuned(path, earlier)
        except OSError:
            _put_back(path, before, is_new=is_new)
            raise
    except OSError as error:
        raise UserError(
            f"{path} cannot be written ({error.strerror}): give another with -o"
        ) from error
    try:
        yield
    finally:
        _settle(path, before, is_new=is_new)


@contextlib.contextmanager
def _timed(path: Path) -> Iterator[None]:
    """Write down what the block takes: the run of the program."""
    begun_s = time.monotonic()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # a full disk, which the program's records met, too
            append_record(path, {"record": "ran", "time_s": time.monotonic() - begun_s})


def _keep_tuned(path: Path, earlier: Capture) -> None:
    """Add what tuning wrote into the earlier file."""
    for winner in earlier.every_winner:
        append_winner(path, winner)
    if earlier.storage is not None:
        append_record(path, {"record": "tuned", "storage": earlier.storage})


def _settle(path: Path, before: Path, *, is_new: bool) -> None:
    """Keep what was recorded, or else what was there before."""
    if is_capture_file(path) and read_capture(path).tasks:
        before.unlink(missing_ok=True)
    else:
        _put_back(path, before, is_new=is_new)


def _put_back(path: Path, before: Path, *, is_new: bool) -> None:
    """Leave the file as it was: with its earlier contents, or not at all."""
    with contextlib.suppress(OSError):
        if is_new:
            path.unlink(missing_ok=True)
        else:
            before.replace(path)


def _tell(path: Path, ran_s: float) -> None:
    """Say how far the program has come: an autotuner may measure for minutes."""
    captured = read_capture(path)
    running = f", {' and '.join(captured.running)} runs" if captured.running else ""
    tasks = counted(len(captured.tasks), "task")
    say(f"capturing for {ran_s:.0f} s: {tasks}{running}", file=sys.stderr)


def _why_none() -> str:
    if os.environ.get("TRITON_INTERPRET", "0").lower() in ("", "0", "false", "off"):
        return ""
    return ": TRITON_INTERPRET lets Triton's interpreter run kernels, so unset it"


def _on_updating(kernel: str, tensors: Sequence[str]) -> str:
    names = " and ".join(tensors)
    return (
        f"{kernel} changes {names} in place while its autotuner measures, which changes the "
        "program's results when this tool is not there to give back what was: add "
        f"restore_value={list(tensors)} to triton.autotune"
    )


def summary(captured: Capture, status: int, shown: Path) -> str:
    """What is said after a capture.

    Args:
        captured: what the file holds.
        status: the program's exit status.
        shown: the file, as the user named it.
    """
    lines = [f"{name} was not recorded: {why}" for name, why in captured.unrecorded.items()]
    lines += [_on_updating(*one) for one in captured.updating.items()]
    lines += [on_ended(status, kernel) for kernel in captured.running]
    if not captured.tasks:
        why = "no launch was recorded" if lines else f"no Triton kernel was launched{_why_none()}"
        told = [f"{why}; nothing was written to {shown}"]
        # What did not compile may be the one kernel that the package launches without a GPU.
        if not captured.running and not _why_none() and host_target() is not None:
            told += [wrapped(_FOR_GPUS_ALONE)]
        return "\n".join([*lines, *told])
    kernels = len({task.kernel.digest for task in captured.tasks})
    launches = sum(task.launches for task in captured.tasks)
    counts = f"{counted(kernels, 'kernel')}, {counted(len(captured.tasks), 'task')}"
    kernels_time = f", {time_text(captured.time_s)}" if captured.time_s else ""
    counts += f", {launches} launch{'' if launches == 1 else 'es'}"
    lines += [f"captured {counts}{kernels_time}: {shown}"]
    return "\n".join([*lines, *filter(None, [wrapped(share_text(captured))])])
