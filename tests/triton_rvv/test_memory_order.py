"""Loads and stores of the same places: each sees what the program order says."""

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
def load_before_store_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    before = tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, before * 2)
    after = tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, offsets)
    tl.store(out_ptr + offsets, before)
    tl.store(out_ptr + N + offsets, after)


@pytest.mark.parametrize("size", [16, 512])
def test_a_load_holds_what_was_there_before_a_store(run, size):
    x = numbers(size)
    changed = Expected(np.arange(size, dtype=np.int32), start=x)
    run(load_before_store_kernel, x_ptr=changed, out_ptr=Expected(np.stack([x, x * 2])), N=size)


@triton.jit
def copied_before_store_kernel(x_ptr, places_ptr, out_ptr, N: tl.constexpr):
    """The elements of a load are moved before the store, and used as they are after it."""
    offsets = tl.arange(0, N)
    before = tl.load(x_ptr + offsets)
    moved = tl.gather(before, tl.load(places_ptr + offsets), 0)
    tl.store(x_ptr + offsets, before * 2)
    tl.store(out_ptr + offsets, moved)
    tl.store(out_ptr + N + offsets, before)


@pytest.mark.parametrize("size", [16, 1024])
def test_a_load_that_was_gathered_from_holds_what_was_there_before_a_store(run, size):
    x, places = numbers(size), np.random.default_rng(1).permutation(size).astype(np.int32)
    run(
        copied_before_store_kernel,
        x_ptr=Expected(x * 2, start=x),
        places_ptr=places,
        out_ptr=Expected(np.stack([x[places], x])),
        N=size,
    )


