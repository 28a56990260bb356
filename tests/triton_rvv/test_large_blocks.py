"""Blocks that are too large for a thread's stack."""

from __future__ import annotations

import errno
import mmap
import threading

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from qemu_kernels import Expected

import triton_rvv
from triton_rvv.runtime import host_scratch


@triton.jit
def softmax_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    at += tl.program_id(0) * M * N
    x = tl.load(x_ptr + at)
    x = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(out_ptr + at, x / tl.sum(x, 1)[:, None])


def test_softmax(run):
    x = torch.randn((512, 2048), generator=torch.Generator().manual_seed(0))
    out = Expected(torch.softmax(x, 1), atol=1e-8, rtol=1e-5)
    run(softmax_kernel, x_ptr=x, out_ptr=out, M=512, N=2048)


@triton.jit
def sums_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    once = tl.cumsum(x)
    tl.store(out_ptr + at, tl.cumsum(once) - tl.sum(once, 0))


@pytest.fixture
def host():
    driver = triton.runtime.driver
    before = driver._active
    triton_rvv.activate("host")
    yield
    driver._active = before


def test_the_largest_blocks_on_every_thread(host):
    size, programs = 1 << 20, 3
    x = np.random.default_rng(1).integers(-9, 9, (programs, size)).astype(np.int64)
    out = np.empty_like(x)
    sums_kernel[(programs,)](x, out, N=size)
    once = x.cumsum(1)
    assert (out == once.cumsum(1) - once.sum(1, keepdims=True)).all()


@pytest.mark.long
def test_the_largest_blocks_under_qemu(host):
    triton_rvv.activate("rvv256")
    x = np.random.default_rng(2).integers(-9, 9, (2, 1 << 18)).astype(np.int64)
    out = np.empty_like(x)
    sums_kernel[(2,)](x, out, N=1 << 18)
    once = x.cumsum(1)
    assert (out == once.cumsum(1) - once.sum(1, keepdims=True)).all()


def test_a_machine_without_so_much_memory(host, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOMEM, "no memory")

    monkeypatch.setattr(mmap, "mmap", refuse)
    monkeypatch.setattr(host_scratch, "_of_thread", threading.local())
    x = np.zeros((1, 1 << 20), np.int64)
    with pytest.raises(MemoryError, match="choose smaller block sizes or fewer threads"):
        sums_kernel[(1,)](x, x, N=1 << 20)
