"""Two tuners on one study while everything goes wrong: python tests/soak/soak.py --minutes 120.

At random, tuners are killed or interrupted and their processes stopped for a while; each tuner is
started again until the time is up. Then it prints a tally, and exits with 1 unless it is clean:
what a tuner has told of is stored, nothing was tried twice, no configuration is blamed for what was
done to it, and nothing is left running.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from engine.study.storage import read_studies

__all__ = ["main"]

KERNEL = ["matmul", "--shape", "M=64,N=64,K=64"]
LEFT_LIMIT_S = 10.0
PAUSES_S = (2.0, 15.0)  # between faults
STOPPED_S = (1.0, 20.0)
HURT_WHILE_STARTING = 0.05


class Tuner:
    """A tuner that is started again whenever it ends, and what it has told of."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.told: list[str] = []
        self.is_at_work = False  # since it was last started, it has told of a trial
        self.endings: Counter[int] = Counter()
        self.errors: list[str] = []
        self.start()

    def start(self) -> None:
        """Start it, and follow what it prints."""
        self.is_at_work = False
        command = [
            sys.executable,
            "-m",
            "engine.tune",
            *KERNEL,
            "--trials",
            "100000",
            "--no-report",
        ]
        self.process = subprocess.Popen(
            [*command, "--jobs", "2"],
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            found = re.match(r"trial=\d+/\d+\tstatus=(\w+)\t.*config=(.*)$", line)
            if found and found[1] != "board":
                self.told.append(found[2])
                self.is_at_work = True

    def finish(self) -> None:
        """Wait for its end, and keep how it ended."""
        assert self.process.stderr is not None
        err = self.process.stderr.read()
        self.process.wait()
        self._reader.join()
        self.endings[self.process.returncode] += 1
        if "Traceback" in err:
            self.errors.append(err)

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
            with contextlib.suppress(ProcessLookupError):
                if fault == "kill a process":
                    os.kill(child, signal.SIGKILL)
                else:
                    os.kill(child, signal.SIGSTOP)
                    time.sleep(rng.uniform(*STOPPED_S))
                    os.kill(child, signal.SIGCONT)
        return fault


def descendants(pid: int) -> list[int]:
    """Processes that a process has started, and theirs."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(stat.parent.name))
    found, wanted = [], [pid]
    while wanted:
        children = parents.get(wanted.pop(), [])
        found += children
        wanted += children
    return found


def left_running(folder: Path) -> list[int]:
    """Processes whose current folder is below this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
    return found


def soak(folder: Path, minutes: float, rng: random.Random) -> tuple[list[Tuner], Counter[str]]:
    """Hurt two tuners for so many minutes, then let them end."""
    end_s = time.monotonic() + 60 * minutes
    tuners = [Tuner(folder), Tuner(folder)]
    faults: Counter[str] = Counter()
    while time.monotonic() < end_s:
        time.sleep(rng.uniform(*PAUSES_S))
        tuner = rng.choice(tuners)
        # On a busy machine a tuner takes longer to start than faults are apart.
        if tuner.is_at_work or rng.random() < HURT_WHILE_STARTING:
            faults[tuner.hurt(rng)] += 1
        for one in tuners:
            if one.process.poll() is not None:
                one.finish()
                one.start()
    for tuner in tuners:
        tuner.process.send_signal(signal.SIGINT)
    for tuner in tuners:
        tuner.finish()
    return tuners, faults


def main() -> int:
    """Print the tally; 0 if it is clean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as temporary:
        folder = Path(temporary)
        tuners, faults = soak(folder, arguments.minutes, random.Random(arguments.seed))
        deadline_s = time.monotonic() + LEFT_LIMIT_S
        while (left := left_running(folder)) and time.monotonic() < deadline_s:
            time.sleep(0.2)
        (study,) = read_studies(str(folder / "studies" / "tuner.journal"))
        stored = Counter(str(t.config) for t in study.changes() if t.has_outcome)
        statuses = Counter(str(t.status) for t in study.trials_of(study.study_name))
        unfinished = list(folder.rglob(".new-*"))
    told = [config for tuner in tuners for config in tuner.told]
    errors = [error for tuner in tuners for error in tuner.errors]
    blamed = {
        s: n for s, n in statuses.items() if s not in ("correct", "constraint", "board", "None")
    }
    tally = {
        "told": len(told),
        "lost": len(set(told) - set(stored)),
        "twice": sum(count > 1 for count in stored.values()),
        "blamed": sum(blamed.values()),
        "tracebacks": len(errors),
        "processes left": len(left),
        "folders left": len(unfinished),
    }
    print(f"faults: {dict(faults)}; endings: {[dict(t.endings) for t in tuners]}")
    print(f"statuses: {dict(statuses)}")
    print(", ".join(f"{name}: {count}" for name, count in tally.items()))
    print(*errors, sep="\n")
    return 1 if not told or any(count for name, count in tally.items() if name != "told") else 0


if __name__ == "__main__":
    sys.exit(main())
