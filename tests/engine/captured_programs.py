"""Small programs with Triton kernels, for tests of capture and apply."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from engine.programs.captured import capture_program
from kernels.captured.drawn import Drawn
from kernels.captured.task import Recorded, Task
from kernels.captured.task_file import Capture, read_capture

HEAD = """
import os, signal, subprocess, sys, threading, time
import torch, triton, triton.language as tl

@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

def add(x, y, block=64):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=block)
    return out

x = torch.arange(1000, dtype=torch.float32)
"""


# An autotuner that is not derived from Triton's, as packages have them.
OWN_TUNER = """
class OwnTuner(triton.KernelInterface):
    def __init__(self, fn, configs): self.fn, self.configs, self.times = fn, configs, {}
    def run(self, *args, grid, warmup):
        if len(self.configs) > 1 and not self.times:
            for c in self.configs:
                call = lambda: self.fn[grid](*args, **c.kwargs)
                self.times[c] = triton.testing.do_bench(call, warmup=1, rep=1)
        best = min(self.configs, key=lambda c: self.times.get(c, 0))
        return self.fn[grid](*args, **best.kwargs)
"""


def written(folder: Path, body: str, head: str = HEAD) -> Path:
    """A program in a file."""
    path = folder / "program.py"
    path.write_text(head + body)
    return path


def run_command(*words: str | Path, status: int | None = 0) -> subprocess.CompletedProcess[str]:
    """A command of the engine, run to its end."""
    command = [sys.executable, "-m", "engine", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert status is None or done.returncode == status, done.stderr
    return done


def captured(folder: Path, body: str, head: str = HEAD, status: int = 0) -> Capture:
    """What the capture of a program holds, which ends with a status."""
    path = folder / "program.capture"
    command = [sys.executable, str(written(folder, body, head))]
    assert capture_program(command, path, keep_data=False) == status
    return read_capture(path)


def check_large(task: Task, contents: type[Recorded | Drawn]) -> None:
    """A task whose `x` has 100,000 elements of mean 10 and deviation 3, kept as `contents`."""
    assert isinstance(task.storages[task.tensors["x"].storage].contents, contents)
    values = task.values()["x"]
    assert values.shape == (100000,)
    assert abs(values.mean() - 10) < 0.1
    assert abs(values.std() - 3) < 0.1