@triton.jit
def shift_kernel(x_ptr, distance, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(x_ptr + offsets + distance, tl.load(x_ptr + offsets))


@pytest.mark.parametrize("size", [8, 64, 1024])
def test_shifted_copy_in_place(run, size):
    for distance in (1, 3, size // 2):
        x = numbers(size + distance)
        shifted = x.copy()
        shifted[distance:] = x[:size]
        run(shift_kernel, x_ptr=Expected(shifted, start=x), distance=distance, N=size)


@triton.jit
def reverse_kernel(x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(x_ptr + N - 1 - offsets, tl.load(x_ptr + offsets))


@pytest.mark.parametrize("size", [8, 64, 1024])
def test_reversal_in_place(run, size):
    x = numbers(size)
    run(reverse_kernel, x_ptr=Expected(x[::-1].copy(), start=x), N=size)


@triton.jit
def transpose_kernel(x_ptr, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(x_ptr + j * N + i, tl.load(x_ptr + i * N + j))


@pytest.mark.parametrize("size", [4, 16, 64])
def test_transposition_in_place(run, size):
    x = numbers(size, size)
    run(transpose_kernel, x_ptr=Expected(x.T.copy(), start=x), N=size)


@triton.jit
def swap_kernel(x_ptr, y_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    tl.store(x_ptr + offsets, y)
    tl.store(y_ptr + offsets, x)


@pytest.mark.parametrize("size", [8, 1024])
def test_swap(run, size):
    x, y = numbers(size, seed=1), numbers(size, seed=2)
    run(swap_kernel, x_ptr=Expected(y, start=x), y_ptr=Expected(x, start=y), N=size)


@triton.jit
def neighbours_kernel(x_ptr, N: tl.constexpr):
    offsets = 1 + tl.arange(0, N)
    left, right = tl.load(x_ptr + offsets - 1), tl.load(x_ptr + offsets + 1)
    tl.store(x_ptr + offsets, left + right)


@pytest.mark.parametrize("size", [8, 256])
def test_stencil_in_place(run, size):
    x = numbers(size + 2)
    expected = x.copy()
    expected[1:-1] = x[:-2] + x[2:]
    run(neighbours_kernel, x_ptr=Expected(expected, start=x), N=size)


@triton.jit
def index_then_change_kernel(index_ptr, x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    index = tl.load(index_ptr + offsets)
    tl.store(index_ptr + offsets, 0 * offsets)
    tl.store(out_ptr + offsets, tl.load(x_ptr + index))


def test_loaded_indices_outlive_a_change_of_their_array(run):
    x, index = numbers(128), np.random.default_rng(3).permutation(128).astype(np.int32)
    run(
        index_then_change_kernel,
        index_ptr=Expected(np.zeros(128, np.int32), start=index),
        x_ptr=x,
        out_ptr=Expected(x[index]),
        N=128,
    )


@triton.jit
def permute_in_place_kernel(index_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(x_ptr + tl.load(index_ptr + offsets), tl.load(x_ptr + offsets))


def test_permutation_in_place(run):
    x, index = numbers(128), np.random.default_rng(4).permutation(128).astype(np.int32)
    expected = np.empty_like(x)
    expected[index] = x
    run(permute_in_place_kernel, index_ptr=index, x_ptr=Expected(expected, start=x), N=128)


@triton.jit
def offset_in_place_kernel(index_ptr, x_ptr, N: tl.constexpr):
    at = x_ptr + tl.arange(0, N)
    tl.store(at + tl.load(index_ptr + tl.arange(0, N)), tl.load(at))


@pytest.mark.parametrize("size", [16, 1024])
def test_reversal_in_place_by_loaded_offsets(run, size):
    x, at = numbers(size), np.arange(size, dtype=np.int32)
    reversed_x = Expected(x[::-1].copy(), start=x)
    run(offset_in_place_kernel, index_ptr=size - 1 - 2 * at, x_ptr=reversed_x, N=size)


@triton.jit
def widen_in_place_kernel(x_ptr, N: tl.constexpr):
    bytes_ptr = x_ptr.to(tl.pointer_type(tl.int8), bitcast=True)
    at = tl.arange(0, N)
    tl.store(x_ptr + at, tl.load(bytes_ptr + at).to(tl.int32))


@pytest.mark.parametrize("size", [16, 1024])
def test_elements_of_two_sizes_in_place(run, size):
    x = numbers(size)
    expected = x.view(np.int8)[:size].astype(np.int32)
    run(widen_in_place_kernel, x_ptr=Expected(expected, start=x), N=size)


@triton.jit
def _sum_and_difference(a, b):
    return a + b, a - b


@triton.jit
def map_in_place_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    total, difference = tl.map_elementwise(_sum_and_difference, x, y)
    tl.store(x_ptr + at, total)
    tl.store(y_ptr + at, difference)


@pytest.mark.parametrize("size", [16, 1024])
def test_two_results_of_a_function_in_place(run, size):
    x, y = numbers(size, seed=1), numbers(size, seed=2)
    after = {"x_ptr": Expected(x + y, start=x), "y_ptr": Expected(x - y, start=y)}
    run(map_in_place_kernel, **after, N=size)


@triton.jit
def two_sinks_kernel(x_ptr, out_ptr, sum_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    y = tl.exp(x) + x
    tl.store(sum_ptr, tl.sum(y))
    tl.store(x_ptr + offsets, y * 0)
    tl.store(out_ptr + offsets, y)
    tl.store(out_ptr + N + offsets, y + x)


@pytest.mark.parametrize("size", [8, 512])
def test_values_with_several_uses(run, size):
    x = np.random.default_rng(5).standard_normal(size).astype(np.float32)
    y = np.exp(x.astype(np.float64)) + x
    run(
        two_sinks_kernel,
        x_ptr=Expected(np.zeros(size, np.float32), start=x),
        out_ptr=Expected(np.stack([y, y + x]).astype(np.float32), rtol=1e-6, atol=1e-6),
        sum_ptr=Expected(np.array([y.sum()], np.float32), rtol=1e-5),
        N=size,
    )


@triton.jit
def scalar_hazard_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    first = tl.load(x_ptr)
    tl.store(x_ptr + 3, 1000)
    tl.store(out_ptr + offsets, x + first + tl.load(x_ptr + 3))


def test_scalar_stores_between_a_load_and_its_use(run):
    x = numbers(64)
    changed = x.copy()
    changed[3] = 1000
    out = Expected(x + x[0] + 1000)
    run(scalar_hazard_kernel, x_ptr=Expected(changed, start=x), out_ptr=out, N=64)


@triton.jit
def used_again_kernel(x_ptr, y_ptr, total_ptr, twice_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + N - 1 - offsets, x + 1)
    tl.store(total_ptr, tl.sum(x))
    tl.store(twice_ptr + offsets, 2 * x)


@pytest.mark.parametrize("size", [16, 2048])
def test_a_load_that_is_used_again_after_stores(run, size):
    x = numbers(size)
    run(
        used_again_kernel,
        x_ptr=x,
        y_ptr=Expected(x[::-1] + 1),
        total_ptr=Expected(np.array([x.sum()], np.int32)),
        twice_ptr=Expected(2 * x),
        N=size,
    )


@triton.jit
def used_again_in_place_kernel(x_ptr, twice_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    total = tl.sum(x)
    tl.store(x_ptr + offsets, offsets)
    tl.store(x_ptr, total)
    tl.store(twice_ptr + offsets, 2 * x)


@pytest.mark.parametrize("size", [16, 2048])
def test_a_load_that_is_used_again_after_its_place_has_changed(run, size):
    x, changed = numbers(size), np.arange(size, dtype=np.int32)
    changed[0] = x.sum()
    run(
        used_again_in_place_kernel,
        x_ptr=Expected(changed, start=x),
        twice_ptr=Expected(2 * x),
        N=size,
    )


@triton.jit
def kept_kernel(x_ptr, row_ptr, column_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    costly = tl.load(x_ptr + at) // 7
    tl.store(row_ptr + tl.arange(0, M), tl.sum(costly, axis=1))
    tl.store(column_ptr + tl.arange(0, N), tl.max(costly, axis=0))
    tl.store(out_ptr + at, costly + 1)


@pytest.mark.parametrize(
    ("vlen_bits", "m", "n"),
    in_turn([128, 256, 512], [(1, 512), (4, 4), (64, 2), (8, 256)]),
)
def test_a_costly_block_is_kept_while_it_is_summed(run, vlen_bits, m, n):
    x = np.abs(numbers(m, n))
    costly = x // 7
    run(
        kept_kernel,
        vlen_bits=vlen_bits,
        x_ptr=x,
        row_ptr=Expected(costly.sum(axis=1, dtype=np.int32)),
        column_ptr=Expected(costly.max(axis=0)),
        out_ptr=Expected(costly + 1),
        M=m,
        N=n,
    )


@triton.jit
def add_one_kernel(x_ptr, start, row, column, M: tl.constexpr, N: tl.constexpr):
    places = start + tl.arange(0, M)[:, None] * row + tl.arange(0, N)[None, :] * column
    tl.store(x_ptr + places, tl.load(x_ptr + places) + 1)


@triton.jit
def add_one_along_kernel(x_ptr, start, stride, n, N: tl.constexpr):
    places = start + tl.arange(0, N) * stride
    mask = tl.arange(0, N) < n
    tl.store(x_ptr + places, tl.load(x_ptr + places, mask=mask) + 1, mask=mask)


def incremented(x, places):
    """All elements of a block are loaded before one is stored."""
    after = x.copy()
    after[places] = x[places] + 1
    return Expected(after, start=x)


# Shared by all rows or columns, by windows that overlap, by both directions, and by none.
STRIDES = [
    (0, 1),
    (1, 0),
    (0, 0),
    (1, 1),
    (3, 1),
    (1, 3),
    (127, 1),
    (128, 1),
    (1, 17),
    (-3, 1),
    (5, -2),
]


@pytest.mark.parametrize(
    ("known", "row", "column"), in_turn([((),), (("row", "column"),)], STRIDES)
)
def test_places_that_lanes_share_by_run_time_strides(run, row, column, known):
    m, n, start = 16, 128, 1024
    places = start + row * np.arange(m)[:, None] + column * np.arange(n)
    run(
        add_one_kernel, known=known,
        x_ptr=incremented(numbers(4096), places), start=start, row=row, column=column, M=m, N=n,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("stride", "n"), [(0, 1024), (0, 1), (1, 1001), (-1, 1024), (2, 600), (-3, 17)]
)
def test_places_that_lanes_share_along_a_row(run, stride, n):
    start = 2048
    places = start + stride * np.arange(n)
    run(
        add_one_along_kernel,
        x_ptr=incremented(numbers(4096), places), start=start, stride=stride, n=n, N=1024,
    )  # fmt: skip


@pytest.mark.parametrize("seed", in_turn(range(12), turns=4))
def test_places_by_random_strides(run, seed):
    draw = np.random.default_rng(seed)
    row, column = (int(draw.integers(-limit, limit + 1)) for limit in draw.permutation([3, 130]))
    start = 16384
    places = start + row * np.arange(16)[:, None] + column * np.arange(128)
    run(
        add_one_kernel,
        x_ptr=incremented(numbers(2 * start, seed=seed), places),
        start=start, row=row, column=column, M=16, N=128,
    )  # fmt: skip


@triton.jit
def accumulate_kernel(a_ptr, b_ptr, c_ptr, row, column, M: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, M)[None, :]
    places = c_ptr + rows * row + columns * column
    before = tl.load(places)
    a, b = tl.load(a_ptr + rows * M + columns), tl.load(b_ptr + rows * M + columns)
    tl.store(places, before + tl.dot(a, b))


@pytest.mark.parametrize(("row", "column"), [(32, 1), (1, 32), (0, 0)])
def test_a_product_added_to_places_that_lanes_share(run, row, column):
    """All elements of the product are one number, so the order of stores does not matter."""
    size = 32
    ones = np.ones((size, size), np.float32)
    places = row * np.arange(size)[:, None] + column * np.arange(size)
    before = np.random.default_rng(3).integers(0, 9, size * size).astype(np.float32)
    after = before.copy()
    after[places] = before[places] + size
    run(
        accumulate_kernel,
        a_ptr=ones, b_ptr=ones, c_ptr=Expected(after, start=before), row=row, column=column, M=size,
    )  # fmt: skip
