"""The road of one program: captured, tuned, and run with its winners, without a line written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from foundation.processors import cores
from kernels.captured.task_file import read_capture

__all__ = ["Passage", "travel"]

FOLDER = Path(__file__).parent / "sixty"

# Of a checksum, between the program as it is and with winners, by the coarsest type that it has.
TOLERANCES = {"fp8": 0.05, "fp4": 0.05, "bf16": 0.02, "fp16": 5e-3, "fp32": 1e-3}


# Those that take longest come first; where the drawn kernel is not among them, tuning goes on.
TRIALS_PER_TASK = (3, 10)


@dataclass(frozen=True)
class Passage:
    """How far a program came.

    Attributes:
        program: its file and operator.
        reached: "captured", "tuned" and "applied", as far as it came.
        sentence: why it came no further; empty where it passed.
        time_s: wall-clock time of all commands.
    """

    program: str
    reached: tuple[str, ...]
    sentence: str
    time_s: float

    @property
    def passed(self) -> bool:
        return not self.sentence


@dataclass(frozen=True)
class _Ended:
    status: int | None
    out: str
    err: str

    @property
    def last_words(self) -> str:
        """Its last line that says something; a traceback's is its error."""
        lines = [line.strip() for line in (self.err or self.out).splitlines() if line.strip()]
        return lines[-1][:300] if lines else "it said nothing"


def travel(
    file: str, operator: str, kernel: str, types: str, capture: Path, device: str, limit_s: int
) -> Passage:
    """Capture a program of `sixty/`, tune it with few trials on `device`, and apply its winners.

    Args:
        file: of `sixty/`, without `.py`.
        operator: the program of that file.
        kernel: that has to be captured, to get a winner and to be run with it; a kernel of
            torch.compile has the name of its program.
        types: of the tensors, which say how far checksums may move.
        capture: the file to write.
        device: as `rvv-tune tune --device` takes it.
        limit_s: for each of the commands.
    """
    started = time.monotonic()
    reached: list[str] = []
    sentence = _stages(
        [sys.executable, str(FOLDER / f"{file}.py"), operator],
        re.compile("triton_" if kernel == operator else re.escape(kernel)),
        types,
        capture,
        device,
        limit_s,
        reached,
    )
    taken_s = time.monotonic() - started
    return Passage(f"{file} {operator}", tuple(reached), sentence, taken_s)


def _stages(
    program: list[str],
    kernel: re.Pattern[str],
    types: str,
    capture: Path,
    device: str,
    limit_s: int,
    reached: list[str],
) -> str:
    captured = _command(["capture", "-o", str(capture), "--", *program], limit_s)
    if captured.status != 0:
        return f"capture: {_error_of(captured, limit_s)}"
    tasks = read_capture(capture).tasks
    own = {task.key for task in tasks if kernel.search(task.kernel.name)}
    if not own:
        return f"capture: no task of {kernel.pattern} among {len(tasks)}"
    reached.append("captured")
    why = _tuned(capture, device, own, len(tasks), limit_s)
    if why:
        return f"tune: {why}"
    reached.append("tuned")
    applied = _command(["run", "--with", str(capture), "--", *program], limit_s)
    if applied.status != 0:
        return f"run: {_why(applied, limit_s)}"
    lines = [line for line in applied.err.splitlines() if kernel.search(line)]
    if not any("winner of task" in line for line in lines):
        return f"run: not applied: {lines[0] if lines else applied.last_words}"
    moved = _moved(captured.out, applied.out)
    tolerance = max(TOLERANCES.get(name, 0.0) for name in types.split(", "))
    if moved > tolerance:
        return f"run: a checksum moved by {moved:.1e} of it, more than {tolerance:.0e}"
    reached.append("applied")
    return ""


def _tuned(capture: Path, device: str, own: set[str], tasks: int, limit_s: int) -> str:
    """Tune a capture until its own kernel has a winner; why it has none, or ""."""
    beside = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))  # programs at once
    jobs = ["--jobs", str(max(1, cores() // beside))]
    storage = ["--storage", str(capture.with_suffix(".journal")), "--no-report", *jobs]
    for per_task in TRIALS_PER_TASK:
        budget = ["--device", device, "--trials", str(per_task * tasks), "--json"]
        tuned = _command(["tune", str(capture), *budget, *storage], limit_s)
        if tuned.status != 0:
            return _why(tuned, limit_s)
        standings = [one for one in json.loads(tuned.out)["tasks"] if one["key"][:8] in _short(own)]
        refused = [one["refusal"] for one in standings if "refusal" in one]
        if refused:
            return refused[0]
        if any("time_s" in one for one in standings):
            return ""
    return "no winner"


def _short(keys: set[str]) -> set[str]:
    return {key[:8] for key in keys}


def _command(arguments: list[str], limit_s: int) -> _Ended:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "engine", *arguments],
            capture_output=True,
            check=False,
            text=True,
            timeout=limit_s,
            env=os.environ | {"PYTHONWARNINGS": "ignore"},
        )
    except subprocess.TimeoutExpired:
        return _Ended(None, "", "")
    return _Ended(done.returncode, done.stdout, done.stderr)


def _why(ended: _Ended, limit_s: int) -> str:
    return f"not ended within {limit_s} s" if ended.status is None else ended.last_words


def _error_of(ended: _Ended, limit_s: int) -> str:
    """Why a captured program failed: its own last words, before what capture says."""
    lines = [line.strip() for line in ended.err.splitlines() if line.strip()]
    own = [line for line in lines if not line.startswith(("captured ", "no Triton kernel was"))]
    return own[-1][:300] if own else _why(ended, limit_s)


def _moved(before: str, after: str) -> float:
    """The largest change of a checksum's sum of magnitudes, relative to it."""
    first, second = (
        [float(line.split()[-1]) for line in text.splitlines() if line.startswith("checksum")]
        for text in (before, after)
    )
    if len(first) != len(second):
        return float("inf")
    return max(
        (abs(a - b) / max(abs(a), 1e-6) for a, b in zip(first, second, strict=True)), default=0.0
    )
