"""Optuna's journal file, made safe against a process that is killed while it writes."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any, BinaryIO

from optuna.storages.journal import JournalFileBackend

__all__ = ["CrashSafeJournal", "NotAJournalError"]

# How every line of a journal begins; a file that begins otherwise is somebody else's.
_LINE_START = b'{"op_code":'

# An unfinished last line that has not grown for so long belongs to a dead writer. Only a writer
# that does not know this lock, such as optuna-dashboard, could still be in the middle of one.
_TORN_AFTER_S = 0.05


class NotAJournalError(ValueError):
    """A file that is not a journal of Optuna's; it has not been touched."""


class CrashSafeJournal(JournalFileBackend):
    """A journal file whose writers may be killed at any moment.

    Optuna's own backend is hurt twice by a killed writer: its lock, a symbolic link, stays behind
    and makes the next writer wait for 30 seconds, and a last line written in part runs together
    with the next one, after which the file cannot be read. Here the lock is the kernel's, held on
    the journal itself, so it ends with its process; and whoever takes it first cuts off a last
    line without an end. Such a line was never acknowledged, so nothing finished is lost.

    It gets along with readers and writers that use Optuna's backend on the same file, since both
    append whole lines.

    Raises:
        NotAJournalError: if the file holds something else.
        OSError: if it can be neither read nor made.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            _check_is_journal(path)
        super().__init__(str(path))
        self._path = path

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append the operations, one a line, and return when they are on the disk."""
        lines = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        try:
            with self._path.open("a+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                _cut_torn_line(file)
                file.write(lines.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:  # such as a full disk, of which Linux does not name the file
            raise OSError(error.errno, error.strerror, str(self._path)) from error


def _check_is_journal(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(len(_LINE_START))
    if not _LINE_START.startswith(start):
        raise NotAJournalError(f"{path} is not a journal file")


def _cut_torn_line(file: BinaryIO) -> None:
    """Cut off a last line that a dead writer left unfinished; the caller holds the lock."""
    size_bytes = _unfinished_size(file)
    if size_bytes is None:
        return
    time.sleep(_TORN_AFTER_S)
    if _unfinished_size(file) != size_bytes:
        return
    file.seek(0)
    whole_lines_bytes = file.read().rfind(b"\n") + 1
    file.truncate(whole_lines_bytes)
    file.seek(0, os.SEEK_END)


def _unfinished_size(file: BinaryIO) -> int | None:
    """The file's size in bytes where its last line has no end, or None if it has."""
    size_bytes = file.seek(0, os.SEEK_END)
    if size_bytes == 0:
        return None
    file.seek(size_bytes - 1)
    return size_bytes if file.read(1) != b"\n" else None
