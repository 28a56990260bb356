"""Runs chosen tests of a clone, each time in a fork of one process that has torch and Ray.

The process has nothing of the project, so each run imports the source as it lies there then.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ForkedRuns", "Run", "forked_runs"]


@dataclass(frozen=True)
class Run:
    """How a run of pytest ended.

    Args:
        status: pytest's exit status; negative if a signal ended it; None after its time.
        out: what it printed.
    """

    status: int | None
    out: str


class ForkedRuns:
    """Runs one after another.

    Args:
        project: the clone, with its environment.
        server: the process, in which `_serve` runs.
    """

    def __init__(self, project: Path, server: subprocess.Popen[str]) -> None:
        self._project = project
        self._server = server

    def run(self, arguments: Sequence[str], limit_s: float) -> Run:
        """Run pytest with these arguments; whatever it started has ended afterwards.

        Args:
            arguments: of pytest.
            limit_s: seconds that it may take.
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.NamedTemporaryFile("r") as printed:
            request = {"arguments": [*arguments], "limit_s": limit_s, "out": printed.name}
            self._server.stdin.write(json.dumps(request) + "\n")
            self._server.stdin.flush()
            return Run(json.loads(self._server.stdout.readline()), printed.read())


@contextlib.contextmanager
def forked_runs(project: Path) -> Iterator[ForkedRuns]:
    """Runs in a clone, whose process ends with the block."""
    command = [str(project / ".venv" / "bin" / "python"), __file__]
    with subprocess.Popen(
        command, cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        yield ForkedRuns(project, server)


def _serve() -> None:
    """In the process: run what each line of stdin asks for, and print how it ended."""
    import numpy  # noqa: F401
    import optuna  # noqa: F401
    import pytest  # noqa: F401
    import ray  # noqa: F401
    import torch  # noqa: F401

    sys.path.pop(0)  # the folder of this file
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            _run(request["arguments"], request["out"])
        print(json.dumps(_ended(child, request["limit_s"])), flush=True)


def _run(arguments: Sequence[str], out: str) -> None:
    printed, nothing = os.open(out, os.O_WRONLY), os.open(os.devnull, os.O_RDONLY)
    for stream, file in enumerate((nothing, printed, printed)):
        os.dup2(file, stream)
    sys.path.insert(0, str(Path.cwd()))  # as `python -m pytest` has it
    import pytest

    status = int(pytest.main([*arguments]))
    sys.stdout.flush()
    os._exit(status)


def _ended(child: int, limit_s: float) -> int | None:
    """The status of a child's end, or None where its time ended first."""

    def late(_number: int, _frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except TimeoutError:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)


if __name__ == "__main__":
    _serve()
