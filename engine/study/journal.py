"""Optuna's journal file, made safe against a process that is killed while it writes."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from optuna.storages.journal import JournalFileBackend

from foundation.errors import UserError
from foundation.programs import python_command

__all__ = ["CrashSafeJournal", "DamagedJournalError", "NotAJournalError", "parsed_line"]

# How every line of a journal begins; a file that begins otherwise is somebody else's.
_LINE_START = b'{"op_code":'

# An unfinished last line that has not grown for so long belongs to a dead writer. Only a writer
# that does not know this lock, such as optuna-dashboard, could still be in the middle of one.
_TORN_AFTER_S = 0.05


class NotAJournalError(ValueError):
    """A file that is not a journal of Optuna's; it has not been touched."""


class DamagedJournalError(UserError):
    """A journal with a line that says nothing; it has not been touched."""

    def __init__(self, path: Path, line: int) -> None:
        command = f"{python_command('engine.repair')} {path}"
        super().__init__(
            f"line {line} of {path} is damaged: `{command}` writes what is whole into a new file"
        )


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
        self._read_to = (0, 0)  # lines and bytes

    @property
    def lines_read(self) -> int:
        """How many lines were read last, the one that was being read included."""
        return self._read_to[0]

    def read_logs(self, log_number_from: int) -> Generator[dict[str, Any], None, None]:
        """The operations from a number on; an unfinished last line is left for later.

        Raises:
            DamagedJournalError: if a line is damaged.
        """
        number, offset = self._read_to if self._read_to[0] <= log_number_from else (0, 0)
        with self._path.open("rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                number, offset = number + 1, offset + len(line)
                operation = parsed_line(line)
                if operation is None:
                    raise DamagedJournalError(self._path, number)
                if number > log_number_from:
                    self._read_to = number, offset
                    yield operation

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


# What Optuna reads of each operation besides its code and its worker, by JournalOperation.
_FIELDS: Mapping[int, Mapping[str, type]] = {
    0: {"study_name": str, "directions": list},
    1: {"study_id": int},
    2: {"study_id": int, "user_attr": dict},
    3: {"study_id": int, "system_attr": dict},
    4: {"study_id": int, "datetime_start": object},
    5: {"trial_id": int, "param_name": str, "param_value_internal": object, "distribution": str},
    6: {"trial_id": int, "state": int, "values": object},
    7: {"trial_id": int, "step": int, "intermediate_value": object},
    8: {"trial_id": int, "user_attr": dict},
    9: {"trial_id": int, "system_attr": dict},
    10: {},
}


def parsed_line(line: bytes) -> dict[str, Any] | None:
    """The operation that a line of a journal says; None if the line is damaged."""
    try:
        operation = json.loads(line)
    except ValueError:
        return None
    if not isinstance(operation, dict) or not isinstance(operation.get("worker_id"), str):
        return None
    code = operation.get("op_code")
    fields = _FIELDS.get(code) if isinstance(code, int) else None
    if fields is None:
        return None
    is_whole = all(name in operation and isinstance(operation[name], of_type)
                   for name, of_type in fields.items())  # fmt: skip
    return operation if is_whole else None


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
