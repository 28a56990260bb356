"""Checks of accesses to memory, with `checks_bounds=True` or TRITON_RVV_SANITIZE=1."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import triton_rvv
from triton_rvv.errors import OutOfBoundsError
from triton_rvv.runtime.host_bounds import ended_after


@pytest.fixture(autouse=True, params=["host", "rvv256"])
def _active(request):
    driver = triton.runtime.driver
    before = driver._active
    triton_rvv.activate(request.param)
    yield
    driver._active = before


def line_of(kernel, text):
    """Where a line of a kernel stands, as messages name it."""
    lines, first = inspect.getsourcelines(kernel.fn)
    number = next(number for number, line in enumerate(lines) if text in line)
    return rf"test_bounds.py:{first + number}"


@triton.jit
def copy_kernel(in_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(in_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x, mask=at < n)


def test_what_is_inside_runs():
    x, out = torch.arange(100.0), torch.zeros(100)
    copy_kernel[(4,)](x, out, 100, BLOCK=32, checks_bounds=True)
    assert torch.equal(out, x)


def test_a_load_beyond_the_end():
    x, out = torch.zeros(90), torch.zeros(100)
    where = line_of(copy_kernel, "tl.load")
    message = rf"{where}: a load at byte 360 of in_ptr, which has 360 bytes, in program \(2, 0, 0\)"
    with pytest.raises(OutOfBoundsError, match=message):
        copy_kernel[(4,)](x, out, 100, BLOCK=32, checks_bounds=True)


def test_views_reach_as_far_as_their_storage():
    whole, out = torch.arange(100.0), torch.zeros(100)
    copy_kernel[(1,)](whole[:10], out, 100, BLOCK=128, checks_bounds=True)
    assert torch.equal(out, whole)


@triton.jit
def stride_kernel(out_ptr, start, stride, BLOCK: tl.constexpr):
    tl.store(out_ptr + start + tl.arange(0, BLOCK) * stride, 1.0)


def test_a_store_before_the_start():
    out = torch.zeros(16)
    stride_kernel[(1,)](out, 15, -1, BLOCK=16, checks_bounds=True)
    assert out.all()
    message = r"a store at byte -4 of out_ptr, which has 64 bytes"
    with pytest.raises(OutOfBoundsError, match=message):
        stride_kernel[(1,)](out, 14, -1, BLOCK=16, checks_bounds=True)


@triton.jit
def scalar_kernel(x_ptr, i, on):
    tl.store(x_ptr + i, 1, mask=on != 0)
    tl.atomic_add(x_ptr + i, 1, mask=on != 0)


def test_scalars_and_their_masks():
    x = torch.zeros(4, dtype=torch.int64)
    scalar_kernel[(1,)](x, 3, 2, checks_bounds=True)
    scalar_kernel[(1,)](x, 4, 0, checks_bounds=True)
    assert x.tolist() == [0, 0, 0, 2]
    with pytest.raises(OutOfBoundsError, match=r"a store at byte 32 of x_ptr"):
        scalar_kernel[(1,)](x, 4, 2, checks_bounds=True)


@triton.jit
def indirect_kernel(index_ptr, x_ptr, count_ptr, BLOCK: tl.constexpr):
    index = tl.load(index_ptr + tl.arange(0, BLOCK))
    value = tl.load(x_ptr + index, mask=index < 1000, other=0)
    tl.atomic_add(count_ptr + value, 1)


def test_places_that_are_loaded():
    index, x = torch.arange(64), torch.ones(64, dtype=torch.int32)
    count = torch.zeros(2, dtype=torch.int32)
    index[5], x[7] = 5000, 0
    indirect_kernel[(1,)](index, x, count, BLOCK=64, checks_bounds=True)
    assert count.tolist() == [2, 62]
    x[9] = 2
    with pytest.raises(OutOfBoundsError, match="an atomic operation at byte 8 of count_ptr"):
        indirect_kernel[(1,)](index, x, count, BLOCK=64, checks_bounds=True)
    index[6] = 999
    with pytest.raises(OutOfBoundsError, match="a load at byte 3996 of x_ptr"):
        indirect_kernel[(1,)](index, x, count, BLOCK=64, checks_bounds=True)


@triton.jit
def loop_kernel(pair, descriptor, out_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    x_ptr = pair[0]
    for i in range(n):
        total += tl.load(x_ptr + tl.arange(0, BLOCK)) + tl.sum(descriptor.load([i * 4, 0]), 1)
        x_ptr += BLOCK
    tl.store(out_ptr + tl.arange(0, BLOCK), total)


def test_loops_tuples_and_descriptors():
    x, y, out = torch.ones(40), torch.ones(10, 16), torch.zeros(4)
    descriptor = TensorDescriptor.from_tensor(y, [4, 16])
    loop_kernel[(1,)]((x, 1), descriptor, out, 10, BLOCK=4, checks_bounds=True)
    assert out.tolist() == [10 + 48, 10 + 48, 10 + 32, 10 + 32]
    with pytest.raises(OutOfBoundsError, match="a load at byte 160 of pair"):
        loop_kernel[(1,)]((x, 1), descriptor, out, 11, BLOCK=4, checks_bounds=True)


@triton.jit
def shift_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def product_kernel(a_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    c_ptr += tl.program_id(0) * BLOCK * BLOCK
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for first in range(0, K, BLOCK):
        a = tl.load(a_ptr + at[:, None] * K + (first + at)[None, :])
        b = tl.load(a_ptr + (first + at)[:, None] * BLOCK + at[None, :])
        total += tl.dot(a, b)
    tl.store(c_ptr + at[:, None] * BLOCK + at[None, :], total)


def test_products_that_are_stored_as_they_are_made():
    a, behind = torch.ones(64, 128), np.full(2 * 64 * 64, 7.0, np.float32)
    c = torch.from_numpy(behind[: 64 * 64])
    with pytest.raises(OutOfBoundsError, match=r"a store at byte 16384 of c_ptr, which has 16384"):
        product_kernel[(2,)](a, c, 128, BLOCK=64, checks_bounds=True)
    assert (c == 128).all()
    assert (behind[64 * 64 :] == 7).all()


def test_arguments_that_overlap():
    x = torch.arange(65)
    shift_kernel[(1,)](x, x[1:], BLOCK=64, checks_bounds=True)
    assert x.tolist() == [0, *range(64)]
    with pytest.raises(OutOfBoundsError, match="a store at byte 520 of out_ptr"):
        shift_kernel[(1,)](x, x[2:], BLOCK=64, checks_bounds=True)


def test_the_environment_asks_for_it(monkeypatch):
    monkeypatch.setenv("TRITON_RVV_SANITIZE", "1")
    with pytest.raises(OutOfBoundsError):
        shift_kernel[(1,)](torch.zeros(9), torch.zeros(16), BLOCK=16)


@triton.jit
def locked_kernel(lock_ptr, out_ptr, n):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    at = tl.load(out_ptr) + n
    tl.store(out_ptr + at, 1)
    tl.atomic_xchg(lock_ptr, 0)


def test_programs_that_wait_for_one_that_left_leave_too():
    lock, out = torch.zeros(1, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    with pytest.raises(OutOfBoundsError, match="a store at byte 400 of out_ptr"):
        locked_kernel[(64,)](lock, out, 100, checks_bounds=True)


@triton.jit
def waiting_kernel(flag_ptr):
    while tl.load(flag_ptr, volatile=True) == 0:
        pass


def test_what_waits_for_ever_is_ended():
    flag = torch.zeros(1, dtype=torch.int32)
    triton_rvv.activate("host")
    with ended_after(0.1), pytest.raises(TimeoutError):
        waiting_kernel[(2,)](flag, checks_bounds=True)
    waiting_kernel[(2,)](flag + 1, checks_bounds=True)
