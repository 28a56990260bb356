"""Kernels as programs have them, for tests of captured launches."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < n
    summed = tl.load(x + places, mask=mask) + tl.load(y + places, mask=mask)
    tl.store(out + places, summed, mask=mask)


@triton.jit
def weighted_kernel(xs, out, sizes, BLOCK: tl.constexpr):
    n, weights = sizes
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    summed = tl.zeros([BLOCK], tl.float32)
    for number in tl.static_range(len(xs)):
        if xs[number] is not None:
            summed += weights[number] * tl.load(xs[number] + places, mask=places < n)
    tl.store(out + places, summed, mask=places < n)


@triton.jit
def blurred_kernel(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < n
    before, after = tl.load(x + places - 1, mask=mask), tl.load(x + places + 1, mask=mask)
    tl.store(out + places, (before + after) / 2, mask=mask)


@triton.jit
def scale_kernel(x, n, factor, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < n
    tl.store(x + places, tl.load(x + places, mask=mask) * factor, mask=mask)


@triton.jit
def total_kernel(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + places, mask=places < n, other=0.0).to(tl.float32)
    tl.atomic_add(out, tl.sum(values, 0))


@triton.jit
def narrow_sums_kernel(x, y, out, columns, BLOCK: tl.constexpr):
    """Sums of products in the type of `x`, written in that of `out`."""
    row = tl.program_id(0)
    sums = tl.zeros([BLOCK], x.dtype.element_ty)
    for start in range(0, columns, BLOCK):
        places = row * columns + start + tl.arange(0, BLOCK)
        sums += tl.load(x + places) * tl.load(y + places)
    tl.store(out + row, tl.sum(sums, 0).to(out.dtype.element_ty))


@triton.jit
def converted_sums_kernel(x, out, columns, BLOCK: tl.constexpr):
    """Exponentials beside a running maximum, converted to 16 bits as attention does."""
    row = tl.program_id(0)
    most, total = -float("inf"), 0.0
    for start in range(0, columns, BLOCK):
        part = tl.load(x + row * columns + start + tl.arange(0, BLOCK))
        new = tl.maximum(most, tl.max(part, 0))
        shares = tl.exp(part - new).to(tl.bfloat16).to(tl.float32)
        total = total * tl.exp(most - new) + tl.sum(shares, 0)
        most = new
    tl.store(out + row, total)


@triton.jit
def softmax_kernel(x, out, x_step, out_step, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    mask = places < columns
    values = tl.load(x + row * x_step + places, mask=mask, other=-float("inf")).to(tl.float32)
    powers = tl.exp(values - tl.max(values, 0))
    shares = powers / tl.sum(powers, 0)
    tl.store(out + row * out_step + places, shares.to(out.dtype.element_ty), mask=mask)


@triton.jit
def row_sums_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, columns, BLOCK):
        places = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + places, mask=places < columns, other=0.0)
        total += tl.sum(values, 0)
    tl.store(out + row, total)


@triton.jit
def partial_sums_kernel(x, parts, n, BLOCK: tl.constexpr):
    number = tl.program_id(0)
    places = number * BLOCK + tl.arange(0, BLOCK)
    tl.store(parts + number, tl.sum(tl.load(x + places, mask=places < n, other=0.0), 0))


@triton.jit
def matmul_kernel(
    a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    across = tl.cdiv(N, BLOCK_N)
    rows = (tl.program_id(0) // across) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = (tl.program_id(0) % across) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        left = tl.load(
            a + rows[:, None] * K + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b + inner[:, None] * N + columns[None, :],
            mask=(inner[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total += tl.dot(left, right)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(c.dtype.element_ty), mask=mask)


@triton.jit
def running_sum_kernel(x, out, n):
    for place in range(1, n):
        tl.store(out + place, tl.load(x + place - 1) + tl.load(x + place))


@triton.jit
def astray_kernel(x, out, n, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    tl.store(out + places, tl.load(x + places), mask=places < n)


@triton.jit
def gated_kernel(grad, a, b, columns, BLOCK: tl.constexpr):
    """Overwrites a and b with what both of them give."""
    row = tl.program_id(0) * columns
    for start in range(0, columns, BLOCK):
        places = start + tl.arange(0, BLOCK)
        mask = places < columns
        left = tl.load(a + row + places, mask=mask)
        right = tl.load(b + row + places, mask=mask)
        above = tl.load(grad + row + places, mask=mask)
        tl.store(a + row + places, above * right, mask=mask)
        tl.store(b + row + places, above * left, mask=mask)


@triton.jit
def nothing_kernel(x, n):
    tl.load(x + n)


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (64, 256)], key=["n"])
@triton.jit
def listed_kernel(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < n
    tl.store(out + places, 2 * tl.load(x + places, mask=mask), mask=mask)


@triton.jit
def described_kernel(x, out, N, BM: tl.constexpr, BN: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    places = (row + tl.arange(0, BM))[:, None] * N + (column + tl.arange(0, BN))[None, :]
    tl.store(out + places, 2 * x.load([row, column]))


@triton.jit
def stores_masked_kernel(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + places, 2 * tl.load(x + places), mask=places < n)


@triton.jit
def total_of_block_kernel(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, BLOCK))))


@triton.jit
def total_of_row_kernel(x, out, n, BLOCK: tl.constexpr):
    row, places = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * n + places, mask=places < n, other=0.0)))


@triton.jit
def halves_kernel(x, left, right, step, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = places < columns
    values = tl.load(x + row * columns + places, mask=mask)
    tl.store(left + row * step + places, values + 1, mask=mask)
    tl.store(right + row * step + places, values * 2, mask=mask)


@triton.jit
def neighbour_sums_kernel(x, out, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        places = start + tl.arange(0, BLOCK)
        before = tl.load(x + places - 1, mask=(places > 0) & (places < n), other=0.0)
        tl.store(out + places, before + tl.load(x + places, mask=places < n), mask=places < n)


@triton.jit
def mode_kernel(x, out, n, MODE: tl.constexpr, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + places, mask=places < n)
    if MODE == 1:
        values += 1
    tl.store(out + places, values, mask=places < n)


@triton.jit
def stepping_kernel(x, out, n, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at * step, mask=at < n), mask=at < n)


@triton.jit
def affine_kernel(x, weight, bias, at, out, n, BLOCK: tl.constexpr):
    """A small block leaves out the weight and the bias, which is a mistake."""
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < n
    values = tl.log(tl.load(x + tl.load(at + places, mask=mask), mask=mask))
    if BLOCK >= 128:
        values *= tl.load(weight + places, mask=mask)
    if BLOCK >= 64:
        values += tl.load(bias + places, mask=mask)
    tl.store(out + places, values, mask=mask)


@triton.jit
def halving_kernel(x, out, n, BLOCK: tl.constexpr):
    """Halves until all numbers are below 1; infinite ones never are."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    number = tl.load(x + at, mask=at < n, other=0.0)
    while tl.max(number) >= 1:
        number = number / 2
    tl.store(out + at, number, mask=at < n)


