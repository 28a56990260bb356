"""Optuna's journal file, made safe against a process that is killed while it writes."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.storages.journal._storage import JournalOperation

from engine.study.damage import DamagedJournalError
from engine.study.folding import folded
from engine.study.journal_start import check_is_journal
from foundation.errors import UserError

__all__ = ["CrashSafeJournal", "CrashSafeStorage", "as_one_write"]

# optuna-dashboard keeps each trial's note with the study. Nothing here reads them, and Optuna
# copies all attributes of a study for each one that is set.
_NOTE = b'"system_attr":{"dashboard:'

# Parsed together, lines share the names of attributes in memory, and take less time.
_LINES_AT_ONCE = 1000

# An unfinished last line that has not grown for so long belongs to a dead writer. Only a writer
# that does not know this lock, such as optuna-dashboard, could still be in the middle of one.
_TORN_AFTER_S = 0.05

_AGAIN = "put it back, or run the same command to begin anew"


class CrashSafeJournal(JournalFileBackend):
    """A journal file whose writers may be killed at any moment.

    Optuna's own backend is hurt twice by a killed writer: its lock, a symbolic link, stays behind
    and makes the next writer wait for 30 seconds, and a last line written in part runs together
    with the next one, after which the file cannot be read. Here the lock is the kernel's, held on
    the journal itself, so it ends with its process; and whoever takes it first cuts off a last
    line without an end. Such a line was never acknowledged, so nothing finished is lost.

    It gets along with readers and writers that use Optuna's backend on the same file, since both
    append whole lines. One storage reads it, in one thread.

    Raises:
        NotAJournalError: if the file holds something else.
        OSError: if it can be neither read nor made.

    Every other method raises a UserError if the file was removed or replaced since.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            check_is_journal(path)
        super().__init__(str(path))
        self._path = path
        self._inode = path.stat().st_ino
        self._read_bytes = 0  # of the file and of what is held back
        self._seen_bytes = 0  # of the file alone, which never gets shorter
        self._held_back: list[bytes] | None = None  # lines of `as_one_write`

    def read_logs(self, log_number_from: int) -> Generator[dict[str, Any], None, None]:
        """The operations since the last call, or all if `log_number_from` is 0.

        Raises:
            DamagedJournalError: if a line before the last one is damaged.
        """
        if log_number_from:
            yield from self._new_logs()
        else:
            self._read_bytes = 0
            yield from folded(self._new_logs())

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append the operations, one a line, and return when they are on the disk."""
        lines = [json.dumps(log, separators=(",", ":")).encode() + b"\n" for log in logs]
        if self._held_back is not None:
            self._held_back += lines
            return
        with self._locked() as file:
            _write(file, lines)

    @contextmanager
    def as_one_write(self, on_disk: bool = True) -> Iterator[None]:
        """Within the block, operations are held back; at its end, all are in the file.

        Other writers wait for the end of the block.

        Args:
            on_disk: whether the block waits until they would survive a loss of power.
        """
        with self._locked() as file:
            self._held_back = []
            try:
                yield
            finally:
                lines, self._held_back = self._held_back, None
                _write(file, lines, on_disk)
                self._seen_bytes = file.tell()

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        with self._opened() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _cut_torn_line(file)
            yield file

    @contextmanager
    def _opened(self, flags: int = os.O_RDWR | os.O_APPEND) -> Iterator[BinaryIO]:
        """The journal, to be read and appended to.

        Raises:
            UserError: if another file is in its place, in which studies have other numbers.
        """
        with self._unless_removed():
            descriptor = os.open(self._path, flags)
        with os.fdopen(descriptor, "r+b" if flags & os.O_RDWR else "rb") as file:
            self._size_of(os.fstat(descriptor))
            yield file

    @contextmanager
    def _unless_removed(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise UserError(f"{self._path} was removed while it was in use: {_AGAIN}") from None

    def _size_of(self, found: os.stat_result) -> int:
        """Size of the file in bytes, if it is the one that was opened first."""
        if found.st_ino != self._inode or found.st_size < self._seen_bytes:
            raise UserError(f"{self._path} was replaced while it was in use: {_AGAIN}")
        return found.st_size

    def _new_logs(self) -> Iterator[dict[str, Any]]:
        lines = self._new_lines()
        while some := list(islice(lines, _LINES_AT_ONCE)):
            logs = self._parsed([line for line in some if _NOTE not in line])
            for line in some:
                self._read_bytes += len(line)
                if _NOTE not in line:
                    yield next(logs)

    def _parsed(self, lines: list[bytes]) -> Iterator[dict[str, Any]]:
        try:
            return iter(json.loads(b"[" + b",".join(lines) + b"]"))
        except ValueError:
            return self._parsed_singly(lines)

    def _parsed_singly(self, lines: list[bytes]) -> Iterator[dict[str, Any]]:
        """The operations of lines of which one is damaged."""
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                with self._path.open("rb") as file:
                    number = file.read(self._read_bytes).count(b"\n")
                raise DamagedJournalError(self._path, number) from None

    def _new_lines(self) -> Iterator[bytes]:
        """The lines behind what was read, and those held back, which will follow them."""
        with self._unless_removed():
            size_bytes = self._size_of(self._path.stat())
        # Most calls find nothing new, or nothing but what is held back.
        if size_bytes > self._read_bytes:
            with self._opened(os.O_RDONLY) as file:
                end_bytes = file.seek(self._read_bytes)
                for line in file:
                    end_bytes += len(line)
                    # What is written meanwhile is for the next call.
                    if end_bytes > size_bytes or not line.endswith(b"\n"):
                        return
                    self._seen_bytes = max(self._seen_bytes, end_bytes)
                    yield line
        for line in self._held_back or ():
            size_bytes += len(line)
            if size_bytes > self._read_bytes:
                yield line


class CrashSafeStorage(JournalStorage):
    """Optuna's storage in a journal file."""

    def __init__(self, journal: CrashSafeJournal) -> None:
        super().__init__(journal)
        self.journal = journal

    def trial_ids(self, study_id: int) -> Sequence[int]:
        """Ids of the trials of a study, by number; a search asks three times for each trial."""
        with self._thread_lock:
            self._sync_with_backend()
            return self._replay_result._study_id_to_trial_ids[study_id]

    def set_trial_attributes(
        self, trial_id: int, user: Mapping[str, Any], system: Mapping[str, Any]
    ) -> None:
        """Set several; Optuna's own methods read the journal again after each."""
        with self._thread_lock:
            for name, value in user.items():
                log = {"trial_id": trial_id, "user_attr": {name: value}}
                self._write_log(JournalOperation.SET_TRIAL_USER_ATTR, log)
            for name, value in system.items():
                log = {"trial_id": trial_id, "system_attr": {name: value}}
                self._write_log(JournalOperation.SET_TRIAL_SYSTEM_ATTR, log)
            self._sync_with_backend()


def as_one_write(storage: BaseStorage, on_disk: bool = True) -> AbstractContextManager[None]:
    """A block whose operations a journal file gets at once, at its end; others get each as it is.

    To wait for the disk once, and not for every attribute, is what makes a trial cheap to store.

    Args:
        storage: of the operations.
        on_disk: whether the block's end waits until they would survive a loss of power.
    """
    if isinstance(storage, CrashSafeStorage):
        return storage.journal.as_one_write(on_disk)
    return nullcontext()


def _write(file: BinaryIO, lines: list[bytes], on_disk: bool = True) -> None:
    """Append lines, and return when they are in the file, or on the disk; the caller holds the
    lock."""
    try:
        file.write(b"".join(lines))
        file.flush()
        if on_disk:
            os.fsync(file.fileno())
    except OSError as error:  # such as a full disk, of which Linux does not name the file
        raise OSError(error.errno, error.strerror, str(file.name)) from error


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
