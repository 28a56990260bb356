"""`kernel[grid](...)` on this machine: arguments, grids, threads, Triton's own tools."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from host_calls import axpy_kernel, count_kernel
from pairs import in_turn
from triton.tools.tensor_descriptor import TensorDescriptor

import triton_rvv
from triton_rvv import CompileError
from triton_rvv.runtime import host_launch
from triton_rvv.runtime.workers import run_on_workers

pytestmark = pytest.mark.usefixtures("on_host")

N = 1000
TYPES = ["bool", "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
TYPES += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def grid(meta):
    return (triton.cdiv(N, meta["BLOCK"]),)


# -- arguments -------------------------------------------------------------------------------------


@triton.jit
def copy_kernel(in_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(in_ptr + at, mask=at < n), mask=at < n)


@pytest.mark.parametrize("name", TYPES)
def test_tensors_of_every_type(name):
    dtype = getattr(torch, name)
    bits = torch.randint(0, 256, (N * 8,), dtype=torch.uint8)
    x = (bits[:N] > 127) if name == "bool" else bits.view(dtype)[:N]
    out = torch.zeros(N, dtype=dtype)
    copy_kernel[grid](x, out, N, BLOCK=128)
    assert torch.equal(out.view(torch.uint8), x.view(torch.uint8))


@triton.jit
def scalars_kernel(
    out_ptr, whole_ptr, f, h: tl.float16, b: tl.bfloat16, d: tl.float64, i, truth, nothing
):
    tl.store(out_ptr, f.to(tl.float64))
    tl.store(out_ptr + 1, h.to(tl.float64))
    tl.store(out_ptr + 2, b.to(tl.float64))
    tl.store(out_ptr + 3, d)
    tl.store(whole_ptr, i.to(tl.int64))
    if truth:
        tl.store(whole_ptr + 1, 7)
    if nothing is None:
        tl.store(whole_ptr + 2, 9)


@pytest.mark.parametrize("whole", [-3, -(2**40)])
def test_scalars(whole):
    out, wholes = torch.zeros(4, dtype=torch.float64), torch.zeros(3, dtype=torch.int64)
    scalars_kernel[(1,)](out, wholes, 0.1, 0.1, 0.1, 0.1, whole, True, None)
    half, bfloat = (torch.tensor(0.1, dtype=t).item() for t in (torch.float16, torch.bfloat16))
    assert out.tolist() == [np.float32(0.1), half, bfloat, 0.1]
    assert wholes.tolist() == [whole, 7, 9]


def test_numpy_arrays_are_not_copied():
    x = np.arange(2 * N, dtype=np.float32)[::2]  # the kernel sees the memory, not the steps
    memory = np.arange(2 * N, dtype=np.float32)
    out = np.zeros(N, np.float32)
    axpy_kernel[grid](x, y_ptr=memory, out_ptr=out, n=np.int64(N), a=np.float32(2), BLOCK=256)
    np.testing.assert_array_equal(out, 3 * memory[:N])


def test_descriptors_and_tuples():
    x, out = torch.randn(20, 16), torch.zeros(20, 16)
    source, target = (TensorDescriptor.from_tensor(t, [8, 16]) for t in (x, out))
    descriptor_kernel[(3,)]((source, target), (2.0, 1), ROWS=8)
    torch.testing.assert_close(out, 2 * x + 1)


@triton.jit
def descriptor_kernel(descriptors, factors, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    block = descriptors[0].load([row, 0])
    descriptors[1].store([row, 0], block * factors[0] + factors[1])


def test_a_tensor_elsewhere_is_refused():
    elsewhere = torch.zeros(N, device="meta")
    with pytest.raises(ValueError, match="a tensor is on meta: move it to the CPU first"):
        axpy_kernel[grid](elsewhere, elsewhere, elsewhere, N, 2.0, BLOCK=256)


def test_what_does_not_compile_names_its_line():
    with pytest.raises(CompileError, match=r"test_host_calls.py:\d+: .*operations of the language"):
        assembly_kernel[(1,)](torch.zeros(16), N=16)


@triton.jit
def assembly_kernel(x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    y = tl.inline_asm_elementwise("nop", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(x_ptr + at, y)


# -- grids and threads -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threads", "shape"),
    in_turn([1, 3], [((1,),), ((7, 5, 3),), ((1, 4000),), ((0,),)]),
)
def test_every_program_runs_once(shape, threads):
    triton_rvv.set_num_threads(threads)
    counts = torch.zeros(int(np.prod(shape)), dtype=torch.int32)
    count_kernel[shape](counts)
    assert (counts == 1).all()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2.5,), "a grid has 2.5 programs along x: divide by triton.cdiv"),
        ((3, -1), "a grid cannot have -1 programs along y"),
        ((3, 1, 2**32), "a grid cannot have 4294967296 programs along z"),
    ],
)
def test_a_grid_that_there_is_not_names_its_axis(shape, message):
    count = torch.zeros(1, dtype=torch.int32)
    for _ in range(2):  # a second call goes another way
        with pytest.raises((TypeError, ValueError), match=re.escape(message)):
            count_kernel[shape](count)
    assert count.item() == 0


def test_threads_are_numbers_from_one_on():
    with pytest.raises(ValueError, match="0 threads run nothing"):
        triton_rvv.set_num_threads(0)


@triton.jit
def meet_kernel(flags_ptr, met_ptr):
    """Two programs that each wait for the other, for a while."""
    me = tl.program_id(0)
    tl.store(flags_ptr + me * 16, 1)
    turns = 0
    while (tl.load(flags_ptr + (1 - me) * 16, volatile=True) == 0) & (turns < 2_000_000_000):
        turns += 1
    tl.store(met_ptr + me, (turns < 2_000_000_000).to(tl.int32))  # type: ignore[attr-defined]  # a tensor


def test_programs_run_at_once():
    triton_rvv.set_num_threads(2)
    met = torch.zeros(2, dtype=torch.int32)
    meet_kernel[(2,)](torch.zeros(32, dtype=torch.int32), met)
    assert met.tolist() == [1, 1]


@triton.jit
def wait_kernel(flag_ptr, out_ptr):
    turns = 0
    while (tl.load(flag_ptr, volatile=True) == 0) & (turns < 2_000_000_000):
        turns += 1
    tl.store(out_ptr, (turns < 2_000_000_000).to(tl.int32))  # type: ignore[attr-defined]  # a tensor


def test_python_goes_on_meanwhile():
    flag, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    wait_kernel.warmup(torch.int32, torch.int32, grid=(1,))

    def raise_flag():
        time.sleep(0.05)
        flag[0] = 1

    threading.Thread(target=raise_flag).start()
    wait_kernel[(1,)](flag, out)
    assert out[0] == 1


@triton.jit
def large_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    block = x_ptr + at[:, None] * SIZE + at[None, :]
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for _ in range(2):
        total = tl.dot(tl.load(block), total + 1.0, total)
    tl.store(out_ptr + tl.program_id(0), tl.sum(total))


def test_large_blocks_run_on_threads_with_large_stacks():
    """A thread of the caller's own may have a small stack, so nothing runs on it."""
    triton_rvv.set_num_threads(2)
    size = 256
    x, out = torch.eye(size), torch.zeros(4)
    large_kernel.warmup(torch.float32, torch.float32, SIZE=size, grid=(1,))
    names: list[str] = []

    def call():
        run_on_workers(lambda _: names.append(threading.current_thread().name), None, at_most=2)
        large_kernel[(4,)](x, out, SIZE=size)

    before = threading.stack_size(512 << 10)
    caller = threading.Thread(target=call, name="caller")
    caller.start()
    threading.stack_size(before)
    caller.join()
    assert len(names) == 2
    assert "caller" not in names
    assert out.tolist() == [3 * size * size] * 4


