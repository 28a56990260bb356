"""Rows that are found by an index in memory: a block of one element is part of an address."""

import numpy as np
import pytest
import triton
import triton.language as tl

import triton_rvv
from triton_rvv import compile_kernel
from triton_rvv.host_target import host_target


@pytest.fixture(autouse=True, scope="module")
def _active():
    """The host is Triton's driver during these tests."""
    driver = triton.runtime.driver
    before = driver._active
    triton_rvv.activate("host")
    yield
    driver._active = before


@triton.jit
def rows_by_index_kernel(index_ptr, table_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0) + tl.arange(0, 1)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    index = tl.load(index_ptr + row)
    values = tl.load(table_ptr + (column + BLOCK * index))
    tl.store(out_ptr + (column + BLOCK * row), values / index.to(tl.float32))


def test_rows_are_taken_by_an_index_in_memory():
    table = np.arange(40 * 64, dtype=np.float32).reshape(40, 64)
    index = np.array([3, 39, 1, 17], dtype=np.int64)
    out = np.zeros((4, 64), np.float32)
    rows_by_index_kernel[(4,)](index, table, out, BLOCK=64)
    np.testing.assert_allclose(out, table[index] / index[:, None].astype(np.float32), rtol=1e-6)


def test_such_a_row_is_not_gathered():
    pointers = {"index_ptr": "*i64", "table_ptr": "*fp32", "out_ptr": "*fp32"}
    compiled = compile_kernel(
        rows_by_index_kernel, signature=pointers, constants={"BLOCK": 64}, target=host_target()
    )
    assert "gather" not in compiled.llir
