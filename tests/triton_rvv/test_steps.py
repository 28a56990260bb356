"""Quotients and remainders of a line, whose blocks cross multiples of the divisor anywhere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner

from triton_rvv import RVVTarget, compile_kernel

Integers = npt.NDArray[np.int32]


def _quotient(x: Integers, n: int) -> Integers:
    """Rounded toward zero."""
    return (np.sign(x) * (np.abs(x.astype(np.int64)) // n)).astype(np.int32)


@triton.jit
def value_kernel(q_ptr, r_ptr, nested_ptr, base, n, shift, c, K: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = base + i * K
    q = at // n
    r = at % n
    tl.store(q_ptr + i, q)
    tl.store(r_ptr + i, tl.where((r > 1) & (q < 9), r, -1).to(tl.int64))
    tl.store(nested_ptr + i, (q + shift) % c * 3 + (r + shift) // c)


@pytest.mark.parametrize(
    ("base", "n", "stride"),
    in_turn(
        [(-37, 17, 1), (5, 100, 123456789), (64, 32, 1), (5, 96, 2), (2**31 - 200, 64, 1)], turns=3
    ),
)
def test_values(run: KernelRunner, base: int, n: int, stride: int) -> None:
    at = (base + np.arange(256) * stride).astype(np.int32)
    q = _quotient(at, n)
    r = at - q * n
    nested = (q + 3) - _quotient(q + 3, 5) * 5
    nested = nested * 3 + _quotient(r + 3, 5)
    run(
        value_kernel,
        q_ptr=Expected(q),
        r_ptr=Expected(np.where((r > 1) & (q < 9), r, -1).astype(np.int64)),
        nested_ptr=Expected(nested),
        base=base, n=n, shift=3, c=5, K=stride, N=256,
    )  # fmt: skip


@triton.jit
def address_kernel(x_ptr, y_ptr, z_ptr, sum_ptr, n, rows, pitch, shift, total, N: tl.constexpr):
    i = tl.arange(0, N)
    row = i // n
    column = i % n
    mask = i < total
    x = tl.load(x_ptr + row % rows * n + (column + shift) % n, mask=mask, other=-7)
    tl.store(y_ptr + row * pitch + column, x, mask=mask)
    left = tl.load(x_ptr + row % rows * n + column - 1, mask=mask & (column > 0), other=100)
    tl.store(z_ptr + i, x + left, mask=mask)
    tl.store(sum_ptr, tl.sum(tl.load(x_ptr + i % n, mask=mask, other=0), 0))


@pytest.mark.parametrize(
    ("n", "shift"), in_turn([(17, 5), (1, 0), (64, 0), (96, 17), (300, 1)], turns=3)
)
def test_addresses(run: KernelRunner, n: int, shift: int) -> None:
    total, rows, pitch, size = 500, 3, n + 3, 512
    x = np.random.default_rng(1).integers(0, 1000, rows * n).astype(np.int32)
    row, column = np.divmod(np.arange(total), n)
    values = x[row % rows * n + (column + shift) % n]
    y = np.zeros((row[-1] + 1) * pitch, np.int32)
    y[row * pitch + column] = values
    z = np.zeros(size, np.int32)
    z[:total] = values + np.where(column > 0, x[np.maximum(row % rows * n + column - 1, 0)], 100)
    run(
        address_kernel,
        x_ptr=x,
        y_ptr=Expected(y, start=np.zeros_like(y)),
        z_ptr=Expected(z, start=np.zeros_like(z)),
        sum_ptr=Expected(np.array([x[column].sum()], np.int32)),
        n=n, rows=rows, pitch=pitch, shift=shift, total=total, N=size,
    )  # fmt: skip


@triton.jit
def in_place_kernel(x_ptr, n, pitch, total, N: tl.constexpr):
    i = tl.arange(0, N).to(tl.int64)
    at = x_ptr + i // n * pitch + i % n
    tl.store(at, tl.load(at, mask=i < total) * 2, mask=i < total)


def test_what_is_loaded_may_be_stored_there(run: KernelRunner) -> None:
    x = np.arange(40 * 20, dtype=np.int32)
    expected = x.copy()
    i = np.arange(600)
    places = i // 17 * 20 + i % 17
    expected[places] *= 2
    run(in_place_kernel, x_ptr=Expected(expected, start=x), n=17, pitch=20, total=600, N=1024)


@triton.jit
def widened_kernel(out_ptr, n, WIDTH: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, (i % WIDTH).to(tl.int64) // n * 100 + (i // WIDTH).to(tl.int64) % n)


def test_divisions_of_widened_results(run: KernelRunner) -> None:
    i = np.arange(256)
    run(widened_kernel, out_ptr=Expected(i % 96 // 7 * 100 + i // 96 % 7), n=7, WIDTH=96, N=256)


@triton.jit
def folded_kernel(x_ptr, out_ptr, n, pitch, TIMES: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i
    for _ in tl.static_range(TIMES):
        at = at // n * pitch + at % n
    tl.store(out_ptr + i, tl.load(x_ptr + at))


def test_divisions_of_sums_of_two(run: KernelRunner) -> None:
    """To follow each of them back to the first one would take twice as long for every step."""
    at = np.arange(256)
    for _ in range(12):
        at = at // 16 * 17 + at % 16
    x = np.arange(at.max() + 1, dtype=np.int32) * 3
    run(folded_kernel, x_ptr=x, out_ptr=Expected(x[at]), n=16, pitch=17, TIMES=12, N=256)


@triton.jit
def kept_kernel(x_ptr, joined_ptr, cat_ptr, n, shift, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x_ptr + (i % n + shift) % n)
    b = tl.load(x_ptr + (i % n + 2 * shift) % n)
    c = tl.load(x_ptr + (i % n + 3 * shift) % n)
    tl.store(x_ptr + i, a + b + c)
    i = tl.arange(0, 2 * N)
    tl.store(joined_ptr + i, tl.join(a, b).reshape(2 * N))
    tl.store(cat_ptr + i, tl.cat(b, c, can_reorder=True))


@pytest.mark.parametrize(("n", "shift"), in_turn([(17, 5), (255, 1), (100, 7)], turns=2))
def test_parts_stay_within_their_arrays(run: KernelRunner, n: int, shift: int) -> None:
    """Each part ends in a run of which a few lanes are wanted, as does the last one."""
    x, i = np.random.default_rng(6).integers(0, 1000, 256).astype(np.int32), np.arange(256)
    a, b, c = (x[(i % n + times * shift) % n] for times in (1, 2, 3))
    run(
        kept_kernel,
        x_ptr=Expected(a + b + c, start=x),
        joined_ptr=Expected(np.stack((a, b), 1).flatten()),
        cat_ptr=Expected(np.concatenate((b, c))),
        n=n, shift=shift, N=256,
    )  # fmt: skip


@triton.jit
def groups_kernel(
    x_ptr, y_ptr, n, G: tl.constexpr, K: tl.constexpr, FIRST: tl.constexpr, PITCH: tl.constexpr,
    IS_NESTED: tl.constexpr,
):  # fmt: skip
    """Numbers of groups, and places in them, along columns; and numbers of groups along rows."""
    row = tl.arange(0, 4)
    at = FIRST + tl.program_id(0) * 64 + tl.arange(0, 64)
    column = at * K // G + 8
    mask = (at < n)[None, :]
    x = tl.load(x_ptr + row[:, None] * PITCH + column[None, :], mask=mask, other=-1)
    x += 5 * tl.load(x_ptr + row[:, None] + (at * K % G)[None, :] + G, mask=mask, other=-2)
    if IS_NESTED:
        inner = (at * K % G // 3 + at * K // G % 5)[None, :]
        x += 11 * tl.load(x_ptr + row[:, None] + inner + G, mask=mask, other=-3)
    x += 7 * tl.load(x_ptr + (row * 16 * K // G)[:, None] * PITCH + tl.arange(0, 64)[None, :])
    place = (tl.program_id(0) * 4 + row[:, None]) * 64 + tl.arange(0, 64)[None, :]
    tl.store(y_ptr + place, x)


# The last ones begin in a group, cross groups anywhere, and have groups of four.
GROUPS = [(0, 32, 1), (64, 96, 1), (-64, 32, 1), (0, 32, 2), (5, 32, 1), (0, 32, 3), (0, 100, 1)]


@pytest.mark.parametrize(("first", "group", "stride"), GROUPS)
def test_groups_in_blocks(run: KernelRunner, first: int, group: int, stride: int) -> None:
    pitch, n = 64, first + 100
    x = np.random.default_rng(3).integers(0, 1000, 12 * pitch).astype(np.int32)
    row, at = np.arange(4)[:, None], first + np.arange(128)
    dividend = (at * stride).astype(np.int32)
    number = _quotient(dividend, group)
    rest = dividend - number * group
    y = np.where(at < n, x[row * pitch + number + 8], -1)
    y += 5 * np.where(at < n, x[row + rest + group], -2)
    inner = _quotient(rest, 3) + number - _quotient(number, 5) * 5
    y += 11 * np.where(at < n, x[row + inner + group], -3)
    by_row = x[row * 16 * stride // group * pitch + np.arange(128) % 64]
    y = (y + 7 * by_row).reshape(4, 2, 64).swapaxes(0, 1).astype(np.int32)
    run(
        groups_kernel, grid=(2,), x_ptr=x, y_ptr=Expected(y),
        n=n, G=group, K=stride, FIRST=first, PITCH=pitch, IS_NESTED=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "group", "is_gathered"), [("i32", 32, False), ("i8", 16, False), ("i32", 12, True)]
)
def test_groups_of_whole_runs_are_not_gathered(kind: str, group: int, is_gathered: bool) -> None:
    signature, known = {"x_ptr": f"*{kind}", "y_ptr": f"*{kind}", "n": "i32"}, {"n": 128}
    sizes = {"G": group, "K": 1, "FIRST": 0, "PITCH": 64, "IS_NESTED": False}
    compiled = compile_kernel(groups_kernel, signature, sizes, RVVTarget(), known, grid=(2, 1, 1))
    assert ("masked.gather" in compiled.lowered) == is_gathered


@triton.jit
def within_kernel(x_ptr, y_ptr, n, m, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i % n % m))


@pytest.mark.parametrize(("n", "m"), [(20, 64), (100, 40)])
def test_remainders_of_remainders(run: KernelRunner, n: int, m: int) -> None:
    """The inner one starts again where the outer one would go on."""
    x = np.random.default_rng(1).integers(0, 1000, 64).astype(np.int32)
    y = x[np.arange(256) % n % m]
    run(within_kernel, grid=(16,), x_ptr=x, y_ptr=Expected(y), n=n, m=m, N=16)
