"""Launchers of packages that ask `torch.cuda`, whatever device their tensors are on."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest
import torch
from torch._inductor.codecache import CacheBase

from triton_rvv.runtime.torch_cuda import answer_torch_cuda

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU answers by itself")

PROGRAM = """
{imports}
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def double(x):
    out = torch.empty_like(x)
    with torch.cuda.device(x.device.index):
        threads = torch.cuda.get_device_properties(x.device).multi_processor_count
        grid = max(triton.cdiv(x.numel(), 64), min(threads, 1))
        double_kernel[(grid,)](x, out, x.numel(), BLOCK=64)
    torch.cuda.synchronize()
    return out


print(double(torch.arange(100.0)).sum().item(), torch.cuda.is_available())
"""


@without_gpu
@pytest.mark.parametrize("order", [("torch", "triton"), ("triton", "torch")])
def test_a_launcher_asks_before_the_first_launch(order, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(imports="\n".join(f"import {name}" for name in order)))
    done = subprocess.run(
        [sys.executable, str(path)],
        env=os.environ | {"TRITON_RVV_TARGET": "host"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.stdout.split() == ["9900.0", "False"], done.stderr


@without_gpu
@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("device", [None, 0, "cpu", torch.device("cpu")])
def test_any_device_is_this_machine(device):
    with torch.cuda.device(device):
        assert torch.cuda.current_device() == 0
    assert torch.cuda.get_device_capability(device) == (0, 0)
    assert torch.cuda.device_count() == 0


@without_gpu
@pytest.mark.usefixtures("on_host")
def test_a_program_that_says_there_is_a_gpu_has_answers(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with torch.cuda.device(None):
        assert torch.cuda.get_device_capability() == (0, 0)
    assert torch.cuda.get_device_name()


@without_gpu
@pytest.mark.usefixtures("on_host")
def test_torch_itself_is_told_that_there_is_no_gpu():
    # It writes what it compiled under a key that names the GPU, or none after an exception.
    CacheBase.get_system.cache_clear()
    assert CacheBase.get_system().get("device") is None


def test_a_gpu_answers_by_itself():
    cuda = ModuleType("cuda")

    class Device:
        def __init__(self, device):
            self.idx = device

    asked = (
        *("current_device", "current_stream", "get_device_capability", "get_device_name"),
        *("get_device_properties", "is_current_stream_capturing", "mem_get_info"),
        *("set_device", "synchronize"),
    )
    for name in asked:
        setattr(cuda, name, lambda *_: "own")
    vars(cuda).update(device_count=lambda: 1, device=Device)
    answer_torch_cuda(cuda)
    assert cuda.get_device_properties(0) == "own"
    assert cuda.device(3).idx == 3
