"""Three tuners while everything goes wrong: make soak MINUTES=120.

One tunes on the emulated board, one shares its study and builds on a cluster of three Ray nodes
that share no folder, and one tunes on two cores of a board behind a real sshd. At random, tuners
are killed or interrupted and their processes killed or stopped for a while, the board's link is cut
and its sshd killed, nodes of the cluster are lost and join again, and its head is lost. Each tuner
is started again until the time is up. Then a tally is printed, and the exit status is 1 unless it
is clean: what a tuner has told of is stored, nothing was tried twice, no configuration is blamed
for what was done to it, and nothing is left running.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from ssh_desk import desk
from three_nodes import three_nodes
from tuner import Tuner

from engine.study.storage import read_studies

__all__ = ["main"]

LEFT_LIMIT_S = 10.0
PAUSES_S = (2.0, 15.0)  # between faults
HURT_WHILE_STARTING = 0.05
SURROUNDINGS = 0.3  # of the faults

Hurt = Callable[[random.Random], str]


def soak(
    tuners: Mapping[str, Tuner],
    surroundings: Mapping[str, Hurt],
    minutes: float,
    rng: random.Random,
) -> Counter[str]:
    """Hurt tuners and what they use for so many minutes, then let them end; what was done."""
    end_s = time.monotonic() + 60 * minutes
    faults: Counter[str] = Counter()
    while time.monotonic() < end_s:
        time.sleep(rng.uniform(*PAUSES_S))
        name = rng.choice(sorted(tuners))
        # On a busy machine a tuner takes longer to start than faults are apart.
        if tuners[name].is_at_work or rng.random() < HURT_WHILE_STARTING:
            outside = name in surroundings and rng.random() < SURROUNDINGS
            faults[(surroundings[name] if outside else tuners[name].hurt)(rng)] += 1
        for tuner in tuners.values():
            if tuner.process.poll() is not None:
                tuner.finish()
                tuner.start()
    for tuner in tuners.values():
        tuner.process.send_signal(signal.SIGINT)
    for tuner in tuners.values():
        tuner.finish()
    return faults


def left_running(folder: Path) -> list[int]:
    """Processes whose current folder is below this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
    return found


def tally_of(tuners: Mapping[str, Tuner], storage: Path) -> tuple[dict[str, int], Counter[str]]:
    """What is not as it should be, by name, with the number told; and trials by status."""
    stored: Counter[tuple[bool, str, str]] = Counter()
    statuses: Counter[str] = Counter()
    for study in read_studies(str(storage)):
        for trial in study.trials_of(study.study_name):
            statuses[str(trial.status)] += 1
            stored[(*board_and_shape(study.study_name), str(trial.config))] += trial.has_outcome
    told = {(name == "desk", *told) for name, tuner in tuners.items() for told in tuner.told}
    harmless = ("correct", "constraint", "board", "None")
    tally = {
        "told": sum(len(tuner.told) for tuner in tuners.values()),
        "lost": len(told - {trial for trial, count in stored.items() if count}),
        "twice": sum(count > 1 for count in stored.values()),
        "blamed": sum(count for status, count in statuses.items() if status not in harmless),
        "tracebacks": sum(len(tuner.errors) for tuner in tuners.values()),
    }
    return tally, statuses


def board_and_shape(study: str) -> tuple[bool, str]:
    """Whether a study is of the board over SSH, as the others share those of the emulated one, and
    its shape: from "matmul-M64-N64-K64-fp32-emulated-x60-auto-1f0c2a9b"."""
    sizes = study.split("-")[1:4]
    return "emulated" not in study, ",".join(f"{size[0]}={size[1:]}" for size in sizes)


def main() -> int:
    """Print the tally; 0 if it is clean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="soak-") as temporary,
        tempfile.TemporaryDirectory(prefix="s-", dir="/tmp") as short,  # for Ray's sockets
    ):
        folder = Path(temporary, "tuner")
        keys = Path(temporary, "desk")
        for made in (folder, keys):
            made.mkdir()
        with (
            desk(keys, Path(temporary, "board")) as board,
            three_nodes(Path(short), folder) as nodes,
            contextlib.ExitStack() as ends,
        ):
            tuners = {
                "emulated": Tuner(folder),
                "desk": Tuner(
                    folder, lambda: ["--device", "desk", "--cores", "2"], board.environment
                ),
                "cluster": Tuner(folder, lambda: nodes.options, nodes.environment),
            }
            for tuner in tuners.values():
                ends.callback(tuner.kill)
            surroundings = {"desk": board.hurt, "cluster": nodes.hurt}
            faults = soak(tuners, surroundings, arguments.minutes, random.Random(arguments.seed))
        deadline_s = time.monotonic() + LEFT_LIMIT_S
        while (left := left_running(Path(temporary))) and time.monotonic() < deadline_s:
            time.sleep(0.2)
        tally, statuses = tally_of(tuners, folder / "studies" / "tuner.journal")
        tally |= {
            "processes left": len(left),
            "folders left": len(list(folder.rglob(".new-*"))),
        }
    print(f"faults: {dict(faults)}")
    print(f"told: { {name: len(one.told) for name, one in tuners.items()} }")
    print(f"endings: { {name: dict(one.endings) for name, one in tuners.items()} }")
    print(f"statuses: {dict(statuses)}")
    print(", ".join(f"{name}: {count}" for name, count in tally.items()))
    print(*(text for one in tuners.values() for text in (*one.blamed, *one.errors)), sep="\n")
    is_clean = not any(count for name, count in tally.items() if name != "told")
    return 0 if is_clean and all(one.told for one in tuners.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
