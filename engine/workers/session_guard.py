"""A process that ends what a killed tuner leaves: Ray's processes, builds, QEMU, and their folder.

Ray's own agents look for a dead parent for a minute, and QEMU and zig would run to their end. The
guard waits on a pipe that only the tuner holds: it ends with the tuner, whatever ends that.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from foundation.scratch import UNFINISHED, remove_left_behind

__all__ = ["guarded"]

_PATIENCE_S = 20.0  # processes that a kill does not end wait for a disk
_FOR_WRITING = os.O_WRONLY | os.O_RDWR


@contextlib.contextmanager
def guarded(session: Path, builds: Path) -> Iterator[None]:
    """At the end of the block, or of this process, everything that works in `session` ends.

    Then the folder is removed, and what dead processes left unfinished below the folder `builds`.

    Args:
        session: a folder of its own. What belongs to it has a variable in its environment that
            names it, or writes to its files, or runs in it without an environment.
        builds: where workers, and this process, make files and folders.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    guard = subprocess.Popen(
        [sys.executable, "-m", __name__, str(session), str(builds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,  # Ctrl-C is not meant for it
    )
    try:
        yield
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            guard.communicate(timeout=_PATIENCE_S)


def _main(session: Path, builds: Path) -> None:
    """In the guard: wait for the tuner's end, then clear up."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    _end_all(session)
    shutil.rmtree(session, ignore_errors=True)
    # A build's assembly is added to its folder later, so any folder may hold something unfinished.
    unfinished = [
        Path(folder)
        for folder, folders, _ in os.walk(builds)
        if any(name.startswith(UNFINISHED) for name in folders)
    ]
    for folder in unfinished:
        remove_left_behind(UNFINISHED, folder)


def _end_all(session: Path) -> None:
    """Kill what belongs to the session, until a look finds nothing."""
    deadline = time.monotonic() + _PATIENCE_S
    while (found := _members(session)) and time.monotonic() < deadline:
        # All at once: a large process takes a while to end, on a busy machine a second.
        for process in [_killed(pid) for pid in found]:
            if process is not None:
                _wait_for(process, deadline)


def _killed(pid: int) -> int | None:
    """Kill a process; its descriptor, or None if there is no such process of this user."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    with contextlib.suppress(ProcessLookupError, PermissionError):
        signal.pidfd_send_signal(process, signal.SIGKILL)
    return process


def _wait_for(process: int, deadline: float) -> None:
    """Wait until a process has let go of its files."""
    select.select([process], [], [], max(deadline - time.monotonic(), 0))
    os.close(process)


def _members(session: Path) -> Sequence[int]:
    pids = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    pids -= {os.getpid(), os.getppid()}  # a tuner that ends its session lives on
    return [pid for pid in pids if _belongs(Path(f"/proc/{pid}"), session)]


def _belongs(process: Path, session: Path) -> bool:
    """Whether a process of this user works in the session's folder; not one that only reads it."""
    try:
        if process.stat().st_uid != os.geteuid():
            return False
        environment = (process / "environ").read_bytes()
        if f"={session}/".encode() in environment:
            return True
        if not environment and (process / "cwd").readlink().is_relative_to(session):
            return True
        return any(_is_written(file, session) for file in (process / "fd").iterdir())
    except OSError:  # it has ended, or is another user's
        return False


def _is_written(file: Path, session: Path) -> bool:
    """Whether an open file lies in the session's folder, and is open for writing."""
    if not file.readlink().is_relative_to(session):
        return False
    state = (file.parents[1] / "fdinfo" / file.name).read_text()
    flags = dict(line.split(":", 1) for line in state.splitlines() if ":" in line)["flags"]
    return bool(int(flags, 8) & _FOR_WRITING)


if __name__ == "__main__":
    _main(*map(Path, sys.argv[1:]))
