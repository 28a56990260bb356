"""Runs a command with limits on its time and its output, and leaves no process behind."""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from rvv_runner.cpu_time import children_cpu_s, process_cpu_s
from rvv_runner.verdict import Ending, longest_s, was_starved

__all__ = ["run_bounded"]

_READ_BYTES = 65536
_CPU_GRACE_S = 5


def run_bounded(
    command: Sequence[str],
    *,
    folder: Path,
    timeout_s: float,
    output_limit_bytes: int,
    cores: Collection[int] = (),
    cpu_limit_s: int | None = None,
) -> Ending:
    """Run `command` in `folder` with an empty environment and no input, on `cores` if given.

    It runs in its own process group, which is killed as a whole when the command ends, when its
    time is up, or when one of its outputs grows beyond `output_limit_bytes`. Its time is up when it
    has used `timeout_s` of processor time, or after so long by the clock if it got too little of
    that to be blamed; on a busy machine, this is after `longest_s` at most. If this process is
    killed first, a limit on CPU time ends the command: `cpu_limit_s`, at which SIGXCPU ends it, or
    else what threads on all cores can use in `timeout_s`.

    Raises:
        OSError: if the command cannot be started.
    """
    before_s = children_cpu_s()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _set_limits(process.pid, cpu_limit_s or _most_cpu_s(timeout_s))
        if cores:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(process.pid, cores)
        outputs, timed_out, flooded = _collect(process, timeout_s, output_limit_bytes)
    finally:
        _kill_group(process)
    stdout, stderr = (output.decode(errors="replace") for output in outputs)
    used_s = children_cpu_s() - before_s
    return Ending(process.returncode, stdout, stderr, timed_out, used_s, flooded)


def _most_cpu_s(timeout_s: float) -> int:
    return int(timeout_s * (os.cpu_count() or 1)) + _CPU_GRACE_S


def _set_limits(pid: int, seconds: int) -> None:
    """Allow so much CPU time, and no core dump."""
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))


def _collect(
    process: subprocess.Popen[bytes], timeout_s: float, limit_bytes: int
) -> tuple[list[bytes], bool, bool]:
    """Read both outputs until they and the command end; also whether it timed out or flooded.

    The command is not reaped here, so that its group keeps its number until it is killed.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    outputs = [bytearray(), bytearray()]
    left_s = functools.partial(_left_s, process.pid, timeout_s, time.monotonic())
    ended = os.pidfd_open(process.pid)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(ended, selectors.EVENT_READ)
            for stream, output in zip((process.stdout, process.stderr), outputs, strict=True):
                selector.register(stream, selectors.EVENT_READ, output)
            timed_out, flooded = _read(selector, left_s, limit_bytes)
    finally:
        os.close(ended)
    return [bytes(output[:limit_bytes]) for output in outputs], timed_out, flooded


def _left_s(pid: int, timeout_s: float, start_s: float) -> float:
    """For how many seconds by the clock a process may run at least; 0 if its time is up."""
    by_clock_s = time.monotonic() - start_s
    if by_clock_s < timeout_s:
        return timeout_s - by_clock_s
    used_s = process_cpu_s(pid)
    if was_starved(used_s, timeout_s) or used_s >= timeout_s:
        return 0.0
    return max(min(timeout_s - used_s, longest_s(timeout_s) - by_clock_s), 0.0)


def _read(
    selector: selectors.BaseSelector, left_s: Callable[[], float], limit_bytes: int
) -> tuple[bool, bool]:
    """Read the outputs registered with a buffer until the command has ended and they are empty.

    A child of the command that holds an output open does not prolong this: only what is written
    before the command ends is read.
    """
    command_ended = False
    while True:
        ready = selector.select(0.0 if command_ended else left_s())
        if not ready:
            if command_ended or left_s() == 0:
                return not command_ended, False
            continue
        for key, _ in ready:
            if key.data is None:
                command_ended = True
                selector.unregister(key.fileobj)
                continue
            data = os.read(key.fd, _READ_BYTES)
            if not data:
                selector.unregister(key.fileobj)
            key.data.extend(data)
            if len(key.data) > limit_bytes:
                return False, True
        if not selector.get_map():
            return False, False


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the group, then reap its leader."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
