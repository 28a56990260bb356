"""Long studies and busy boards: python benchmarks/search/bench_scale.py.

It prints what it takes to open a study of 5,000 and of 10,000 trials up to the first proposal,
what a trial costs at 1,000, alone and with many proposals open, and for which part of a run a board
is busy that takes 100 ms for each measurement. Trials carry the attributes and the note that a run
on the emulated board stores.
"""

from __future__ import annotations

import argparse
import copy
import functools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from unittest import mock

import numpy as np

from engine.run.budget import Budget
from engine.run.loop import TuningLoop
from engine.search import Search
from engine.study.history import history_of
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from engine.workers.board_pool import BoardPool
from engine.workers.board_seat import BoardSource
from engine.workers.builders import BuilderPool
from engine.workers.ray_session import ray_session
from foundation.command_line import run_script
from foundation.config import Config
from search_spaces.space import Parameter, SearchSpace

__all__ = ["main"]

FAKES = Path(__file__).parents[2] / "tests" / "engine"
VALUES = 7
SPACE = SearchSpace(tuple(Parameter(f"P{p}", tuple(range(VALUES))) for p in range(5)))
IDENTITY = StudyIdentity("made-up", {}, "fp32", "none", "auto", {})
TIMED = 40
JOBS = 2
MEASUREMENT_S = 0.1
BUSY_SPACE = SearchSpace(
    (
        Parameter("time_ms", tuple(range(1, 41))),
        *(Parameter(f"P{p}", (1, 2, 3, 4)) for p in "abcd"),
    ),
    default=Config({"time_ms": 30, **{f"P{p}": 1 for p in "abcd"}}),
)


def time_of(config: Config) -> float:
    """A made-up time in seconds: smooth, with an interaction of two parameters."""
    values = [int(value) for value in config.values()]
    return 1e-3 * (1 + sum((value - 2) ** 2 for value in values) + 3 * abs(values[0] - values[1]))


def outcome(number: int, time_s: float) -> dict[str, object]:
    """What a run on the emulated board stores with a trial, made up."""
    folder = f"studies/builds/made-up/{number:016x}"
    return {
        "board": "emulated:x60",
        "estimated": True,
        "times_s": [time_s],
        "counters": {f"counter_number_{place}": 1e6 * time_s + place for place in range(31)},
        "max_abs_error": 1e-6,
        "elf_sha256": f"{number:064x}",
        "elf_path": f"{folder}/kernel.elf",
        "run_command": f"{folder}/kernel.elf studies/builds/data/made-up.data --grid 16,1,1",
        "build_stages_s": {"ttir": 0.01, "parse": 0.002, "lower": 0.03, "link": time_s},
        "spans": [["build", "builder 1", 1.7e9 + number, 1.7e9 + number + 0.1]],
        "code_bytes": 2000 + number,
    }


def fill(path: Path, trials: int) -> None:
    """Write a study of so many trials, in a random order."""
    stored = open_study(str(path), IDENTITY, SPACE)
    with mock.patch("os.fsync"):  # what is timed comes later
        places = np.random.default_rng(0).permutation(VALUES ** len(SPACE.parameters))[:trials]
        for number, place in enumerate(places.tolist()):
            ranks = [place // VALUES**p % VALUES for p in range(len(SPACE.parameters))]
            config = SPACE.config_of(ranks)
            time_s = time_of(config)
            trial = stored.start(config, SPACE, {})
            stored.finish(
                trial, time_s, "correct", outcome(number, time_s), note=31 * "| a | 1 |\n"
            )


def open_and_ask(path: Path) -> None:
    """Open a study, propose once, and print what that took; in a process of its own."""
    start_s, start_cpu_s = time.perf_counter(), time.process_time()
    stored = open_study(str(path), IDENTITY, SPACE)
    history_of(stored, IDENTITY, SPACE)
    search = Search(SPACE, "auto", 0, stored)
    search.ask()
    wall_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{search.tried} trials, to the first proposal: {wall_s:.2f} s ({cpu_s:.2f} s of processor "
        f"time), at most {peak_mb:.0f} MB in the process"
    )


def trial_cost(path: Path, sampler: str, in_flight: int) -> None:
    """Print what ask and tell take in a long study."""
    search = Search(SPACE, sampler, 0, open_study(str(path), IDENTITY, SPACE))
    tried = search.tried
    pending = deque(search.ask(in_flight))
    start_s, start_cpu_s = time.perf_counter(), time.process_time()
    for number in range(TIMED):
        config = pending.popleft()
        time_s = time_of(config)
        search.tell(config, time_s, attributes=outcome(number, time_s), note="| a | 1 |\n")
        pending += search.ask(1)
    wall_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
    print(
        f"a trial at {tried} with {sampler}, {in_flight} open: {1e3 * wall_s / TIMED:.1f} ms "
        f"({1e3 * cpu_s / TIMED:.1f} ms of processor time)"
    )


def busy(sampler: str, trials: int, storage: Path) -> None:
    """Print how busy a board is; builds take no time."""
    from fakes import FakeBoard, FakeBuilder

    identity = StudyIdentity("made-up", {}, "fp32", "none", sampler, {})
    search = Search(BUSY_SPACE, sampler, 0, open_study(str(storage), identity, BUSY_SPACE))
    board = functools.partial(copy.copy, FakeBoard(delay_s=MEASUREMENT_S))
    boards = BoardPool([BoardSource("board", board)])
    builders = BuilderPool(functools.partial(copy.copy, FakeBuilder()), JOBS)
    boards.wait_open()
    loop = TuningLoop(
        search, builders, boards, budget=Budget(trials), in_flight=1 + JOBS, repeats=1
    )
    ended = loop.run()
    waits = ", ".join(f"{waited_s:.1f} s for {cause}" for cause, waited_s in ended.waits_s.items())
    print(
        f"{trials} trials of {1e3 * MEASUREMENT_S:.0f} ms with {sampler}: board busy "
        f"{ended.busy or 0:.1%}, measuring {trials * MEASUREMENT_S / ended.wall_s:.1%} of "
        f"{ended.wall_s:.1f} s; waited {waits}",
        flush=True,
    )


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=300, help="of the runs with a board")
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.open is not None:
        open_and_ask(arguments.open)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for trials in (1000, 5000, 10000):
            fill(folder / f"{trials}.journal", trials)
            command = [sys.executable, __file__, "--open", str(folder / f"{trials}.journal")]
            subprocess.run(command, check=True)
        for sampler, in_flight in (("random", 1), ("auto", 1), ("auto", 17)):
            trial_cost(folder / "1000.journal", sampler, in_flight)
        sys.path.insert(0, str(FAKES))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(FAKES), os.environ.get("PYTHONPATH", "")])
        with ray_session(JOBS):
            for sampler in ("random", "auto"):
                busy(sampler, arguments.trials, folder / f"{sampler}.journal")


if __name__ == "__main__":
    run_script(main)
