"""Loops with a condition, and functions that end before their last line."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from qemu_kernels import Expected


@triton.jit
def early_kernel(x_ptr, y_ptr, output_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    first = tl.load(x_ptr + offsets)
    costly = tl.exp(first)
    place = tl.program_id(0) * BLOCK
    if place >= n:
        tl.store(y_ptr + place + offsets, costly)
        return
    tl.store(x_ptr + offsets, first + 1)
    tl.store(output_ptr + place + offsets, costly + first)


def test_a_program_may_return_early(run):
    x = np.linspace(-2, 2, 16, dtype=np.float32)
    changed = np.tile(np.float32(0), 48)
    # One program at a time runs, and each of the first two adds 1 to what the next one reads.
    starts = [x, x + 1, x + 2]
    output = np.full(48, -7, np.float32)
    for program in range(2):
        output[16 * program :][:16] = np.exp(starts[program]) + starts[program]
    changed[32:] = np.exp(starts[2])
    run(
        early_kernel,
        x_ptr=Expected(x + 2, start=x, atol=1e-6),
        y_ptr=Expected(changed, start=np.zeros(48, np.float32), rtol=1e-6),
        output_ptr=Expected(output, start=np.full(48, -7, np.float32), rtol=1e-6),
        n=32,
        BLOCK=16,
        grid=(3,),
    )


@triton.jit
def while_kernel(x_ptr, count_ptr, output_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    rows = x_ptr + offsets
    total = tl.zeros((BLOCK,), tl.float32)
    largest = tl.full((BLOCK,), -1e30, tl.float32)
    count = tl.load(count_ptr)
    turn = 0
    while turn < count:
        row = tl.load(rows)
        total, largest = total + row, tl.maximum(largest, row)
        rows += BLOCK
        turn += 1
    tl.store(output_ptr + offsets, total)
    tl.store(output_ptr + BLOCK + offsets, largest + turn)


def test_a_while_loop_carries_scalars_blocks_and_addresses(run):
    x = np.random.default_rng(0).standard_normal((6, 32), dtype=np.float32)
    for count in (0, 1, 5):
        rows = x[:count]
        largest = rows.max(0) if count else np.full(32, -1e30, np.float32)
        expected = np.stack([rows.sum(0), largest + count]).astype(np.float32)
        run(
            while_kernel,
            x_ptr=x,
            count_ptr=np.array([count], np.int32),
            output_ptr=Expected(expected, atol=1e-5),
            BLOCK=32,
        )


@triton.jit
def where_largest_kernel(x_ptr, place_ptr, value_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])
    value, place = tl.max(x, axis=1, return_indices=True)
    tl.store(place_ptr + rows, place)
    tl.store(value_ptr + rows, value)
    tl.store(place_ptr + ROWS + columns, tl.argmin(x, axis=0))


def test_the_place_of_the_largest_and_of_the_smallest(run):
    for columns in (2, 16, 64):
        x = np.random.default_rng(columns).integers(-3, 3, (8, columns)).astype(np.float32)
        # The first of equals wins.
        places = np.concatenate([x.argmax(1), x.argmin(0)]).astype(np.int32)
        run(
            where_largest_kernel,
            x_ptr=x,
            place_ptr=Expected(places),
            value_ptr=Expected(x.max(1)),
            ROWS=8,
            COLUMNS=columns,
        )


@triton.jit  # noqa: RET503 # otherwise it returns nothing, on purpose
def _only_if(value, condition: tl.constexpr):
    result = condition
    if result:
        return value


@triton.jit
def undefined_kernel(output_ptr, n, BLOCK: tl.constexpr):
    nowhere, block = _only_if(output_ptr, False), _only_if(tl.arange(0, BLOCK), False)
    tl.store(output_ptr, _only_if(n, False) * 0 + 7)
    if n > 1:
        tl.store(nowhere, 1)
        tl.store(output_ptr + tl.arange(0, BLOCK), block)


def test_what_a_function_does_not_return_may_go_unused(run):
    """Addresses and blocks among it."""
    output = np.array([7, 2, 3, 4], np.int32)
    start = np.array([1, 2, 3, 4], np.int32)
    run(undefined_kernel, output_ptr=Expected(output, start=start), n=1, BLOCK=4)