@triton.jit
def column_sums_kernel(x, out, STRIDE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rows = tl.arange(0, ROWS)
    values = tl.load(
        x + rows[:, None] * STRIDE + columns[None, :],
        mask=(rows[:, None] < 4) & (columns[None, :] < 64),
        other=0.0,
    )
    tl.store(out + columns, tl.sum(values, 0), mask=columns < 64)


@triton.jit
def turns_kernel(x, out, n, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    first = tl.program_id(0) * BLOCK * TURNS
    for turn in range(TURNS):
        places = first + turn * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + places, tl.load(x + places, mask=places < n) * 2, mask=places < n)


@triton.jit
def shared_out_kernel(
    x, out, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr, TURNS: tl.constexpr
):
    """Halves rows, which as many programs as there are share."""
    at, first, step = tl.arange(0, BLOCK), tl.program_id(0), tl.num_programs(0)
    for row in tl.range(first, rows, step, num_stages=STAGES, loop_unroll_factor=TURNS):
        values = tl.load(x + row * columns + at, mask=at < columns)
        tl.store(out + row * columns + at, values / 2, mask=at < columns)


@triton.jit
def row_totals_kernel(offsets, x, out, rows, LONGEST: tl.constexpr):
    """Of rows whose lengths the data tell."""
    row = tl.program_id(0)
    at = tl.load(offsets + row) + tl.arange(0, LONGEST)
    values = tl.load(x + at, mask=at < tl.load(offsets + row + 1), other=0.0)
    tl.store(out + row, tl.sum(values, 0))


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + places, tl.load(x + places, mask=places < n), mask=places < n)


@triton.jit
def bytes_kernel(x, out, n, factor, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    scaled = tl.load(x + places, mask=places < n) * factor
    tl.store(out + places, tl.floor(scaled + 0.5).to(tl.int8), mask=places < n)


@triton.jit
def batch_kernel(x, out, n, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    numbers = tl.load(x + tl.program_id(1) * STRIDE + places, mask=places < n)
    tl.store(out + tl.program_id(1) * STRIDE + places, 2 * numbers, mask=places < n)


@triton.jit
def taken_places_kernel(x, out, count, n, BLOCK: tl.constexpr):
    """Each program takes the next place, in the order in which they run."""
    place = tl.atomic_add(count, 1)
    lanes = tl.arange(0, BLOCK)
    block = tl.load(x + tl.program_id(0) * BLOCK + lanes)
    tl.store(out + place * BLOCK + lanes, block)


@triton.jit
def counted_kernel(x, out, count, n, BLOCK: tl.constexpr):
    """The order of its programs is of no matter, though each counts."""
    tl.atomic_add(count, 1)
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + places, tl.load(x + places, mask=places < n), mask=places < n)
