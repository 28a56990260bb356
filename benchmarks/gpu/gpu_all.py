"""All that needs a GPU, in parts: python benchmarks/gpu/gpu_all.py [PART ...].

Each GPU runs one part at a time, with its share of the processors, and the parts that need every
GPU come last. A part's output is also written to a file of the folder `--results` as it comes, so
that what was measured is kept if a later part fails or the machine is taken away. With `--rest`,
the parts that are done there are left out. Ends with status 1 if a part failed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

REPOSITORY = Path(__file__).resolve().parents[2]

_END, _DONE = "== ", "done"


@dataclass(frozen=True)
class Part:
    """A step.

    Args:
        command: after the interpreter's name.
        limit_s: it is ended after so many seconds.
        every_gpu: whether it uses all GPUs of the machine, and not one.
    """

    command: tuple[str, ...]
    limit_s: float
    every_gpu: bool = False


@dataclass(frozen=True)
class Lane:
    """What a part may use.

    Args:
        gpus: their numbers.
        processors: theirs.
    """

    gpus: tuple[str, ...]
    processors: frozenset[int]


def _bench(*words: str) -> tuple[str, ...]:
    return ("benchmarks/gpu/bench_gpu.py", *words)


def _tests(*words: str) -> tuple[str, ...]:
    return ("-m", "pytest", "-p", "no:xdist", "-m", "gpu", "tests/gpu_runner", *words)


# They are skipped without their packages, which REAL_KERNELS leads to. One after another, they take
# an hour and more, most of it in imports.
_PROGRAMS = ("-m", "pytest", "-n", "8", "-m", "long or not long", "tests/programs")

# The longest come first, so that several GPUs end at about the same time.
PARTS = {
    "programs": Part(_PROGRAMS, 1800),
    "own": Part(_bench("own-files"), 800),
    "tests": Part(_tests(), 600),
    "jobs": Part(("benchmarks/gpu/gpu_jobs.py",), 400),
    "rivals": Part(_bench("split-k", "descriptors", "blockscale", "attention"), 300),
    "products": Part(_bench("other-products"), 300),
    "others": Part(_bench("others"), 300),
    "matmul": Part(_bench("matmul", "eight-shapes", "autotune"), 300),
    "replays": Part(("benchmarks/gpu/bench_gpu_replays.py",), 400),
    "gpus": Part(_bench("gpus"), 200, every_gpu=True),
    "pool": Part(_tests("-k", "two_gpus"), 500, every_gpu=True),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "studies" / "gpu")
    parser.add_argument("--rest", action="store_true", help="leave out parts that are done there")
    arguments = parser.parse_args()
    names = arguments.parts or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]}: choose of {', '.join(PARTS)}")
    arguments.results.mkdir(parents=True, exist_ok=True)
    ends: dict[str, str] = {}
    whole = _machine()
    waiting: list[str] = []
    for name in names:
        end = _end_of(arguments.results / f"{name}.txt") if arguments.rest else ""
        if end.startswith(_DONE):
            ends[name] = end
        else:
            waiting.append(name)
    for every_gpu in (False, True):
        some = deque(name for name in waiting if PARTS[name].every_gpu == every_gpu)
        lanes = [whole] if every_gpu else _shares(whole)
        with ThreadPoolExecutor(len(lanes)) as pool:
            runs = [pool.submit(_run_each, some, lane, arguments.results) for lane in lanes]
            for run in runs:
                ends.update(run.result())
    for name, end in ends.items():
        print(f"{name}: {end}")
    return int(not all(end.startswith(_DONE) for end in ends.values()))


def _end_of(path: Path) -> str:
    """How an earlier run of a part ended; empty if none is known."""
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    return lines[-1].removeprefix(_END) if lines and lines[-1].startswith(_END) else ""


def _machine() -> Lane:
    """Every GPU and processor that this process may use."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = chosen.split(",") if chosen else map(str, range(torch.cuda.device_count()))
    return Lane(tuple(gpus) or ("0",), frozenset(os.sched_getaffinity(0)))


def _shares(whole: Lane) -> list[Lane]:
    """One lane for each GPU, with as many processors each."""
    count, processors = len(whole.gpus), sorted(whole.processors)
    each = max(len(processors) // count, 1)
    shares = [processors[each * n : each * (n + 1)] or processors for n in range(count)]
    return [Lane((gpu,), frozenset(share)) for gpu, share in zip(whole.gpus, shares, strict=True)]


def _run_each(names: deque[str], lane: Lane, results: Path) -> dict[str, str]:
    """Run the next part until none is left; how each ended."""
    ends = {}
    with contextlib.suppress(IndexError):
        while True:
            name = names.popleft()
            ends[name] = _run(name, lane, results / f"{name}.txt")
    return ends


def _run(name: str, lane: Lane, path: Path) -> str:
    """How a part ended, which its file's last line says; its output goes to the terminal too."""
    part = PARTS[name]
    command = [sys.executable, *part.command]
    print(f"{name}: {' '.join(part.command)} on GPU {', '.join(lane.gpus)}", flush=True)
    start_s = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env={
            **os.environ,
            "PYTHONPATH": _path(sys.path),
            "PYTHONUNBUFFERED": "1",
            "CUDA_VISIBLE_DEVICES": ",".join(lane.gpus),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    os.sched_setaffinity(process.pid, lane.processors)
    late = threading.Timer(part.limit_s, process.terminate)
    late.start()
    assert process.stdout is not None
    with path.open("w") as file:
        for line in process.stdout:
            print(f"{name}: {line}", end="", flush=True)
            file.write(line)
            file.flush()
    is_late = not late.is_alive()
    late.cancel()
    status = process.wait()
    took = f"after {time.monotonic() - start_s:.0f} s"
    end = f"{_DONE} {took}" if status == 0 else f"failed with status {status} {took}"
    if is_late:
        end = f"ended at its limit of {part.limit_s:g} s"
    with path.open("a") as file:
        file.write(f"{_END}{end}\n")
    return end


def _path(folders: Sequence[str]) -> str:
    return os.pathsep.join([str(REPOSITORY), *folders[1:]])  # the first is this file's folder


if __name__ == "__main__":
    sys.exit(main())
