"""A tuner that is started again whenever it ends, with what it has told of, and ways to hurt it."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from ssh_server import descendants, name_of

__all__ = ["Tuner"]

_KERNEL = ("matmul", "--trials", "100000", "--no-report", "--jobs", "2")
_SHAPE = "M=64,N=64,K={}"  # of which there are some hundred configurations
_STOPPED_S = (1.0, 20.0)
_OUTCOME = re.compile(
    r"trial=\d+/\d+\tstatus=(\w+)\t.*config=([^\t\n]*)(?:\treason=(.*))?$", re.MULTILINE
)


class Tuner:
    """A tuner that is started again whenever it ends.

    Args:
        folder: where it runs.
        options: more of its arguments, as they are when it starts.
        environment: of its process.

    Attributes:
        told: the configurations of whose outcome it has told, each with its shape.
        blamed: of those that are not correct, the status, the configuration and the reason.
        is_at_work: since it was last started, it has told of one.
        endings: how often it ended with each status.
        errors: what it wrote where it ended with a traceback.
    """

    def __init__(
        self,
        folder: Path,
        options: Callable[[], Sequence[str]] = tuple,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._options = options
        self._environment = environment
        self.told: list[tuple[str, str]] = []
        self.blamed: list[str] = []
        self._exhausted = 0
        self.is_at_work = False
        self.endings: Counter[int] = Counter()
        self.errors: list[str] = []
        self.start()

    def start(self) -> None:
        """Start it, and follow what it prints."""
        self.is_at_work = False
        shape = _SHAPE.format(64 + 16 * self._exhausted)
        command = [sys.executable, "-m", "engine.tune", *_KERNEL, "--shape", shape]
        self.process = subprocess.Popen(
            [*command, *self._options()],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._written: list[str] = []
        self._readers = [
            threading.Thread(target=self._read_trials, args=(self.process, shape), daemon=True),
            threading.Thread(target=self._read_errors, args=(self.process,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_trials(self, process: subprocess.Popen[str], shape: str) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            found = _OUTCOME.match(line)
            if found and found[1] != "board":
                self.told.append((shape, found[2]))
                if found[1] != "correct":
                    self.blamed.append(f"{found[1]} {found[2]}: {found[3]}")
                self.is_at_work = True
            if line.startswith("ended=exhausted"):
                self._exhausted += 1

    def _read_errors(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        self._written.append(process.stderr.read())

    def kill(self) -> None:
        """End it at once, if it runs."""
        self.process.kill()

    def finish(self) -> None:
        """Wait for its end, and keep how it ended."""
        self.process.wait()
        for reader in self._readers:
            reader.join()
        self.endings[self.process.returncode] += 1
        if "Traceback" in self._written[0]:
            self.errors.append(self._written[0])

    def hurt(self, rng: random.Random) -> str:
        """Do something to it; what was done."""
        fault = rng.choice(["kill", "interrupt", "stop a process", "kill a process"])
        if fault == "kill":
            self.process.kill()
        elif fault == "interrupt":
            self.process.send_signal(signal.SIGINT)
        else:
            children = descendants(self.process.pid)
            if not children:
                return "nothing"
            child = rng.choice(children)
            fault = f"{fault}: {name_of(child)}"
            with contextlib.suppress(ProcessLookupError):
                if fault.startswith("kill"):
                    os.kill(child, signal.SIGKILL)
                else:
                    os.kill(child, signal.SIGSTOP)
                    time.sleep(rng.uniform(*_STOPPED_S))
                    os.kill(child, signal.SIGCONT)
        return fault