def test_a_launch_as_short_as_the_last_one_runs_on_the_calling_thread(monkeypatch):
    triton_rvv.set_num_threads(2)
    shares: list[int] = []

    def noted(work: Callable[[Any], None], argument: Any, at_most: int) -> float:
        shares.append(at_most)
        return run_on_workers(work, argument, at_most)

    monkeypatch.setattr(host_launch, "run_on_workers", noted)
    counts = torch.zeros(1 << 20, dtype=torch.int32)
    for _ in range(3):
        count_kernel[(1 << 20,)](counts)
    assert 1 not in shares
    for _ in range(50):  # on a busy machine a launch may take longer
        count_kernel[(3,)](counts)
    assert 1 in shares
    assert counts[:3].tolist() == [53] * 3
    assert counts[3:].eq(3).all()


def test_a_forked_process_has_threads_of_its_own():
    triton_rvv.set_num_threads(2)
    counts = torch.zeros(100, dtype=torch.int32)
    count_kernel[(100,)](counts)
    child = os.fork()
    if child == 0:
        count_kernel[(100,)](counts)
        os._exit(0 if (counts == 2).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


# -- Triton's own tools ----------------------------------------------------------------------------


def test_autotune_picks_by_time_and_restores():
    def slow(args):
        time.sleep(0.05)

    @triton.autotune(
        configs=[
            triton.Config({"BLOCK": 128}, num_warps=4, pre_hook=slow),
            triton.Config({"BLOCK": 64}, num_warps=2),
        ],
        key=["n"],
        restore_value=["out_ptr"],
    )
    @triton.heuristics({"TWICE": lambda args: args["n"] > 10})
    @triton.jit
    def kernel(out_ptr, n, BLOCK: tl.constexpr, TWICE: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(out_ptr + at, mask=at < n)
        tl.store(out_ptr + at, value + (2 if TWICE else 1), mask=at < n)

    out = torch.zeros(N)
    kernel[grid](out, N)
    assert set(kernel.configs_timings) == set(kernel.configs)
    assert kernel.best_config.kwargs == {"BLOCK": 64}
    assert (out == 2).all()


def test_do_bench_measures_milliseconds():
    pause_s = 0.02
    times_ms = triton.testing.do_bench(
        lambda: time.sleep(pause_s), warmup=1, rep=50, return_mode="all"
    )
    assert min(times_ms) >= 1e3 * pause_s


def test_warm_up_compiles_and_the_artifacts_are_there():
    compiled = axpy_kernel.warmup(*[torch.float64] * 3, N, 2.0, BLOCK=32, grid=(1,))
    assert "tt.load" in compiled.asm["ttir"]
    assert "triton_rvv_run_programs" in compiled.asm["llir"]
    assert compiled.asm["o"].startswith(b"\x7fELF")


def test_launch_hooks_are_called():
    seen = []
    hooks = triton.knobs.runtime
    hooks.launch_enter_hook.add(lambda metadata: seen.append(metadata.get()["name"]))
    hooks.launch_exit_hook.add(lambda metadata: seen.append("end"))
    try:
        count_kernel[(1,)](torch.zeros(1, dtype=torch.int32))
    finally:
        hooks.launch_enter_hook.calls.clear()
        hooks.launch_exit_hook.calls.clear()
    assert seen == ["count_kernel", "end"]


def test_a_target_that_there_is_not_cannot_be_active():
    with pytest.raises(ValueError, match="on 'rvv300': name one of host, rvv128, "):
        triton_rvv.activate("rvv300")


def test_a_folder_in_the_path_is_no_installation(monkeypatch):
    monkeypatch.delitem(triton.backends.backends, "rvv")
    with pytest.raises(RuntimeError, match="not installed in this environment: run pip install"):
        triton_rvv.activate("host")
