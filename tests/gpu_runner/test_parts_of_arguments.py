"""Kernels that take tuples, and that read in front of their arguments, on GPUs."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl
from gpus import H200

from gpu_runner.compile import compile_kernel, kernel_input
from gpu_runner.detect import target_of
from launchers.arguments import Argument

PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def weighted_kernel(xs, out, sizes, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < sizes[0]
    value = sizes[1][0] * tl.load(xs[0] + at, mask=mask)
    tl.store(out + at, value + sizes[1][2] * tl.load(xs[2] + at, mask=mask), mask=mask)

@triton.jit
def blurred_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at - 1, mask=mask) + tl.load(x + at + 1, mask=mask), mask=mask)

x, n = torch.arange(5003.0, device="cuda"), 5000
out, blurred = torch.empty_like(x), torch.empty(n, device="cuda")
grid = (triton.cdiv(n, 64),)
weighted_kernel[grid]((x, None, 2 * x), out, (n, (0.5, None, 3.0)), BLOCK=64)
blurred_kernel[grid](x[1:-2], blurred, n, BLOCK=64)
print(float(out[:n].sum()), float(blurred.sum()))
"""


@triton.jit
def weighted_kernel(xs, out, sizes, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = sizes[1][0] * tl.load(xs[0] + at, mask=at < sizes[0])
    tl.store(out + at, value + tl.load(xs[2] + at, mask=at < sizes[0]), mask=at < sizes[0])


def test_tuples_are_nested_again_for_the_compiler() -> None:
    pointers = {name: Argument(name, "*fp32", np.zeros(96)) for name in ("xs[0]", "xs[2]", "out")}
    pointers["xs[2]"] = replace(pointers["xs[2]"], value=np.zeros(96, np.float32), lead=5)
    numbers = [Argument("sizes[0]", "i32", 96), Argument("sizes[1][0]", "fp32", 0.5)]
    target = target_of(H200)
    made_from = kernel_input(
        weighted_kernel, [*pointers.values(), *numbers], {"xs[1]": None, "BLOCK": 32}, {}, target
    )
    assert [name for name, _ in made_from.signature] == [
        *("xs[0]", "xs[1]", "xs[2]", "out", "sizes[0]", "sizes[1][0]", "BLOCK")
    ]
    # What begins 20 bytes behind a multiple of 512 is no multiple of 16.
    assert dict(made_from.attributes) == {"xs[0]": "D", "out": "D", "sizes[0]": "D"}
    assert compile_kernel(weighted_kernel, made_from, target).binary[:4] == b"\x7fELF"


@pytest.mark.gpu
def test_they_are_tuned_and_run_with_their_winners(tmp_path: Path) -> None:
    program, capture = tmp_path / "program.py", tmp_path / "program.capture"
    program.write_text(PROGRAM)

    def command(*words: str) -> str:
        line = [sys.executable, "-m", "engine", *words]
        done = subprocess.run(line, capture_output=True, text=True, timeout=400, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    python = ["--", sys.executable, str(program)]
    before = command("capture", "-o", str(capture), *python)
    board = ["--device", "cuda", "--storage", str(tmp_path / "journal"), "--no-report", "--json"]
    tuned = json.loads(command("tune", str(capture), "--trials", "10", *board))
    assert all("time_s" in task for task in tuned["tasks"]), json.dumps(tuned, indent=1)
    assert all("BLOCK" in task["config"] for task in tuned["tasks"])
    assert command("run", "--with", str(capture), *python) == before
