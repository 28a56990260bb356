"""Programs that use two GPUs: captured, tuned on both, and run with their winners."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from captured_programs import run_command

from kernels.captured.task_file import read_capture

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(600),
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs"),
]

HEAD = """
import threading
import torch, triton, triton.language as tl

@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

tuned_kernel = triton.autotune(
    [triton.Config({"BLOCK": b}, num_warps=w) for b in (32, 1024) for w in (1, 4)], key=["n"]
)(scale_kernel)

def scale(x, kernel=scale_kernel, **constants):
    out = torch.empty_like(x)
    n = x.numel()
    with torch.cuda.device(x.device):
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n, **constants)
    return out

def values(device):
    return torch.arange(1 << 20, dtype=torch.float32, device=device)
"""
TAIL = """
for result in results:
    print(f"{result.device} {float(result.double().sum()):.6e}")
"""
PROGRAMS = {
    # Triton's autotuners cannot run in two threads, so only one program has one.
    "replicas": """
class Scale(torch.nn.Module):
    def forward(self, x): return scale(x, BLOCK=256)
model = torch.nn.DataParallel(Scale().cuda())
for _ in range(20): results = [model(values("cuda:0").view(2, -1))]
""",
    "second": """
for _ in range(20): results = [scale(values("cuda:1"), tuned_kernel)]
""",
    "streams": """
results = []
def work(number):
    torch.cuda.set_device(number)
    stream = torch.cuda.Stream()
    x = values(f"cuda:{number}")
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(20): y = scale(x, BLOCK=256)
    stream.synchronize()
    results.append(y)
threads = [threading.Thread(target=work, args=(n,)) for n in (0, 1)]
for thread in threads: thread.start()
for thread in threads: thread.join()
results.sort(key=lambda result: result.device.index)
""",
    "processes": """
import torch.multiprocessing as mp
def rank(number):
    torch.cuda.set_device(number)
    for _ in range(20): y = scale(values("cuda"), BLOCK=256)
    torch.cuda.synchronize()
results = []
if __name__ == "__main__":
    mp.spawn(rank, nprocs=2)
""",
}


def written(folder: Path, body: str) -> list[str]:
    path = folder / "program.py"
    path.write_text(HEAD + body + TAIL)
    return [sys.executable, str(path)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_on_two_gpus_is_captured_and_runs_with_winners(tmp_path: Path, name: str) -> None:
    program, file = written(tmp_path, PROGRAMS[name]), tmp_path / "program.capture"
    first = run_command("capture", "-o", file, "--", *program)
    (task,) = read_capture(file).tasks
    assert "Autotuner" in task.wrappers or name != "second"
    assert task.launches == (20 if name == "second" else 40)
    assert task.time_s is not None
    assert 1e-6 < task.time_s / task.launches < 1e-3
    storage = ("--storage", str(tmp_path / "two.journal"), "--no-report", "--jobs", "4")
    run_command("tune", file, "--device", "cuda:0,cuda:1", "--trials", "4", *storage)
    again = run_command("run", "--with", file, "--", *program)
    assert again.stdout == first.stdout
    assert f"winner of task {task.key[:8]}, {task.launches} launches" in again.stderr


def test_the_second_gpu_alone_tunes(tmp_path: Path) -> None:
    program, file = written(tmp_path, PROGRAMS["second"]), tmp_path / "program.capture"
    run_command("capture", "-o", file, "--", *program)
    storage = ("--storage", str(tmp_path / "two.journal"), "--no-report", "--jobs", "4")
    run_command("tune", file, "--device", "cuda:1", "--trials", "3", *storage)
    (winner,) = read_capture(file).winners.values()
    assert winner.device == "cuda:1"
