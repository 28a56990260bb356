"""A builder and a board whose behaviour is written into the configuration."""

from __future__ import annotations

import os
import subprocess
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np

from engine.workers.artifacts import BuildFailure
from foundation.config import Config
from foundation.errors import FileMistake
from rvv_runner.board import BoardError, BoardInfo
from rvv_runner.measurement import Artifact, ElfArtifact, Measurement, Status
from rvv_runner.silence import tell_of_silence

INFO = BoardInfo(
    name="fake",
    kind="fake",
    cpu="generic-rv64",
    vlen_bits=256,
    cores=1,
    frequency_hz=1e9,
    deterministic=True,
    estimated=True,
)


@dataclass(frozen=True)
class FakeBuilder:
    """Builds nothing; a value of the parameter `build` makes it fail, hang or die."""

    log: Path | None = None
    elf: Path = Path("kernel.elf")
    delay_s: float = 0.0

    def build(self, config: Config) -> ElfArtifact | BuildFailure:
        note(self.log, f"build {config}")
        time.sleep(self.delay_s)
        match config.get("build"):
            case "fail":
                return BuildFailure("it does not compile")
            case "hang":
                while True:
                    pass
            case "after-8":  # measurements by others
                while self.log.read_text().count("measured ") < 8:
                    time.sleep(0.01)
            case "starve":  # it gets no processor
                time.sleep(600)
            case "starve-once" if self._is_first(config):
                time.sleep(600)
            case "die":
                os._exit(11)
            case "die-once" if self._is_first(config):
                os._exit(11)
        return ElfArtifact(self.elf, "0" * 64, Path("data"), (1, 1, 1), 256, dict(config))

    def _is_first(self, config: Config) -> bool:
        return self.log is not None and self.log.read_text().count(f"build {config}") == 1


@dataclass
class FakeBoard:
    """Takes `time_ms` milliseconds by its model; other outcomes by the parameter `run`."""

    log: Path | None = None
    delay_s: float = 0.0
    info: BoardInfo = field(default=INFO)
    opens: bool = True
    deaths: int = 0  # of the first processes that open it
    faults: tuple[int, ...] = ()  # configurations that it cannot measure, by when they come
    quick_after: int | None = None  # so many configurations, it takes no time
    noise: float = 0.0  # standard deviation of the logarithm of a run
    notes: tuple[str, ...] = ()
    bug: Exception | None = None  # what opening raises
    opening_s: float = 0.0
    closing_s: float = 0.0
    gone: Path | None = None  # while this file exists, the board is out of order
    conditions: dict[str, float | str] = field(default_factory=dict)  # of every measurement
    full: Path | None = None  # while this file exists, its disk is full
    silent_s: float = 0.0  # before it opens, and before each measurement

    def open(self) -> None:
        note(self.log, f"open {os.getpid()}")
        time.sleep(self.opening_s)
        self._fall_silent()
        if self.bug is not None:
            raise self.bug
        if self.log is not None and self.log.read_text().count("open ") <= self.deaths:
            os._exit(11)
        if not self.opens or self._is_gone():
            raise BoardError("the fake board is out of order: mend it")

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        config = artifact.provenance
        label = ",".join(f"{name}={value}" for name, value in config.items())
        note(self.log, f"limit {timeout_s!r}")
        note(self.log, f"measure {label}")
        place = self._place(label)
        self._fall_silent()
        time.sleep(
            0 if self.quick_after is not None and place >= self.quick_after else self.delay_s
        )
        note(self.log, f"measured {label}")
        run = str(config.get("run", "correct"))
        if run == "start-a-process":
            self._run_for_long()
        if run == "die":
            os._exit(11)
        if run == "bug":
            raise KeyError("head")
        if run == "mistake":
            raise FileMistake("kernel.py:3 fails in reference: no such name")
        if run == "fault-once":
            first = self.log is not None and self.log.read_text().count(f"measure {label}\n") == 1
            run = "board" if first else "correct"
        if place in self.faults:
            run = "board"
        if self._is_gone() or self._is_full():
            run = "board"
        if run != "correct":
            reason = f"the fake board says {run}"
            return Measurement(status=cast(Status, run), reason=reason, board="fake")
        time_s = float(str(config["time_ms"])) / 1e3
        rng = np.random.default_rng(self._seed(label))
        return Measurement(
            status="correct",
            times_s=tuple((time_s * np.exp(self.noise * rng.normal(size=repeats))).tolist()),
            counters={"u_mode_cycle": time_s * 1e9, "vector_inst": 1000 / time_s},
            board="fake",
            estimated=True,
            max_abs_error=0.0,
            conditions=self.conditions,
        )

    def _fall_silent(self) -> None:
        if self.silent_s:
            tell_of_silence("it does not answer")
            time.sleep(self.silent_s)
            tell_of_silence("it answers again")

    def ship(self, artifact: Artifact) -> None:
        if self._is_full():
            raise BoardError("the fake board's disk is full")

    def _is_full(self) -> bool:
        return self.full is not None and self.full.exists()

    def _is_gone(self) -> bool:
        return self.gone is not None and self.gone.exists()

    def _place(self, label: str) -> int:
        """How many other configurations came before this one."""
        if self.log is None:
            return 0
        lines = self.log.read_text().splitlines()
        seen = list(dict.fromkeys(line for line in lines if line.startswith("measure ")))
        return seen.index(f"measure {label}")

    def _seed(self, label: str) -> list[int]:
        """The noise of a job; where there is a log, the same in every run, in whatever order."""
        if self.log is None:
            return [os.getpid(), time.monotonic_ns()]
        return [zlib.crc32(label.encode()), self.log.read_text().count(f"measured {label}\n")]

    def _run_for_long(self) -> None:
        """As an emulator does: a process in a session of its own, ended in a `finally` block."""
        process = subprocess.Popen(["sleep", "600"], start_new_session=True)
        note(self.log, f"started {process.pid}")
        try:
            process.wait()
        finally:
            process.kill()
            process.wait()

    def close(self) -> None:
        note(self.log, "close")
        time.sleep(self.closing_s)


def note(log: Path | None, line: str) -> None:
    """Append a line in one write, which other processes cannot cut in two."""
    if log is not None:
        with log.open("a") as file:
            file.write(line + "\n")


def artifact(**values: object) -> ElfArtifact:
    """What a fake board measures by its values."""
    return ElfArtifact(Path("kernel.elf"), "0" * 64, Path("data"), (1, 1, 1), 256, values)


def wait_until_ended(pid: int) -> None:
    """Wait for the end of a process that this one did not start."""
    deadline_s = time.monotonic() + 200
    while Path("/proc", str(pid)).exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
