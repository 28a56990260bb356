"""All that needs a GPU, one part after another: python benchmarks/gpu_all.py [PART ...].

A part's output is also written to a file of the folder `--results` as it comes, so that what was
measured is kept if a later part fails or the machine is taken away. With `--rest`, the parts that
are done there are left out. Ends with status 1 if a part failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]

_END, _DONE = "== ", "done"


@dataclass(frozen=True)
class Part:
    """A step.

    Args:
        command: after the interpreter's name.
        limit_s: it is ended after so many seconds.
    """

    command: tuple[str, ...]
    limit_s: float


def _bench(*words: str) -> tuple[str, ...]:
    return ("benchmarks/bench_gpu.py", *words)


PARTS = {
    "tests": Part(("-m", "pytest", "-p", "no:xdist", "-m", "gpu", "tests/gpu_runner"), 400),
    "jobs": Part(("benchmarks/gpu_jobs.py",), 400),
    "matmul": Part(_bench("matmul", "eight-shapes", "autotune"), 300),
    "rivals": Part(_bench("split-k", "descriptors", "blockscale", "attention"), 300),
    "products": Part(_bench("other-products"), 300),
    "others": Part(_bench("others"), 300),
    "gpus": Part(_bench("gpus"), 200),
    "replays": Part(("benchmarks/bench_gpu_replays.py",), 400),
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
    ends = {}
    for name in names:
        path = arguments.results / f"{name}.txt"
        end = _end_of(path) if arguments.rest else ""
        ends[name] = end if end.startswith(_DONE) else _run(PARTS[name], path)
    for name, end in ends.items():
        print(f"{name}: {end}")
    return int(not all(end.startswith(_DONE) for end in ends.values()))


def _end_of(path: Path) -> str:
    """How an earlier run of a part ended; empty if none is known."""
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    return lines[-1].removeprefix(_END) if lines and lines[-1].startswith(_END) else ""


def _run(part: Part, path: Path) -> str:
    """How it ended, which its file's last line says; its output goes to the terminal too."""
    command = [sys.executable, *part.command]
    print(f"== {' '.join(part.command)}", flush=True)
    start_s = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": _path(sys.path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    late = threading.Timer(part.limit_s, process.terminate)
    late.start()
    assert process.stdout is not None
    with path.open("w") as file:
        for line in process.stdout:
            print(line, end="", flush=True)
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
