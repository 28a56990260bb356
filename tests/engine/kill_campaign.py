"""Kills live tuners at random moments, and counts what was lost: tests/engine/kill_campaign.py."""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from database_servers import postgresql
from search_helpers import IDENTITY

from engine.search import Search
from engine.study.storage import open_study, read_studies
from foundation.config import Config
from search_spaces.space import Parameter, SearchSpace

STORAGES = ("journal", "sqlite", "postgresql")
LEFT_AFTER_S = 10.0
STAGE_LIMIT_S = 120.0
CORRECT = re.compile(
    r"^trial=.*\tstatus=correct\ttime_s=([\d.]+)\t(?:.*\t)?config=([^\t\n]+)", re.M
)


@dataclass
class Tally:
    """What the kills did; `notes` says more of each thing that is not as it should be."""

    kills: int = 0
    killed_while: collections.Counter[str] = field(default_factory=collections.Counter)
    measured: int = 0
    lost: int = 0
    twice: int = 0
    wrong: int = 0
    processes: int = 0
    files: int = 0
    tracebacks: int = 0
    notes: list[str] = field(default_factory=list)

    def row(self, name: str) -> str:
        values: list[object] = [self.kills, self.measured, self.lost, self.twice, self.wrong]
        left = [self.processes, self.files, self.tracebacks]
        # A process that only asks and tells has no process and no file but its own.
        values += left if self.killed_while else ["none to count"] * 2 + [self.tracebacks]
        return f"| {name} | " + " | ".join(map(str, values)) + " |"


HEADER = (
    "| storage | kills | measured | lost | taken twice | wrong accepted | processes after 10 s | "
    "files after 10 s | tracebacks |\n|---" + "|---" * 8 + "|"
)


@dataclass
class Tuner:
    """A tuner with its output, and all processes that were seen below it."""

    process: subprocess.Popen[bytes]
    output: Path

    @classmethod
    def start(cls, folder: Path, temporary: Path, storage: str, number: int) -> Tuner:
        output = folder / f"output-{number}"
        command = [
            *(sys.executable, "-m", "engine.tune", "matmul", "--shape", "M=64,N=64,K=64"),
            *("--storage", storage, "--sampler", "random", "--jobs", "1"),
            *("--study", "campaign", "--trials", "10000"),
        ]
        paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        with output.open("wb") as file:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": paths},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return cls(process, output)

    def told(self) -> dict[str, float]:
        """The measurements that it has printed."""
        text = self.output.read_text(errors="replace")
        return {config: float(time_s) for time_s, config in CORRECT.findall(text)}

    def stage(self) -> str:
        text = self.output.read_text(errors="replace")
        if "trial=" in text:
            return "measuring"
        stages = re.findall(r"stage=([^\n]+)", text)
        return stages[-1] if stages else "starting"


def processes_below(pid: int) -> set[int]:
    parents: dict[int, list[int]] = collections.defaultdict(list)
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(fields[1])].append(int(entry.name))
    found: set[int] = set()
    front = [pid]
    while front:
        children = parents[front.pop()]
        found.update(children)
        front += children
    return found


def alive(pids: set[int]) -> set[int]:
    left = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            if (Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split())[0] != "Z":
                left.add(pid)
    return left


def files_left(folder: Path, temporary: Path) -> list[Path]:
    """Folders of sessions and of work in progress."""
    return [*temporary.iterdir(), *(folder / "studies").rglob(".new-*")]


@contextlib.contextmanager
def storage_of(kind: str, folder: Path) -> Iterator[str]:
    if kind == "postgresql":
        with postgresql() as server:
            yield server.url
    else:
        yield {"journal": str(folder / "t.journal"), "sqlite": f"sqlite:///{folder}/t.db"}[kind]


def campaign(kind: str, kills: int, seconds: float, rng: random.Random) -> Tally:
    """Kill so many tuners of one study, each at a random moment; fewer if time is up."""
    tally = Tally()
    end = time.monotonic() + seconds
    told: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory(prefix="c-", dir="/tmp") as home,
        tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as short,
        storage_of(kind, Path(home)) as storage,
    ):
        folder, temporary = Path(home), Path(short)
        for seed in range(kills):
            if time.monotonic() > end:
                break
            tuner = Tuner.start(folder, temporary, storage, seed)
            kill_after(tuner, rng, tally, folder, temporary)
            if "Traceback" in tuner.output.read_text(errors="replace"):
                tally.tracebacks += 1
                tally.notes.append(f"{kind} {seed}: {tuner.output.read_text()[-2000:]}")
            told |= tuner.told()
            print(f"{kind}: {tally.kills} killed, {len(told)} measured", flush=True)
        # A last one gives back what is open, and is stopped in the usual way.
        last = Tuner.start(folder, temporary, storage, kills)
        deadline = time.monotonic() + 120
        while last.stage() != "measuring" and time.monotonic() < deadline:
            time.sleep(0.5)
        last.process.send_signal(signal.SIGINT)
        last.process.wait(timeout=120)
        told |= last.told()
        check(tally, storage, told)
    return tally


# What processes without boards tune: large, since each tells many before it is killed.
SPACE = SearchSpace(
    parameters=tuple(Parameter(name, tuple(range(1, 25))) for name in ("A", "B", "C")),
    rules=(),
    default=Config({"A": 1, "B": 1, "C": 1}),
)


def made_up_time_s(config: Config) -> float:
    return 1e-6 * (1 + zlib.crc32(str(config).encode()))


