"""Lines that rows share and numbers of each row are computed once, and not for every run."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel


@triton.jit
def scaled_kernel(x_ptr, scale_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + columns)
    tl.store(y_ptr + rows * N + columns, x * tl.load(scale_ptr + rows * N + columns))


@triton.jit
def scaled_by_column_kernel(x_ptr, scale_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + columns)
    tl.store(y_ptr + rows * N + columns, x * tl.load(scale_ptr + columns))


@triton.jit
def dots_kernel(x_ptr, scale_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + columns)
    tl.store(y_ptr + tl.arange(0, M), tl.sum(x * tl.load(scale_ptr + columns), axis=1))


def _loads(kernel: object, rows: int) -> list[int]:
    """How many runs the code loads, wherever it does, of the first array and of the second."""
    pointers = dict.fromkeys(("x_ptr", "scale_ptr", "y_ptr"), "*fp32")
    llir = _compiled(kernel, pointers, {"M": rows, "N": 256})
    arguments = re.findall(r"(%\S+) = load ptr, ptr", llir)
    moved = dict(re.findall(r"(%\S+) = getelementptr \S+, ptr (%\S+),", llir))
    loaded = re.findall(r"= load <\d+ x float>, ptr (%[^\s,]+)", llir)
    origins = [_origin(address, moved) for address in loaded]
    return [origins.count(argument) for argument in arguments[:2]]


def _compiled(kernel: object, signature: dict[str, str], blocks: dict[str, int]) -> str:
    target = RVVTarget(vlen_bits=256)
    return compile_kernel(kernel, signature, blocks, target, disjoint_arguments=True).llir


def _origin(address: str, moved: dict[str, str]) -> str:
    while address in moved:
        address = moved[address]
    return address


@pytest.mark.parametrize("kernel", [scaled_by_column_kernel, dots_kernel])
def test_a_line_is_loaded_once_for_several_rows(kernel):
    of_rows, of_line = _loads(kernel, 8)
    assert of_rows == 4 * of_line > 0


@pytest.mark.parametrize(("kernel", "rows"), [(scaled_kernel, 8), (scaled_by_column_kernel, 1)])
def test_what_differs_from_row_to_row_is_loaded_for_each(kernel, rows):
    of_first, of_second = _loads(kernel, rows)
    assert of_first == of_second > 0


@triton.jit
def normalised_kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    at = rows[:, None] * N + columns[None, :]
    x = tl.load(x_ptr + at)
    inverse = 1 / tl.sqrt(tl.sum(x * x, axis=1) + 0.5)
    tl.store(y_ptr + at, x * inverse[:, None])


@pytest.mark.parametrize(("columns", "is_for_each_run"), [(256, False), (32, True)])
def test_costly_numbers_of_rows_are_computed_before_long_rows(columns, is_for_each_run):
    pointers = dict.fromkeys(("x_ptr", "y_ptr"), "*fp32")
    llir = _compiled(normalised_kernel, pointers, {"M": 8, "N": columns})
    assert ("@llvm.sqrt.f32" in llir) == is_for_each_run


def test_rows_that_are_normalised(run):
    x = np.random.default_rng(6).normal(size=(8, 256)).astype(np.float32)
    expected = x / np.sqrt((x.astype(np.float64) ** 2).sum(1, keepdims=True) + 0.5)
    y = Expected(expected.astype(np.float32), rtol=1e-5)
    run(normalised_kernel, x_ptr=x, y_ptr=y, M=8, N=256)


@triton.jit
def resampled_kernel(x_ptr, row_ptr, column_ptr, y_ptr, width, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    above = tl.minimum(tl.load(row_ptr + rows), 30)[:, None]
    left = tl.minimum(tl.load(column_ptr + columns), width - 2)[None, :]
    mask = (rows < M - 1)[:, None] & (columns < N - 3)[None, :]
    upper, lower = x_ptr + above * width, x_ptr + (above + 1) * width
    total = tl.load(upper + left, mask=mask) + tl.load(lower + left + 1, mask=mask)
    at = rows[:, None] * N + columns[None, :]
    tl.store(y_ptr + at, total * tl.load(column_ptr + columns)[None, :], mask=mask)


@pytest.mark.parametrize("vlen_bits", [128, 512])
def test_rows_and_columns_that_are_both_looked_up(run, vlen_bits):
    rng = np.random.default_rng(5)
    x = rng.integers(-99, 99, (32, 50)).astype(np.int32)
    rows, columns = (rng.integers(0, 60, size).astype(np.int32) for size in (8, 32))
    above, left = np.minimum(rows, 30)[:, None], np.minimum(columns, 48)[None, :]
    start = np.full((8, 32), -5, np.int32)
    expected = start.copy()
    total = (x[above, left] + x[above + 1, left + 1]) * columns
    expected[:7, :29] = total[:7, :29]
    run(
        resampled_kernel,
        x_ptr=x,
        row_ptr=rows,
        column_ptr=columns,
        y_ptr=Expected(expected, start=start),
        width=50,
        M=8,
        N=32,
        vlen_bits=vlen_bits,
    )


def test_gathers_have_one_address_for_each_row():
    pointers = dict.fromkeys(("x_ptr", "row_ptr", "column_ptr", "y_ptr"), "*i32")
    llir = _compiled(resampled_kernel, {**pointers, "width": "i32"}, {"M": 8, "N": 32})
    gathered = re.findall(r"masked\.gather\S+\(<\d+ x ptr> align 4 (%[^\s,]+)", llir)
    assert gathered
    for addresses in gathered:
        made = re.search(rf"{addresses} = getelementptr i32, (\S+) %", llir)
        assert made is not None
        assert made[1] == "ptr"
