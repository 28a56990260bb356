"""Some random kernels against NumPy, the same ones each time; `make fuzz` tries others."""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import threading

import fuzz_worker
import pytest
import torch
from fuzz import EMULATED, kernels
from fuzz_effects import draw_statement
from fuzz_loops import carrying_loop
from fuzz_study import for_one_call
from fuzz_worker import Failure, Worker

import triton_rvv


@pytest.mark.parametrize(
    ("targets", "examples", "draw_first"),
    [
        (["host"], 2, draw_statement),
        (EMULATED, 1, draw_statement),
        pytest.param(["host"], 5, carrying_loop, marks=pytest.mark.long),
        pytest.param(["host"], 30, draw_statement, marks=pytest.mark.long),
    ],
)
def test_random_kernels(targets, examples, draw_first):
    worker = Worker()
    try:
        kernels(targets, worker, number=2, examples=examples, draw_first=draw_first)()
    finally:
        worker.close()


ADD_ONE = """
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, end):
    i = 0
    while i != end:
        tl.store(x_ptr, tl.load(x_ptr) + 1)
        i += 2
"""


@pytest.mark.long
def test_the_limit_of_a_kernel_is_processor_time(monkeypatch):
    worker = Worker()

    def turns(end: int) -> int:
        x = torch.zeros(1, dtype=torch.int32)
        return worker("host", ADD_ONE, {0: x}, [(0, 0), end], (1, 1, 1))[0].item()

    try:
        assert turns(2) == 1  # the compiler is there now
        monkeypatch.setattr(fuzz_worker, "_LIMIT_S", 1)
        os.kill(worker._process.pid, signal.SIGSTOP)
        threading.Timer(3, os.kill, (worker._process.pid, signal.SIGCONT)).start()
        assert turns(4) == 2
        with pytest.raises(Failure, match=r"it did not end within [12] s of processor time"):
            turns(3)  # odd
    finally:
        worker.close()


READ_ONE = """
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, at):
    tl.store(x_ptr, tl.load(x_ptr + at) + 1)
"""


@pytest.mark.long
@pytest.mark.parametrize("target", ["host", "rvv256"])
def test_nothing_behind_a_buffer_can_be_read(target):
    worker, x = Worker(), torch.arange(20, dtype=torch.int32)
    try:
        assert worker(target, READ_ONE, {0: x}, [(0, 0), 19], (1, 1, 1))[0][0] == 20
        with pytest.raises(Failure, match=r"ended with (status -11|SIGSEGV in QEMU)"):
            worker(target, READ_ONE, {0: x}, [(0, 0), 20], (1, 1, 1))
    finally:
        worker.close()


STORE_BEFORE = """
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, end):
    if tl.program_id(0) * 4 < end:
        tl.store(x_ptr + tl.arange(0, 4), 1)
"""


def test_a_study_is_compiled_for_its_integers_and_grid(tmp_path):
    path = tmp_path / "store_before.py"
    path.write_text(STORE_BEFORE)
    triton_rvv.activate("host")
    x, comparisons = torch.zeros(4, dtype=torch.int32), []
    for holds_for in (contextlib.nullcontext(), for_one_call([x, 5], (2, 1, 1))):
        kernel = runpy.run_path(str(path))["kernel"]
        with holds_for:
            comparisons.append(kernel[(2, 1, 1)](x, 5).asm["llir"].count("icmp"))
    assert comparisons[1] < comparisons[0]
