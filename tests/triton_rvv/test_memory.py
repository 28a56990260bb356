"""Addresses of every form, masks, gathers, scatters and program ids."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-9999, 9999, shape).astype(np.int32)


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    index = tl.load(index_ptr + offsets)
    valid = (index >= 0) & (index < n)
    tl.store(out_ptr + offsets, tl.load(x_ptr + index, mask=valid, other=-1))
    tl.store(out_ptr + N + offsets, tl.load(x_ptr + (offsets * offsets) % n))
    tl.store(out_ptr + 2 * N + offsets, tl.load(x_ptr + offsets // 3))
    tl.store(out_ptr + 3 * N + offsets, tl.load(x_ptr + (N - 1 - offsets) // 2))


@pytest.mark.parametrize(
    ("vlen_bits", "index_type"), in_turn([128, 256, 1024], [np.int32, np.int64])
)
def test_gather(run, index_type, vlen_bits):
    n, size = 70, 64
    x = numbers(n)
    index = np.random.default_rng(1).integers(-20, n + 20, size).astype(index_type)
    i = np.arange(size)
    rows = [np.where((index >= 0) & (index < n), x[np.clip(index, 0, n - 1)], -1)]
    rows += [x[i * i % n], x[i // 3], x[(size - 1 - i) // 2]]
    out = Expected(np.stack(rows).astype(np.int32))
    run(gather_kernel, x_ptr=x, index_ptr=index, out_ptr=out, n=n, N=size, vlen_bits=vlen_bits)


@triton.jit
def scatter_kernel(x_ptr, index_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    index = tl.load(index_ptr + offsets)
    tl.store(out_ptr + index, x, mask=offsets < n)
    tl.store(out_ptr + N + (N - 1 - offsets), x)
    tl.store(out_ptr + 2 * N + offsets * 2, x + 1)


@pytest.mark.parametrize("vlen_bits", in_turn([128, 256, 1024], turns=1))
def test_scatter(run, vlen_bits):
    size, n = 64, 50
    x, index = numbers(size), np.random.default_rng(2).permutation(size).astype(np.int32)
    expected = np.full(4 * size, 77, np.int32)
    start = expected.copy()
    expected[index[:n]] = x[:n]
    expected[size : 2 * size] = x[::-1]
    expected[2 * size :: 2] = x + 1
    out = Expected(expected, start=start)
    run(scatter_kernel, x_ptr=x, index_ptr=index, out_ptr=out, n=n, N=size, vlen_bits=vlen_bits)


@triton.jit
def strided_kernel(
    x_ptr, x_first, out_ptr, out_first, m, n, xm, xn, om, on, M: tl.constexpr, N: tl.constexpr
):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    x = tl.load(x_ptr + x_first + rows[:, None] * xm + columns[None, :] * xn, mask=mask)
    tl.store(out_ptr + out_first + rows[:, None] * om + columns[None, :] * on, x, mask=mask)


STRIDES = {
    "rows": ((50, 1), (50, 1)),
    "padded": ((61, 1), (50, 1)),
    "transposed": ((50, 1), (1, 40)),
    "backwards": ((50, -1), (50, 1)),
    "upside down": ((-50, 1), (-50, 1)),
    "one row": ((0, 1), (50, 1)),
    "one column": ((1, 0), (50, 1)),
    "every third": ((150, 3), (1, 40)),
}


@pytest.mark.parametrize(
    ("specialised", "name"),
    in_turn([False, True], [*STRIDES]),
)
def test_strides(run, name, specialised):
    m, n = 37, 45
    (xm, xn), (om, on) = STRIDES[name]
    i, j = np.mgrid[:m, :n]
    flat = numbers(8000)
    # Negative strides start from the far end.
    x_at, out_at = ((i * a + j * b) for a, b in ((xm, xn), (om, on)))
    x_first, out_first = -min(x_at.min(), 0), -min(out_at.min(), 0)
    start = np.full(2000, -7, np.int32)
    expected = start.copy()
    expected[out_at + out_first] = flat[x_at + x_first]
    run(
        strided_kernel,
        x_ptr=flat,
        x_first=int(x_first),
        out_ptr=Expected(expected, start=start),
        out_first=int(out_first),
        **{"m": m, "n": n, "xm": xm, "xn": xn, "om": om, "on": on, "M": 8, "N": 16},
        grid=(5, 3),
        known=("xm", "xn", "om", "on") if specialised else (),
    )


@triton.jit
def wrapped_kernel(x_ptr, out_ptr, n, first, N: tl.constexpr):
    offsets = tl.arange(0, N)
    where = (first + offsets) % n
    tl.store(out_ptr + offsets, tl.load(x_ptr + where))
    tl.store(out_ptr + N + offsets, where)
    tl.store(out_ptr + 2 * N + offsets, tl.load(x_ptr + where, mask=where > 3, other=-1))
    tl.store(out_ptr + 3 * N + offsets, tl.load(x_ptr + where * 2 % n + offsets % 4))


@pytest.mark.parametrize("first", in_turn([0, 1000, 5, 36, 99, 100, 163], turns=4))
def test_offsets_that_wrap(run, first):
    n, size = 100, 64
    x = numbers(2 * n)
    i = np.arange(size)
    where = (first + i) % n
    rows = [x[where], where, np.where(where > 3, x[where], -1), x[where * 2 % n + i % 4]]
    out = Expected(np.stack(rows).astype(np.int32))
    run(wrapped_kernel, x_ptr=x, out_ptr=out, n=n, first=first, N=size)


@triton.jit
def wrapped_rows_kernel(x_ptr, out_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    rows = (tl.program_id(0) * M + tl.arange(0, M)) % m
    columns = (tl.program_id(1) * N + tl.arange(0, N)) % n
    x = tl.load(x_ptr + rows[:, None] * n + columns[None, :])
    place = (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * M * N
    inner = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + place + inner, x)


@pytest.mark.parametrize(
    "shape", in_turn([((10, 20),), ((1, 1),), ((3, 100),), ((64, 5),)], turns=2)
)
def test_rows_and_columns_that_wrap(run, shape):
    (m, n), (block_m, block_n), (grid_m, grid_n) = shape, (8, 16), (3, 3)
    x = numbers(m, n)
    rows, columns = np.arange(grid_m * block_m) % m, np.arange(grid_n * block_n) % n
    tiles = x[rows][:, columns].reshape(grid_m, block_m, grid_n, block_n).swapaxes(1, 2)
    out = Expected(np.ascontiguousarray(tiles))
    sizes = {"m": m, "n": n, "M": block_m, "N": block_n}
    run(wrapped_rows_kernel, x_ptr=x, out_ptr=out, **sizes, grid=(grid_m, grid_n))


@triton.jit
def three_dimensions_kernel(
    x_ptr, out_ptr, a_size, c_size, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr
):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    mask = (a < a_size)[:, None, None] & (c < c_size)[None, None, :]
    x = tl.load(x_ptr + a[:, None, None] * B * C + b[None, :, None] * C + c[None, None, :], mask)
    tl.store(out_ptr + c[None, None, :] * A * B + b[None, :, None] * A + a[:, None, None], x, mask)


@pytest.mark.parametrize("sizes", in_turn([((4, 32),), ((1, 1),), ((3, 21),)], turns=2))
def test_three_dimensions(run, sizes):
    x = numbers(4, 8, 32)
    start = np.zeros((32, 8, 4), np.int32)
    expected = start.copy()
    expected[: sizes[1], :, : sizes[0]] = x[: sizes[0], :, : sizes[1]].transpose(2, 1, 0)
    run(
        three_dimensions_kernel,
        x_ptr=x,
        out_ptr=Expected(expected, start=start),
        a_size=sizes[0],
        c_size=sizes[1],
        **{"A": 4, "B": 8, "C": 32},
    )


@triton.jit
def program_kernel(out_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    nx, ny, nz = tl.num_programs(0), tl.num_programs(1), tl.num_programs(2)
    place = ((z * ny + y) * nx + x) * 4
    tl.store(out_ptr + place, x + 10 * y + 100 * z)
    tl.store(out_ptr + place + 1, nx)
    tl.store(out_ptr + place + 2, ny)
    tl.store(out_ptr + place + 3, nz)


def test_program_ids_on_every_axis(run):
    nx, ny, nz = 5, 3, 2
    z, y, x = np.mgrid[:nz, :ny, :nx]
    cells = [x + 10 * y + 100 * z, *(np.full(x.shape, size) for size in (nx, ny, nz))]
    out = Expected(np.stack(cells, axis=-1).astype(np.int32))
    run(program_kernel, out_ptr=out, grid=(nx, ny, nz))


@triton.jit
def chosen_kernel(x_ptr, y_ptr, output_ptr, swap, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    pointers = tl.where(offsets % 3 == 0, x_ptr + offsets, y_ptr + offsets * 2)
    if swap > 0:
        pointers = y_ptr + offsets
    pointers += 1
    tl.store(output_ptr + offsets, tl.load(pointers, mask=offsets < BLOCK - 1, other=0))


def test_addresses_chosen_element_by_element(run):
    x, y = np.arange(17, dtype=np.int32), np.arange(100, 133, dtype=np.int32)
    places = np.arange(16)
    chosen = np.where(places % 3 == 0, x[places + 1], y[2 * places + 1])
    for swap, values in ((0, chosen), (1, y[places + 1])):
        expected = np.where(places < 15, values, 0).astype(np.int32)
        run(chosen_kernel, x_ptr=x, y_ptr=y, output_ptr=Expected(expected), swap=swap, BLOCK=16)


@triton.jit
def moving_kernel(x_ptr, y_ptr, output_ptr, turns, step, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    pointers = tl.where(offsets % 3 == 0, x_ptr + offsets, y_ptr + offsets)
    total = tl.zeros((BLOCK,), tl.int32)
    for _ in range(turns):
        total += tl.load(pointers)
        pointers += step
    tl.store(output_ptr + offsets, total)


def test_a_loop_moves_chosen_addresses(run):
    x, y = numbers(3, 20), numbers(3, 20, seed=1)
    expected = Expected(np.where(np.arange(16) % 3 == 0, x[:, :16], y[:, :16]).sum(0, np.int32))
    run(moving_kernel, x_ptr=x, y_ptr=y, output_ptr=expected, turns=3, step=20, BLOCK=16)
