"""Loads that several recipes are made from, and what was computed in code that was dropped."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel

N = 64
PLACES = np.arange(N, dtype=np.int32)
UNTOUCHED = np.full(N, -1, np.int32)


@triton.jit
def shared_mask_kernel(flag_ptr, first_ptr, second_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = (offsets < n) & (tl.load(flag_ptr + offsets) != 0)
    tl.store(first_ptr + offsets, offsets, mask=mask & (offsets > 2))
    tl.store(flag_ptr + offsets, offsets * 0)
    tl.store(second_ptr + offsets, offsets + 1, mask=mask)


def test_a_mask_keeps_its_flags_when_they_are_overwritten(run):
    inside = PLACES < 60
    run(
        shared_mask_kernel,
        flag_ptr=Expected(np.zeros(N, np.int32), start=np.ones(N, np.int32)),
        first_ptr=Expected(np.where(inside & (PLACES > 2), PLACES, -1), start=UNTOUCHED),
        second_ptr=Expected(np.where(inside, PLACES + 1, -1), start=UNTOUCHED),
        n=60,
        BLOCK=N,
    )


@triton.jit
def shared_rows_kernel(
    index_ptr, table_ptr, first_ptr, second_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    places = rows[:, None] * COLUMNS + columns[None, :]
    table = table_ptr + tl.load(index_ptr + rows)[:, None] * COLUMNS
    tl.store(first_ptr + places, tl.load(table + columns[None, :]))
    tl.store(index_ptr + rows, rows * 0)
    tl.store(second_ptr + places, tl.load(table + columns[None, :]) * 2)


def test_addresses_keep_their_index_when_it_is_overwritten(run):
    index = np.random.default_rng(0).permutation(8).astype(np.int32)
    table = np.arange(128, dtype=np.float32).reshape(8, 16)
    run(
        shared_rows_kernel,
        index_ptr=Expected(np.zeros(8, np.int32), start=index),
        table_ptr=table,
        first_ptr=Expected(table[index]),
        second_ptr=Expected(table[index] * 2),
        ROWS=8,
        COLUMNS=16,
    )


@triton.jit
def lowered_twice_kernel(x_ptr, sum_ptr, twice_ptr, turns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    start = tl.exp(tl.load(x_ptr + offsets))
    total, weight = start, offsets
    for _ in range(turns):
        total += weight.to(tl.float32)
        weight = weight * 2 + (offsets & 1)
    tl.store(sum_ptr + offsets, total)
    tl.store(twice_ptr + offsets, start * 2)


def test_a_costly_value_survives_a_loop_that_is_lowered_twice(run):
    total, weight = np.ones(N, np.float32), PLACES
    for _ in range(3):
        total, weight = total + weight, weight * 2 + (PLACES & 1)
    run(
        lowered_twice_kernel,
        x_ptr=np.zeros(N, np.float32),
        sum_ptr=Expected(total.astype(np.float32)),
        twice_ptr=Expected(np.full(N, 2, np.float32)),
        turns=3,
        BLOCK=N,
    )


@triton.jit
def carried_masks_kernel(output_ptr, n, turns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    inside, outside = (columns < n) & (rows < 3), (columns >= n) & (rows < 3)
    for _ in range(turns):
        inside, outside = outside, inside
    tl.store(output_ptr + rows * COLUMNS + columns, tl.where(inside, 1, 0))


@pytest.mark.parametrize(("vlen_bits", "turns"), in_turn([128, 256], [1, 2]))
def test_wide_blocks_of_truth_values_in_arrays(run, vlen_bits, turns):
    inside = np.arange(128)[None, :] < 100
    chosen = (inside if turns == 2 else ~inside) & (np.arange(4)[:, None] < 3)
    run(
        carried_masks_kernel,
        output_ptr=Expected(chosen.astype(np.int32)),
        n=100,
        turns=turns,
        ROWS=4,
        COLUMNS=128,
        vlen_bits=vlen_bits,
    )


@triton.jit
def overlapping_kernel(x_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    places = x_ptr + tl.arange(0, COLUMNS)[None, :] + tl.arange(0, ROWS)[:, None]
    tl.store(places, tl.load(places) + 1)


@triton.jit
def repeated_kernel(x_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    places = (x_ptr + tl.arange(0, COLUMNS)[None, :]) + tl.zeros((ROWS, 1), tl.int32)
    tl.store(places, tl.load(places) + 1)


@pytest.mark.parametrize(("kernel", "size"), [(overlapping_kernel, 47), (repeated_kernel, 32)])
def test_a_place_that_is_updated_several_times_is_read_once(run, kernel, size):
    x = np.zeros(size, np.float32)
    run(kernel, x_ptr=Expected(x + 1, start=x), ROWS=16, COLUMNS=32)


@triton.jit
def narrow_column_kernel(output_ptr, wide_ptr, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)[:, None] + tl.arange(0, 1)[None, :]
    tl.store(output_ptr + column, (column + 300).to(tl.int8).to(tl.int32))
    below = (column - 2).to(tl.uint32, bitcast=True)
    tl.store(wide_ptr + column, below.to(tl.uint64).to(tl.int64, bitcast=True))


def test_constants_change_their_width(run):
    places = np.arange(4)
    narrow = (places + 300).astype(np.uint8).view(np.int8).astype(np.int32)
    wide = (places - 2).astype(np.int32).view(np.uint32).astype(np.int64)
    run(narrow_column_kernel, output_ptr=Expected(narrow), wide_ptr=Expected(wide), BLOCK=4)


@triton.jit
def positive_kernel(output_ptr, base, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(output_ptr + offsets, offsets, mask=base + offsets > 0)


def test_a_sum_that_wraps_below_zero_is_not_positive(run):
    base = 2**31 - 10
    expected = np.where(PLACES < 10, PLACES, -1)
    run(positive_kernel, output_ptr=Expected(expected, start=UNTOUCHED), base=base, BLOCK=N)


@triton.jit
def pairs_kernel(index_ptr, table_ptr, first_ptr, second_ptr, n, BLOCK: tl.constexpr):
    """Addresses whose neighbours are asked for again, in part when the index has changed."""
    offsets = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offsets)
    place = index
    for bit in tl.static_range(6):
        place ^= ((index >> bit) & 1) << (5 - bit)
    pairs = table_ptr + 2 * place
    first = tl.load(pairs, mask=offsets < n)
    second = tl.load(pairs + 1, mask=offsets < n)
    tl.store(first_ptr + 2 * offsets, first, mask=offsets < n)
    tl.store(first_ptr + 2 * offsets + 1, second, mask=offsets < n)
    tl.store(index_ptr + offsets, offsets * 0)
    tl.store(second_ptr + offsets, tl.load(pairs + 2) + tl.load(pairs + 3))


def reversed_bits(index):
    flipped = sum(((index >> bit) & 1) << (5 - bit) for bit in range(6))
    return index ^ flipped


@pytest.mark.parametrize("n", in_turn([N, 50], turns=1))
def test_addresses_that_others_are_made_from_keep_their_index(run, n):
    index = np.random.default_rng(1).permutation(N).astype(np.int32)
    table = np.arange(2 * N + 2, dtype=np.float32) ** 2
    place = 2 * reversed_bits(index)
    pairs = np.stack([table[place], table[place + 1]], axis=1)
    pairs[n:] = -1
    run(
        pairs_kernel,
        index_ptr=Expected(np.zeros(N, np.int32), start=index),
        table_ptr=table,
        first_ptr=Expected(pairs.reshape(-1), start=np.full(2 * N, -1, np.float32)),
        second_ptr=Expected(table[place + 2] + table[place + 3]),
        n=n,
        BLOCK=N,
    )


@triton.jit
def once_again_kernel(table_ptr, y_ptr, AGAIN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = at
    for bit in tl.static_range(9):
        place ^= (at >> bit) * 3
    pairs = table_ptr + 2 * place
    tl.store(y_ptr + at, tl.load(pairs) + tl.load(pairs + 1))
    if AGAIN:
        tl.store(y_ptr + at * 5, tl.load(pairs + 2), mask=at < 900)


@pytest.mark.parametrize(("again", "arrays"), [(False, []), (True, ["i32"])])
def test_only_what_another_store_asks_for_is_kept(again, arrays):
    types, constants = {"table_ptr": "*fp32", "y_ptr": "*fp32"}, {"AGAIN": again, "BLOCK": 1024}
    compiled = compile_kernel(
        once_again_kernel, types, constants, RVVTarget(), disjoint_arguments=True
    )
    assert re.findall(r"alloca \[1024 x (i32|i64|ptr)\]", compiled.lowered) == arrays
