"""CUDA through CuPy's RawKernel, tuned as a callable on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

import engine

pytestmark = pytest.mark.gpu

RAW_KERNEL = '''\
"""A vector plus a multiple of another, in CUDA."""
import cupy
import torch

SOURCE = """
extern "C" __global__ void axpy(const float *x, const float *y, float *out, long long n) {
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; at < n; at += (long long)gridDim.x * blockDim.x) out[at] = 2.5f * x[at] + y[at];
}
"""


def configurations():
    return [{"threads": threads, "blocks": blocks} for threads in (32, 256) for blocks in (1, 512)]


def arguments(n=1 << 20):
    return {"x": torch.randn(n), "y": torch.randn(n), "out": torch.empty(n), "n": n}


def reference(x, y):
    return {"out": 2.5 * x + y}


def build(config):
    kernel = cupy.RawKernel(SOURCE, "axpy")

    def run(x, y, out, n):
        stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
        pointers = [cupy.asarray(tensor) for tensor in (x, y, out)]
        with stream:
            kernel((config["blocks"],), (config["threads"],), (*pointers, cupy.int64(n)))

    return run
'''


CHEATS = '''\
"""Three times a vector, for which two of the callables spare some runs their work."""
import torch


def configurations():
    return [{"how": how} for how in ("right", "kept", "late")]


def arguments(n=1 << 20):
    return {"x": torch.randn(n), "out": torch.empty(n)}


def reference(x):
    return {"out": 3 * x}


def build(config):
    runs, kept = [0], []

    def run(x, out):
        runs[0] += 1
        if config["how"] == "kept" and kept:
            out.copy_(kept[0])
        elif config["how"] != "late" or not 3 < runs[0] < 9:
            torch.mul(x, 3, out=out)
        kept[:] = [out.clone()]

    return run
'''


def test_every_timed_run_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "threefold.py"
    path.write_text(CHEATS)
    trials = engine.tune(path, device="python:cuda", trials=3, jobs=1).trials
    statuses = dict(zip(trials["how"], trials["status"], strict=True))
    assert statuses == {"right": "correct", "kept": "wrong", "late": "wrong"}


def test_a_raw_kernel_is_tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy", reason="needs cupy")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "axpy.py"
    path.write_text(RAW_KERNEL)
    result = engine.tune(path, device="python:cuda", trials=4, jobs=1)
    trials = result.trials
    assert list(trials["status"]) == ["correct"] * 4
    assert result.summary.winner.config["blocks"] == 512
