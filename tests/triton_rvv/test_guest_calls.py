"""`kernel[grid](...)` on a RISC-V core in QEMU, on this process's memory."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import triton_rvv
from triton_rvv.runtime.guest.memory import Mapping
from triton_rvv.runtime.guest.process import GuestError
from triton_rvv.runtime.qemu import QemuError, cpu_option, find_qemu
from triton_rvv.targets.target import RVVTarget


@pytest.fixture(autouse=True)
def _restored():
    """The driver from before is active again after each test."""
    driver = triton.runtime.driver
    before = driver._active
    yield
    driver._active = before


@triton.jit
def lanes_kernel(out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, at * 3, mask=at < n)


@pytest.mark.parametrize("vlen_bits", triton_rvv.SUPPORTED_VLEN_BITS)
def test_every_vector_length(vlen_bits):
    triton_rvv.activate(f"rvv{vlen_bits}")
    out = np.full(100, -1, np.int32)
    compiled = lanes_kernel[(1,)](out, 77, BLOCK=128)
    assert out.tolist() == [3 * i if i < 77 else -1 for i in range(100)]
    assert f"+zvl{vlen_bits}b" in compiled.asm["llir"]


@triton.jit
def halve_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 0.5)


def test_a_named_core_uses_what_it_has():
    try:
        cpu_option(find_qemu(), RVVTarget.named("x100"))
    except QemuError as error:
        pytest.skip(str(error))
    triton_rvv.activate("x100")
    x = torch.arange(64).to(torch.bfloat16)
    out = torch.empty_like(x)
    compiled = halve_kernel[(1,)](x, out, BLOCK=64)
    assert torch.equal(out, x / 2)
    assert "+zvfbfmin" in compiled.asm["llir"]


def test_a_core_that_is_newer_than_qemu_is_refused(monkeypatch, tmp_path):
    old = tmp_path / "qemu-riscv64"
    old.write_text("#!/bin/sh\necho qemu-riscv64 version 7.2.22\n")
    old.chmod(0o755)
    monkeypatch.setattr("triton_rvv.runtime.qemu.built_qemu", lambda: old)
    triton_rvv.activate("x100")
    with pytest.raises(GuestError, match=r"too old for code with .*zvfbfmin.* rvv_runner qemu"):
        halve_kernel[(1,)](torch.ones(64), torch.ones(64), BLOCK=64)


def test_the_host_and_a_core_run_their_own_code():
    for target in ("host", "rvv256", "host"):
        triton_rvv.activate(target)
        out = torch.zeros(8, dtype=torch.int32)
        compiled = lanes_kernel[(1,)](out, 8, BLOCK=8)
        assert out.tolist() == list(range(0, 24, 3))
        assert compiled.metadata.target.arch == target


@triton.jit
def scalars_kernel(
    out_ptr, flag: tl.int1, small: tl.int8, big: tl.uint32, wide, half: tl.float16, long: tl.float64
):
    tl.store(out_ptr, flag)
    tl.store(out_ptr + 1, small)
    tl.store(out_ptr + 2, big)
    tl.store(out_ptr + 3, wide)
    tl.store(out_ptr + 4, half)
    tl.store(out_ptr + 5, long)


def test_scalars_of_all_kinds():
    triton_rvv.activate("rvv256")
    out = np.zeros(6)
    scalars_kernel[(1,)](out, True, -3, 4_000_000_000, -(1 << 40), 0.1, 0.1)
    assert out.tolist() == [1, -3, 4e9, -float(1 << 40), float(np.float16(0.1)), 0.1]


@triton.jit
def backwards_kernel(in_ptr, out_ptr, n):
    for i in range(n):
        tl.store(out_ptr + i, tl.load(in_ptr + i) + 1)


def test_views_of_one_storage_overlap():
    triton_rvv.activate("rvv256")
    whole = torch.zeros(100_000, dtype=torch.int32)
    backwards_kernel[(1,)](whole, whole[1:], 99_999)
    assert torch.equal(whole, torch.arange(100_000, dtype=torch.int32))


@triton.jit
def follow_kernel(pointers_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for i in range(n):
        pointer = tl.load(pointers_ptr + i).to(tl.pointer_type(tl.float32))
        tl.store(out_ptr + i, tl.sum(tl.load(pointer + tl.arange(0, BLOCK))))


def test_addresses_in_tensors_lead_to_their_tensors():
    triton_rvv.activate("rvv256")
    tensors = [torch.full((16,), float(i)) for i in range(40)]
    out = torch.zeros(40)
    addresses = torch.tensor([tensor.data_ptr() for tensor in tensors])
    follow_kernel[(1,)](addresses, out, 40, BLOCK=16)
    assert out.tolist() == [16.0 * i for i in range(40)]


@triton.jit
def least_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    x = tl.load(x_ptr + at[:, None] * 51 + at[None, :] * 3)
    tl.store(out_ptr + at, tl.min(x, 1))


def test_a_vector_that_lies_in_two_parts_of_memory():
    triton_rvv.activate("rvv256")
    x, out = torch.ones(1 << 18, dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
    boundary = (-x.data_ptr() // 4) % (1 << 16)  # parts of memory begin at multiples of 256 KiB
    for before in (1, 5, 17, 50):
        least_kernel[(1,)](x[boundary - before :], out, SIZE=16)
        assert out.tolist() == [1] * 16


@triton.jit
def tuple_kernel(pair, descriptor, BLOCK: tl.constexpr):
    block = descriptor.load([BLOCK, 0])
    at = tl.arange(0, BLOCK)
    tl.store(pair[0] + at, tl.sum(block, 1) * pair[1])


@triton.jit
def far_apart_kernel(table_ptr, index_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(table_ptr + tl.load(index_ptr + at)))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64])
def test_a_gather_from_many_parts_of_memory(dtype):
    """Of 64-bit elements, the result takes the place of the indices while it is read."""
    triton_rvv.activate("rvv256")
    size, apart = 1 << 23, 99_991
    table, index = (torch.arange(size) % 127).to(dtype), torch.arange(64) * apart
    out = torch.empty(64, dtype=dtype)
    far_apart_kernel[(1,)](table, index, out, BLOCK=64)
    assert torch.equal(out, table[index])


def test_tuples_and_descriptors():
    triton_rvv.activate("rvv256")
    x, out = torch.arange(128.0).reshape(8, 16), torch.zeros(4)
    tuple_kernel[(1,)]((out, 2), TensorDescriptor.from_tensor(x, [4, 16]), BLOCK=4)
    assert torch.equal(out, x[4:].sum(1) * 2)


@triton.jit
def count_kernel(count_ptr, old_ptr):
    tl.store(old_ptr + tl.program_id(0), tl.atomic_add(count_ptr, 2))


def test_programs_of_a_grid_count_together():
    triton_rvv.activate("rvv256")
    count, old = torch.zeros(1, dtype=torch.int32), torch.zeros(50, dtype=torch.int32)
    count_kernel[(50,)](count, old)
    assert count.item() == 100
    assert sorted(old.tolist()) == list(range(0, 100, 2))


@triton.jit(debug=True)
def tell_kernel(x_ptr):
    value = tl.load(x_ptr + tl.program_id(0))
    tl.device_print("value", value)
    tl.device_assert(value < 2, "too much")
    tl.store(x_ptr + tl.program_id(0), 7)


def test_what_a_kernel_prints_and_asserts(capfd):
    triton_rvv.activate("rvv256")
    x = torch.arange(4, dtype=torch.int32)
    with pytest.raises(AssertionError, match=r"too much in program \(2, 0, 0\)"):
        tell_kernel[(4,)](x)
    assert x.tolist() == [7, 7, 2, 3]
    out, err = capfd.readouterr()
    assert "value: 3" in out + err


@triton.jit
def far_kernel(x_ptr, distance):
    tl.store(x_ptr, 1)
    tl.store(x_ptr + distance, 1)


def test_a_crash_is_an_error_and_keeps_nothing():
    triton_rvv.activate("rvv256")
    x = torch.zeros(4)
    with pytest.raises(GuestError, match="SIGSEGV in QEMU: it touched address 0x"):
        far_kernel[(1,)](x, -(x.data_ptr() - 8) // 4)
    assert x.tolist() == [0, 0, 0, 0]


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_memory_that_may_only_be_read(tmp_path):
    triton_rvv.activate("rvv256")
    np.arange(5000, dtype=np.int32).tofile(tmp_path / "x")
    x = torch.from_numpy(np.memmap(tmp_path / "x", np.int32, "r"))
    out = torch.zeros(5000, dtype=torch.int32)
    backwards_kernel[(1,)](x, out, 5000)
    assert torch.equal(out, x + 1)
    with pytest.raises(GuestError, match="SIGSEGV"):
        backwards_kernel[(1,)](out, x, 5000)


@triton.jit(debug=True)
def telling_kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 2))
    tl.device_print("x", x)
    tl.store(x_ptr + tl.arange(0, 2), x + 1)


def test_printing_and_overflow(capfd):
    triton_rvv.activate("rvv256")
    x = torch.tensor([5, 2**31 - 1], dtype=torch.int32)
    with pytest.raises(triton_rvv.DeviceAssertionError, match="int32 overflow detected"):
        telling_kernel[(1,)](x)
    assert capfd.readouterr().out.splitlines() == [
        "pid (0, 0, 0) idx (0) x: 5",
        "pid (0, 0, 0) idx (1) x: 2147483647",
    ]


@triton.jit
def endless_kernel(x_ptr):
    while tl.load(x_ptr, volatile=True) == 0:
        pass


def test_a_limit_on_time(monkeypatch):
    monkeypatch.setenv("TRITON_RVV_TIME_LIMIT_S", "1")
    triton_rvv.activate("rvv256")
    with pytest.raises(GuestError, match="did not end in QEMU within 1 s: set TRITON_RVV_TIME"):
        endless_kernel[(1,)](torch.zeros(1, dtype=torch.int32))


def test_addresses_that_qemu_has_itself_are_never_taken_for_ours(monkeypatch):
    monkeypatch.setattr(
        "triton_rvv.runtime.guest.process.mappings", lambda process: [Mapping(0, 1 << 47)]
    )
    triton_rvv.activate("rvv256")
    with pytest.raises(GuestError, match="switch the randomisation of addresses on"):
        lanes_kernel[(1,)](torch.zeros(8, dtype=torch.int32), 8, BLOCK=8)


def test_a_program_chooses_by_its_environment(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, triton\n"
        "from host_calls import axpy_kernel\n"
        "x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)\n"
        "compiled = axpy_kernel[(1,)](x, x, out, 8, 2.0, BLOCK=8)\n"
        "print(out.tolist(), compiled.metadata.target.arch)\n"
    )
    environment = os.environ | {"TRITON_RVV_TARGET": "rvv128"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{[3.0 * i for i in range(8)]} rvv128\n", done.stderr
