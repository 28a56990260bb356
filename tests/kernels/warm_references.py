"""Ways to run a kernel without a reference, in forks of processes that have torch and Triton.

Importing them takes seconds, and most kernels of a test are run several times. A fork does what the
process of its own would: whether Triton interprets is set before it is imported.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kernels.own import reference_runs

__all__ = ["WarmProcesses", "in_warm_processes"]

_ROOT = Path(__file__).parents[2]
# For each line with the paths of a job: runs it, and prints its status and where its errors are.
_LOOP = """
import os, sys
from pathlib import Path
import torch, triton, triton.language
from kernels.own import reference_runs
if os.environ["TRITON_INTERPRET"] == "0":
    import triton_rvv
for line in sys.stdin:
    given, found, errors = line.rstrip("\\n").split("\\t")
    if os.fork() == 0:
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
        reference_runs._run_job(Path(given), Path(found))
        sys.stderr.flush()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


class WarmProcesses:
    """Stands for `subprocess` in the product: one process that waits for each way to run."""

    TimeoutExpired = subprocess.TimeoutExpired

    def __init__(self) -> None:
        self._started: dict[str, subprocess.Popen[str]] = {}

    def run(
        self, command: Sequence[str], *, env: Mapping[str, str], **_: Any
    ) -> subprocess.CompletedProcess[str]:
        """Do what the command of a job does, in a fork."""
        process = self._process(env["TRITON_INTERPRET"], env)
        given, found = command[-2:]
        errors = Path(f"{found}.errors")
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{given}\t{found}\t{errors}\n")
        process.stdin.flush()
        status = int(process.stdout.readline())
        return subprocess.CompletedProcess(list(command), status, "", errors.read_text())

    def _process(self, way: str, env: Mapping[str, str]) -> subprocess.Popen[str]:
        if way not in self._started:
            self._started[way] = subprocess.Popen(
                [sys.executable, "-c", _LOOP],
                env={**env, "PYTHONPATH": str(_ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self._started[way]

    def close(self) -> None:
        """End the processes."""
        for process in self._started.values():
            process.communicate()


@pytest.fixture(scope="module")
def in_warm_processes() -> Iterator[None]:
    """Kernels without a reference are run in forks during a module's tests."""
    processes = WarmProcesses()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference_runs, "subprocess", processes)
        yield
    processes.close()
