"""The process that runs kernels without a reference, as this process talks to it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

__all__ = ["ReferenceProcess"]

_SERVER = "kernels.own.reference_server"


class ReferenceProcess:
    """Started by the first run, and again once it has ended; any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def run(
        self,
        given: Path,
        found: Path,
        errors: Path,
        environment: Mapping[str, str],
        limit_s: float,
    ) -> int:
        """Run a job in a process of its own.

        Args:
            given, found, errors: files with the job, for its result, and for what it prints to
                stderr.
            environment: of its process; sets TRITON_INTERPRET.
            limit_s: seconds that it may take.

        Returns:
            The status of the process; minus the signal that ended it.

        Raises:
            TimeoutError: if it takes longer; its process has ended.
        """
        request = {
            "given": str(given),
            "found": str(found),
            "errors": str(errors),
            "environment": dict(environment),
            "folder": str(Path.cwd()),
            "path": sys.path,
        }
        line = json.dumps(request).encode() + b"\n"
        with self._lock:
            deadline_s = time.monotonic() + limit_s
            while True:
                answer = self._answer(line, deadline_s)
                if answer:
                    return int(answer)
                # It ends when it has had nothing to do, perhaps as it was asked.
                status = self._end()
                if status != 0:
                    return status

    def _answer(self, line: bytes, deadline_s: float) -> bytes:
        """What it answers; nothing if it has ended."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError:
            return b""
        left_s = max(deadline_s - time.monotonic(), 0)
        if not select.select([process.stdout], [], [], left_s)[0]:
            process.kill()
            self._end()
            raise TimeoutError
        return process.stdout.readline()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _SERVER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is not meant for it
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        return self._process

    def _end(self) -> int:
        """Wait for the end of the process, whose pipes are closed; its status."""
        process, self._process = self._process, None
        assert process is not None
        process.communicate()
        return process.returncode
