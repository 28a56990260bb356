"""Appends records to a capture's file, from any process and thread of a program."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["CaptureFile", "begin_capture_file"]

_VERSION = 1


def begin_capture_file(path: Path) -> None:
    """Make an empty capture.

    Raises:
        OSError: if it cannot be written.
    """
    path.write_text(json.dumps({"record": "capture", "version": _VERSION}) + "\n")


class CaptureFile:
    """The file, as one process writes it.

    It is opened for each record, so that a program which closes files, forks or changes its folder
    does no harm. A record is one line and is written at once, while no other process writes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._is_writing = False
        self._is_lost = False
        self._process = ""
        self._sources: set[str] = set()

    def after_fork(self) -> None:
        """Tell the records of this new process from its parent's."""
        self._lock, self._is_writing = threading.RLock(), False
        self._process = ""

    @property
    def process(self) -> str:
        """The name of this process in the file; it writes itself down when first asked for."""
        if not self._process:
            self._process = f"{os.getpid()}-{time.time_ns():x}"
            argv = [*sys.orig_argv] or [sys.executable]
            self.write("process", process=self._process, argv=argv, parent=os.getppid())
        return self._process

    def source(self, digest: str, text: str) -> None:
        """Keep the text of a file, once."""
        if digest not in self._sources:
            self._sources.add(digest)
            self.write("source", digest=digest, text=text)

    def write(self, kind: str, **values: Any) -> None:
        """Append one record."""
        self.write_all([{"record": kind, **values}])

    def write_all(self, records: list[Mapping[str, Any]]) -> None:
        """Append records. If the file cannot be written, that is said once, on stderr."""
        with self._lock:
            # A handler of a signal that ends the process may come here in the middle of a record.
            if self._is_writing or self._is_lost:
                return
            self._is_writing = True
            try:
                # Begins with a line's end, for the last line of a killed process is cut off.
                text = "".join(f"\n{json.dumps(record)}" for record in records) + "\n"
                self._append(text.encode())
            except OSError as error:
                self._is_lost = True
                print(f"launches are no longer recorded: {error}", file=sys.stderr)
            finally:
                self._is_writing = False

    def _append(self, data: bytes) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
        finally:
            os.close(descriptor)
