"""Rows that are found by indices in memory are read and written along their columns."""

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.targets.host_target import host_target

pytestmark = pytest.mark.usefixtures("on_host")


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


@triton.jit
def divided_row_kernel(x_ptr, out_ptr, divisor, stride, steps, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    extra = (columns // divisor)[None, :]
    total = tl.zeros((1, BLOCK), tl.float32)
    for i in range(steps):
        total += tl.load(x_ptr + ((i * stride + columns)[None, :] + extra))
    tl.store(out_ptr + columns[None, :], total)


def test_offsets_that_a_loop_takes_from_an_array_lie_along_their_row():
    x, out = np.arange(64, dtype=np.float32), np.empty(16, np.float32)
    divided_row_kernel[(1,)](x, out, 3, 5, 4, BLOCK=16)
    columns = np.arange(16)
    wanted = sum(x[i * 5 + columns + columns // 3] for i in range(4))
    np.testing.assert_array_equal(out, wanted)


@triton.jit
def listed_rows_kernel(
    index_ptr, x_ptr, out_ptr, n_rows, n_columns, M: tl.constexpr, N: tl.constexpr
):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    index = tl.load(index_ptr + rows, mask=rows < n_rows, other=0)
    mask = (rows < n_rows)[:, None] & (columns < n_columns)[None, :]
    whole = tl.load(x_ptr + (index * n_columns)[:, None] + columns[None, :], mask=mask, other=-1)
    # The offset of the row is added to the pointer first, and the columns one tile at a time.
    pointers = x_ptr + (index[:, None] // 2) * n_columns
    for first in range(0, n_columns, N // 2):
        tile = first + tl.arange(0, N // 2)
        inside = (rows < n_rows)[:, None] & (tile < n_columns)[None, :]
        part = tl.load(pointers + tile[None, :], mask=inside, other=-2)
        tl.store(out_ptr + (M + rows[:, None]) * N + tile[None, :], part)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], whole)
    # Rows of a transposed block are gathered.
    turned = tl.load(x_ptr + (index * n_columns)[None, :] + columns[:, None], mask=tl.trans(mask))
    tl.store(out_ptr + 2 * M * N + columns[:, None] * M + rows[None, :], turned, tl.trans(mask))


@pytest.mark.parametrize(
    ("vlen_bits", "index_type", "sizes"),
    in_turn([128, 256, 512], [np.int32, np.int64], [((16, 32),), ((13, 27),), ((1, 17),)]),
)
def test_rows_that_are_listed(run, sizes, index_type, vlen_bits):
    (n_rows, n_columns), (m, n) = sizes, (16, 32)
    rng = np.random.default_rng(3)
    x = rng.integers(-999, 999, (40, n_columns)).astype(np.int32)
    index = rng.integers(0, 40, n_rows).astype(index_type)
    expected = np.zeros((3, m, n), np.int32)
    expected[0], expected[1] = -1, -2
    expected[0, :n_rows, :n_columns] = x[index]
    expected[1, :n_rows, :n_columns] = x[index // 2]
    turned = expected[2].reshape(n, m)
    turned[:n_columns, :n_rows] = x[index].T
    run(
        listed_rows_kernel,
        index_ptr=index,
        x_ptr=x,
        out_ptr=Expected(expected, start=np.zeros_like(expected)),
        n_rows=n_rows,
        n_columns=n_columns,
        M=m,
        N=n,
        vlen_bits=vlen_bits,
    )


@triton.jit
def add_to_rows_kernel(
    index_ptr, x_ptr, out_ptr, n_rows, n_columns, M: tl.constexpr, N: tl.constexpr
):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    index = tl.load(index_ptr + rows)
    where = out_ptr + index[:, None] * n_columns + columns[None, :]
    mask = (rows < n_rows)[:, None] & (columns < n_columns)[None, :]
    x = tl.load(x_ptr + rows[:, None] * n_columns + columns[None, :], mask=mask)
    tl.store(where, tl.load(where, mask=mask) + x, mask=mask)


@pytest.mark.parametrize("sizes", [(8, 64), (5, 41)])
def test_rows_that_are_listed_are_stored(run, sizes):
    (n_rows, n_columns), (m, n) = sizes, (8, 64)
    rng = np.random.default_rng(4)
    x = rng.integers(-999, 999, (n_rows, n_columns)).astype(np.int32)
    index = rng.permutation(20)[:m].astype(np.int32)
    start = rng.integers(-999, 999, (20, n_columns)).astype(np.int32)
    expected = start.copy()
    expected[index[:n_rows]] += x
    sizes = {"n_rows": n_rows, "n_columns": n_columns, "M": m, "N": n}
    out = Expected(expected, start=start)
    run(add_to_rows_kernel, index_ptr=index, x_ptr=x, out_ptr=out, **sizes)


@triton.jit
def wrapping_rows_kernel(index_ptr, x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    index = tl.load(index_ptr + rows)
    offsets = index[:, None] + columns[None, :]
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], offsets.to(tl.int64))
    # The kernel's own 32-bit sum wraps, and comes back into the array.
    near = offsets - 2147483647 + 15
    x = tl.load(x_ptr + near)
    tl.store(out_ptr + M * N + rows[:, None] * N + columns[None, :], x)


def test_sums_with_listed_rows_wrap(run):
    m, n = 4, 16
    x = np.arange(64, dtype=np.int64) + 100
    index = np.array([2147483647, 2147483640, 2147483633, 2147483632], np.int32)
    sums = index[:, None].astype(np.int64) + np.arange(n)
    wrapped = sums.astype(np.int32).astype(np.int64)
    near = (sums - 2147483647 + 15).astype(np.int32)
    out = Expected(np.stack([wrapped, x[near]]))
    run(wrapping_rows_kernel, index_ptr=index, x_ptr=x, out_ptr=out, M=m, N=n)


def test_listed_rows_are_not_gathered():
    types = {"index_ptr": "*i64", "x_ptr": "*i32", "out_ptr": "*i32"}
    sizes = {"n_rows": "i32", "n_columns": "i32"}
    compiled = compile_kernel(
        add_to_rows_kernel,
        signature={**types, **sizes},
        constants={"M": 8, "N": 64},
        target=host_target(),
    )
    assert "gather" not in compiled.llir
    assert "scatter" not in compiled.llir


@triton.jit
def rows_used_twice_kernel(
    index_ptr, x_ptr, y_ptr, out_ptr, last_ptr, M: tl.constexpr, N: tl.constexpr
):
    rows, columns = tl.arange(0, M), tl.arange(0, N)[None, :]
    index = tl.load(index_ptr + rows)
    offsets = index[:, None] * N
    total = tl.load(x_ptr + offsets + columns) + tl.load(y_ptr + offsets + columns)
    tl.store(out_ptr + rows[:, None] * N + columns, total)
    tl.store(index_ptr + rows, rows - rows - 7)
    tl.store(last_ptr + rows, index)


def test_indices_that_are_used_again_are_those_before_a_store(run):
    m, n = 1024, 4
    rng = np.random.default_rng(5)
    x, y = rng.integers(-999, 999, (2, 40, n)).astype(np.int32)
    index = rng.integers(0, 40, m).astype(np.int32)
    run(
        rows_used_twice_kernel,
        index_ptr=Expected(np.full(m, -7, np.int32), start=index),
        x_ptr=x,
        y_ptr=y,
        out_ptr=Expected(x[index] + y[index]),
        last_ptr=Expected(index),
        M=m,
        N=n,
    )


@triton.jit
def transposed_rows_kernel(index_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    index = tl.load(index_ptr + rows)
    pointers = tl.trans(out_ptr + (index[:, None] + (2 * rows[:, None] + columns[None, :] * 512)))
    values = columns[:, None] * 100 + rows[None, :]
    tl.store(pointers, values)
    tl.store(pointers + 1, -values)


def test_stores_to_listed_places_in_the_last_dimension(run):
    m, n = 16, 4
    index = (np.random.default_rng(6).permutation(m) * 24).astype(np.int32)
    expected = np.full(2048, 5, np.int32)
    rows, columns = np.arange(m), np.arange(n)[:, None]
    places, values = index + 2 * rows + columns * 512, columns * 100 + rows
    start = expected.copy()
    expected[places], expected[places + 1] = values, -values
    out = Expected(expected, start=start)
    run(transposed_rows_kernel, index_ptr=index, out_ptr=out, M=m, N=n)


@pytest.mark.parametrize("index_type", ["*i32", "*i64"])
def test_code_does_not_grow_with_the_rows_that_are_listed(index_type):
    names = rows_used_twice_kernel.arg_names[:5]
    types = dict.fromkeys(names, "*i32") | {"index_ptr": index_type}

    def size(m):
        constants = {"M": m, "N": 4}
        compiled = compile_kernel(rows_used_twice_kernel, types, constants, host_target())
        return compiled.lowered.count("\n")

    assert size(8192) == size(4096)


@triton.jit
def gathered_kernel(
    index_ptr, x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, TWICE: tl.constexpr
):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    offsets = tl.load(index_ptr + rows)[:, None] + (rows[:, None] + columns[None, :] * 512)
    x = tl.load(x_ptr + tl.trans(offsets))
    at = columns[:, None] * M + rows[None, :]
    tl.store(out_ptr + at, x)
    if TWICE:
        tl.store(out_ptr + 2 * M * N + 3 * at, x)


def test_what_is_used_twice_is_gathered_once():
    types = dict.fromkeys(["index_ptr", "x_ptr", "out_ptr"], "*i32")

    def gathers(twice):
        constants = {"M": 1024, "N": 4, "TWICE": twice}
        compiled = compile_kernel(
            gathered_kernel, types, constants, RVVTarget(), disjoint_arguments=True
        )
        return compiled.llir.count("@llvm.masked.gather")

    assert gathers(True) == gathers(False)
