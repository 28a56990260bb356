"""A program that runs on a GPU with what a study found there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import engine.tune as tune_command

pytestmark = pytest.mark.gpu

KERNEL = '''\
"""A vector plus a multiple of another."""
import torch
import triton
import triton.language as tl
import engine
from engine.winners.tuned_kernel import Winners


@engine.tuned(
    [triton.Config({"BLOCK_SIZE": size}, num_warps=4) for size in (64, 1024, 4096)],
    key=["n_elements"],
    winners=Winners(device="cuda", sizes={"N": "n_elements"}),
)
@triton.jit
def axpy_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, 2.5 * x + y, mask=mask)


def arguments(N=1 << 22, dtype=torch.float32):
    x, y = torch.randn(N).to(dtype), torch.randn(N).to(dtype)
    output = torch.empty(N, dtype=dtype)
    return {"x_ptr": x, "y_ptr": y, "output_ptr": output, "n_elements": N}


def grid(meta):
    return (triton.cdiv(meta["n_elements"], meta["BLOCK_SIZE"]),)


def reference(x_ptr, y_ptr):
    return {"output_ptr": 2.5 * x_ptr + y_ptr}
'''

PROGRAM = """\
import json
import torch
import engine
from axpy import axpy_kernel, grid

n = 1 << 22
x, y = (torch.randn(n, device="cuda") for _ in range(2))
output = torch.empty_like(x)
axpy_kernel[grid](x, y, output, n)
torch.testing.assert_close(output, 2.5 * x + y)
looked_up = engine.lookup("axpy.py", N=n, device="cuda")
print(json.dumps({
    "how": axpy_kernel.found.how,
    "ran": axpy_kernel.best_config.all_kwargs(),
    "looked_up": dict(looked_up.config),
}))
"""


def test_a_program_runs_with_the_winner_that_the_gpu_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("axpy.py").write_text(KERNEL)
    assert tune_command.main(["axpy.py", "--device", "cuda", "--no-report"]) == 0
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["how"] == "exact"
    assert told["looked_up"].items() <= told["ran"].items()


DRAWN = """\
import torch
import triton
import triton.language as tl


@triton.jit
def doubled_kernel(x_ptr, n_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.load(n_ptr)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def get_doubled_kernel_autotune_config():
    return [triton.Config({"BLOCK": block}) for block in (16, 64)]


def call(L=100000):
    n = int(torch.randint(L // 2, L, ()))
    x, y = torch.randn(n), torch.empty(n)
    programs = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    doubled_kernel[programs](x, torch.tensor([n], dtype=torch.int32), y)


def reference(x_ptr):
    return {"y_ptr": x_ptr * 2}
"""


def test_sizes_that_a_file_draws_are_those_for_which_programs_were_counted(tmp_path, capsys):
    (tmp_path / "doubled.py").write_text(DRAWN)
    arguments = [f"{tmp_path}/doubled.py", "--device", "cuda", "--trials", "2", "--no-report"]
    storage = ["--storage", f"sqlite:///{tmp_path}/studies.db"]
    assert tune_command.main([*arguments, *storage]) == 0
    assert "status=correct\tcount=2\n" in capsys.readouterr().out
