"""Rows on the host: with and without masks in one walk, and by column through registers."""

import dataclasses

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import triton_rvv
from triton_rvv import compile_kernel
from triton_rvv.lowering.control.grid_loop import CALL_HEADER
from triton_rvv.runtime.host_loader import load_object
from triton_rvv.targets.host_target import host_target

BLOCK = 1024
ENDS = (0, 1, 31, 64, 127, 128, 129, 500, 896, 1000, 1023, 1024, 3000)


@pytest.fixture(autouse=True)
def on_host():
    triton_rvv.activate("host")


@triton.jit
def row_kernel(x_ptr, out_ptr, found_ptr, n, first, BLOCK: tl.constexpr):
    at = first + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=-7.0)
    shifted = tl.where(at <= n - 2, tl.exp(x), 2.0)
    tl.store(out_ptr + at, shifted, mask=at < n)
    tl.store(found_ptr, tl.max(x))
    tl.store(found_ptr + 1, tl.sum(shifted))
    tl.store(found_ptr + 2, tl.min(tl.where(x > 0, x, float("nan"))))


@pytest.mark.parametrize("first", [0, 3])
def test_a_row_ends_anywhere(first):
    x = torch.linspace(-1, 1, BLOCK + first)
    for n in ENDS:
        out, found = torch.full((BLOCK + first,), 9.0), torch.empty(3)
        row_kernel[(1,)](x, out, found, n, first, BLOCK=BLOCK)
        at = torch.arange(first, BLOCK + first)
        read = torch.where(at < n, x[first:], -7.0)
        expected = torch.where(at <= n - 2, read.exp(), 2.0)
        torch.testing.assert_close(out[first:], torch.where(at < n, expected, 9.0))
        assert (out[:first] == 9).all()
        positive = read[read > 0]
        smallest = positive.min() if len(positive) else torch.tensor(float("nan"))
        of_row = torch.stack([read.max(), expected.sum(), smallest])
        torch.testing.assert_close(found, of_row, equal_nan=True)


@triton.jit
def block_kernel(x_ptr, by_row_ptr, by_column_ptr, m, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    x = tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=inside, other=1)
    tl.store(by_row_ptr + rows, tl.sum(x, 1))
    tl.store(by_column_ptr + columns, tl.max(x, 0))
    tl.store(x_ptr + rows[:, None] * n + columns[None, :], x + 1, mask=inside)


@pytest.mark.parametrize(("m", "n"), [(4, 512), (4, 300), (3, 511), (3, 5), (4, 129)])
def test_a_block_ends_anywhere(m, n):
    x = torch.randint(-50, 50, (m, n), dtype=torch.int32)
    read = torch.nn.functional.pad(x, (0, 512 - n, 0, 4 - m), value=1)
    expected = x + 1
    by_row, by_column = torch.empty(4, dtype=torch.int32), torch.empty(512, dtype=torch.int32)
    block_kernel[(1,)](x, by_row, by_column, m, n, ROWS=4, COLUMNS=512)
    assert torch.equal(by_row, read.sum(1, dtype=torch.int32))
    assert torch.equal(by_column, read.amax(0))
    assert torch.equal(x, expected)


@triton.jit
def transposed_kernel(x_ptr, y_ptr, out_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    x = tl.load(x_ptr + rows[:, None] + columns[None, :] * m, mask=inside, other=0)
    y = tl.load(y_ptr + rows[:, None] * n + columns[None, :], mask=inside, other=0)
    tl.store(out_ptr + rows[:, None] * n + columns[None, :], x + y, mask=inside)


@pytest.mark.parametrize(
    "dtype", [pytest.param(torch.int8, marks=pytest.mark.long), torch.bfloat16, torch.float64]
)
def test_columns_are_transposed_in_registers(dtype):
    m, n = 50, 70
    x, y = (torch.randint(-9, 9, shape).to(dtype) for shape in ((n, m), (m, n)))
    for block in ((16, 16), (8, 64), (64, 4)):
        out = torch.zeros(m, n, dtype=dtype)
        grid = (triton.cdiv(m, block[0]), triton.cdiv(n, block[1]))
        transposed_kernel[grid](x, y, out, m, n, *block)
        assert torch.equal(out, x.t() + y)


def test_a_square_is_transposed_in_place():
    x = torch.arange(64 * 64, dtype=torch.float32).reshape(64, 64)
    zeros, expected = torch.zeros(64, 64), x.t().clone()
    transposed_kernel[(1, 1)](x, zeros, x, 64, 64, 64, 64)
    assert torch.equal(x, expected)


@pytest.mark.parametrize(("vector_bits", "registers"), [(128, 16), (128, 32), (256, 16)])
def test_registers_of_other_machines(vector_bits, registers):
    target = dataclasses.replace(host_target(), vector_bits=vector_bits, vector_registers=registers)
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "m": "i32", "n": "i32"}
    compiled = compile_kernel(transposed_kernel, signature, {"M": 32, "N": 32}, target)
    kernel, random = load_object(compiled.object), np.random.default_rng(0)
    x, y = (random.standard_normal(shape, np.float32) for shape in ((45, 64), (64, 45)))
    out = np.zeros((64, 45), np.float32)
    slots = np.array([array.ctypes.data for array in (x, y, out)] + [64, 45], np.uint64)
    kernel.run_programs(CALL_HEADER.pack(0, 4, 4, 2, 2, 1, 0) + slots.tobytes())
    np.testing.assert_array_equal(out, x.T + y)