def ask_and_tell(storage: str, seed: int, output: Path) -> None:
    """A tuner without Ray and boards, three configurations in flight; it never returns."""
    search = Search(SPACE, "random", seed, open_study(storage, IDENTITY, SPACE, "campaign"))
    with output.open("a", buffering=1) as file:
        pending: list[Config] = []
        while True:
            while len(pending) < 3:
                pending.append(search.ask())
            config = pending.pop(0)
            time_s = made_up_time_s(config)
            search.tell(config, time_s, attributes={"counters": {"cycles": 1.0}})
            file.write(f"trial=\tstatus=correct\ttime_s={time_s:.9f}\tconfig={config}\n")


def storage_campaign(kind: str, kills: int, rng: random.Random) -> Tally:
    """Kill so many processes that only ask and tell; two are alive at any time."""
    tally = Tally()
    with (
        tempfile.TemporaryDirectory(prefix="c-", dir="/tmp") as home,
        storage_of(kind, Path(home)) as storage,
    ):
        live: list[tuple[int, Path]] = []
        for seed in range(kills + 1):
            output = Path(home, f"output-{seed}")
            child = os.fork()
            if child == 0:
                try:
                    ask_and_tell(storage, seed, output)
                finally:  # what the parent has opened stays as it is
                    traceback.print_exc()
                    os._exit(1)
            live.append((child, output))
            if seed:
                was_killed = kill(*live.pop(rng.randrange(2)), rng)
                tally.kills += was_killed
                tally.tracebacks += not was_killed
        for child, output in live:
            tally.tracebacks += not kill(child, output, rng)
        search = Search(SPACE, "random", 0, open_study(storage, IDENTITY, SPACE, "campaign"))
        search.ask()  # what the dead had open is given back
        text = "".join(output.read_text() for output in Path(home).glob("output-*"))
        told = {config: float(time_s) for time_s, config in CORRECT.findall(text)}
        check(tally, storage, told)
    return tally


def kill(child: int, output: Path, rng: random.Random) -> bool:
    """Kill a child, mostly after it has told something; whether it was alive until then.

    On a busy machine, opening a study in a database takes seconds, and nothing is told meanwhile.
    """
    deadline = time.monotonic() + (0 if rng.random() < 0.2 else STAGE_LIMIT_S)
    while not (output.exists() and output.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 0.5))
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def kill_after(
    tuner: Tuner, rng: random.Random, tally: Tally, folder: Path, temporary: Path
) -> None:
    """Kill a tuner a while after it has reached a stage, both at random."""
    stage = rng.choice(("starting", "starting Ray", "opening", "measuring", "measuring"))
    seen: set[int] = set()
    deadline = time.monotonic() + STAGE_LIMIT_S
    while tuner.process.poll() is None and time.monotonic() < deadline:
        if tuner.stage().startswith(stage):
            deadline = min(deadline, time.monotonic() + rng.uniform(0, 4))
            stage = ""  # any
        seen |= processes_below(tuner.process.pid)
        time.sleep(0.05)
    seen |= processes_below(tuner.process.pid)
    tally.killed_while[tuner.stage()] += 1
    tuner.process.kill()
    tuner.process.wait()
    killed_s = time.monotonic()
    tally.kills += 1
    while time.monotonic() - killed_s < LEFT_AFTER_S:
        if not alive(seen) and not files_left(folder, temporary):
            return
        time.sleep(0.2)
    notes = [f"left: {file}" for file in files_left(folder, temporary)]
    new = [note for note in notes if note not in tally.notes]
    tally.processes += len(alive(seen))
    tally.files += len(new)
    for pid in alive(seen):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")[:200]
            tally.notes.append(f"left: {pid} {command!r}")
    tally.notes += new


def check(tally: Tally, storage: str, told: dict[str, float]) -> None:
    """Compare what the tuners said with what is stored."""
    (study,) = (s for s in read_studies(storage) if s.study_name == "campaign")
    stored = [trial for trial in study.changes() if trial.has_outcome]
    times = collections.defaultdict(list)
    for trial in stored:
        times[str(trial.config)].append(trial.time_s)
    tally.measured = len(told)
    tally.lost = sum(config not in times for config in told)
    tally.twice = sum(len(found) - 1 for found in times.values())
    # The emulated board is deterministic: a time that differs is not this configuration's.
    tally.wrong = sum(trial.status != "correct" for trial in stored) + sum(
        abs(times[config][0] - time_s) > 1e-9 for config, time_s in told.items() if times[config]
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--storage", action="append", choices=STORAGES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--storage-only", action="store_true", help="processes that ask and tell, without boards"
    )
    parser.add_argument("--seconds", type=float, default=7200.0, help="stop after so many")
    arguments = parser.parse_args(argv)
    kinds = arguments.storage or list(STORAGES)
    rng = random.Random(arguments.seed)
    rows, is_well = [], True
    for number, kind in enumerate(kinds):
        share = arguments.kills * (number + 1) // len(kinds) - arguments.kills * number // len(
            kinds
        )
        if arguments.storage_only:
            tally = storage_campaign(kind, share, rng)
            rows.append(tally.row(f"{kind}, ask and tell only"))
        else:
            tally = campaign(kind, share, arguments.seconds / len(kinds), rng)
            rows.append(tally.row(kind))
        print(rows[-1], *tally.notes, sep="\n", flush=True)
        if tally.killed_while:
            print(f"killed while: {dict(tally.killed_while)}")
        bad = (tally.lost, tally.twice, tally.wrong, tally.processes, tally.files, tally.tracebacks)
        is_well = is_well and not any(bad)
    print(HEADER, *rows, sep="\n")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
