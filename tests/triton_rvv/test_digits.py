"""Quotients and remainders by small powers of two, and the loads that they lead to."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner

from triton_rvv import RVVTarget, compile_kernel


@triton.jit
def digits_kernel(q_ptr, r_ptr, s_ptr, base, K: tl.constexpr, LOG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = base + i
    tl.store(q_ptr + i, at // K)
    tl.store(r_ptr + i, at % K * 100 + (at & (K - 1)))
    tl.store(s_ptr + i, (at >> LOG).to(tl.int64))


@pytest.mark.parametrize(
    ("base", "log"),
    in_turn([0, 8, 3, -37, 2**31 - 100], [1, 3]),
)
def test_values(run: KernelRunner, base: int, log: int) -> None:
    at, k = (base + np.arange(256)).astype(np.int32), 1 << log
    q = np.sign(at) * (np.abs(at.astype(np.int64)) // k)
    r = at - q * k
    run(
        digits_kernel,
        q_ptr=Expected(q.astype(np.int32)),
        r_ptr=Expected((r * 100 + (at & (k - 1))).astype(np.int32)),
        s_ptr=Expected((at >> log).astype(np.int64)),
        base=base, K=k, LOG=log, N=256,
    )  # fmt: skip


@triton.jit
def line_kernel(x_ptr, y_ptr, width, first, total, K: tl.constexpr, N: tl.constexpr):
    """Rows of any width, in which neighbours come from K planes by turns."""
    i = tl.program_id(0) * N + tl.arange(0, N)
    at = first + i
    row = at // width
    column = at % width
    plane = width * K
    source = row * (plane * K) + column % K * plane + column // K
    tl.store(y_ptr + i, tl.load(x_ptr + source, mask=i < total, other=7), mask=i < total)


@pytest.mark.parametrize(
    ("width", "k", "dtype"),
    in_turn([100, 33, 7, 64, 1, 400], [2, 4], [np.float32, np.uint8, np.int64], turns=3),
)
def test_lines_by_turns(run: KernelRunner, width: int, k: int, dtype: type) -> None:
    total, first = 611, 6
    at = first + np.arange(total)
    row, column = np.divmod(at, width)
    source = row * width * k * k + column % k * width * k + column // k
    x = np.random.default_rng(1).integers(0, 255, source.max() + 1).astype(dtype)
    run(
        line_kernel, grid=(3,),
        x_ptr=x, y_ptr=Expected(x[source]), width=width, first=first, total=total, K=k, N=256,
    )  # fmt: skip


def test_lines_by_turns_are_loaded_as_lines() -> None:
    """Whole ones, and the ends of others, as far as they are wanted."""
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "width": "i32", "first": "i32", "total": "i32"}
    constants = {"K": 2, "N": 256}
    compiled = compile_kernel(line_kernel, types, constants, RVVTarget(), disjoint_arguments=True)
    assert "vl1re32.v" in compiled.assembly
    assert "vle32.v" in compiled.assembly


@triton.jit
def shifted_kernel(x_ptr, y_ptr, first, second, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Quotients whose periods begin together, or never do."""
    at = tl.program_id(0) * N + tl.arange(0, N)
    total = tl.load(x_ptr + (at + first) // K) * 1000 + tl.load(x_ptr + (at + second) // M)
    tl.store(y_ptr + at, total)


@pytest.mark.parametrize(
    ("first", "second", "k", "m"), [(1, 0, 2, 2), (3, 1, 2, 4), (2, 3, 2, 4), (5, 0, 8, 4)]
)
def test_periods_that_begin_together_or_never(
    run: KernelRunner, first: int, second: int, k: int, m: int
) -> None:
    at, x = np.arange(256), np.arange(200, dtype=np.int32)
    y = x[(at + first) // k] * 1000 + x[(at + second) // m]
    run(
        shifted_kernel, grid=(2,),
        x_ptr=x, y_ptr=Expected(y), first=first, second=second, K=k, M=m, N=128,
    )  # fmt: skip


@triton.jit
def plane_kernel(
    x_ptr, y_ptr, rows, columns, pitch, K: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):
    """Each element K times in both directions; the left neighbour of each besides."""
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < columns)
    at = x_ptr + (r // K)[:, None] * pitch + (c // K)[None, :]
    x = tl.load(at, mask=inside, other=0)
    left = tl.load(at - 1, mask=inside & (c[None, :] >= K), other=0)
    tl.store(y_ptr + r[:, None] * columns + c[None, :], 2 * x - left, mask=inside)


@pytest.mark.parametrize(
    ("rows", "columns", "k", "block"),
    in_turn(
        [(5, 70), (16, 128), (1, 1), (9, 33), (17, 131)],
        [2, 4],
        [((8, 64),), ((1, 256),), ((4, 8),)],
        turns=3,
    ),
)
def test_planes(run: KernelRunner, rows: int, columns: int, k: int, block: tuple[int, int]) -> None:
    height, width = -(-rows // k), -(-columns // k)
    x = np.random.default_rng(2).integers(0, 1000, (height, width)).astype(np.int32)
    left = np.pad(x, ((0, 0), (1, 0)))[:, :-1]
    y = (2 * x - left).repeat(k, 0).repeat(k, 1)[:rows, :columns]
    grid = (-(-rows // block[0]), -(-columns // block[1]))
    run(
        plane_kernel, grid=grid,
        x_ptr=x, y_ptr=Expected(np.ascontiguousarray(y)),
        rows=rows, columns=columns, pitch=width, K=k, R=block[0], C=block[1],
    )  # fmt: skip


def test_repeated_elements_are_loaded_once() -> None:
    types = {"x_ptr": "*i32", "y_ptr": "*i32", "rows": "i32", "columns": "i32", "pitch": "i32"}
    constants = {"K": 2, "R": 8, "C": 64}
    compiled = compile_kernel(plane_kernel, types, constants, RVVTarget(), disjoint_arguments=True)
    assert "vrgather.vv" in compiled.assembly


@triton.jit
def unrolled_kernel(x_ptr, y_ptr, n, N: tl.constexpr):
    """A block of few runs, of which sums are taken before the rest is stored."""
    i = tl.arange(0, N)
    mask = i < n
    x = tl.load(x_ptr + i // 2, mask=mask, other=0)
    tl.store(y_ptr + i, x + tl.sum(x, 0) * (i & 1), mask=mask)


@pytest.mark.parametrize("n", in_turn([0, 32, 1, 31], turns=2))
def test_ends_of_short_blocks(run: KernelRunner, n: int) -> None:
    x = np.arange(1, n // 2 + 2, dtype=np.int32)
    i = np.arange(n)
    y = np.zeros(max(n, 1), np.int32)
    y[:n] = x[i // 2] + x[i // 2].sum() * (i & 1)
    run(unrolled_kernel, x_ptr=x, y_ptr=Expected(y, start=np.zeros_like(y)), n=n, N=32)


@triton.jit
def planes_in_turn_kernel(x_ptr, y_ptr, n, first, K: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    at = first + i
    x = tl.load(x_ptr + at // K + at % K * n, mask=at < n * K, other=0)
    tl.store(y_ptr + i, x)


@pytest.mark.parametrize("first", in_turn([0, 5, 1, 3], turns=2))
def test_periods_longer_than_runs(run: KernelRunner, first: int) -> None:
    """Of 64 bits, the shortest registers take fewer elements in a run than there are planes."""
    n, k, size = 40, 8, 64
    x = np.arange(1, n * k + 1)
    at = first + np.arange(n * k)
    y = np.where(at < n * k, x[np.minimum(at // k + at % k * n, n * k - 1)], 0)
    run(
        planes_in_turn_kernel, grid=(n * k // size,), vlen_bits=128,
        x_ptr=x, y_ptr=Expected(y), n=n, first=first, K=k, N=size,
    )  # fmt: skip


@triton.jit
def table_kernel(x_ptr, table_ptr, y_ptr, base, n, K: tl.constexpr, N: tl.constexpr):
    """Each row of some has its own line of a table, which its neighbours repeat."""
    row, column = tl.program_id(0), base + tl.arange(0, N)
    mask = column < n
    factor = tl.load(table_ptr + row % K * K + column % K)
    x = tl.load(x_ptr + row * n + column, mask=mask)
    tl.store(y_ptr + row * n + column, x * factor, mask=mask)


@pytest.mark.parametrize(
    ("k", "dtype", "base"),
    [(8, np.uint8, 0), (4, np.int64, 0), (8, np.float32, 0), (2, np.int16, 8), (8, np.uint8, 3)],
)
def test_a_small_table_is_read_again_and_again(
    run: KernelRunner, k: int, dtype: type[np.generic], base: int
) -> None:
    """Also where the first neighbour is not the table's first."""
    random, rows, columns = np.random.default_rng(7), 5, 119
    x = random.integers(0, 9, (rows, columns)).astype(dtype)
    table = random.integers(0, 9, (k, k)).astype(dtype)
    y = (x * np.tile(table, (rows, columns))[:rows, :columns]).astype(dtype)
    start = np.zeros_like(x)
    y[:, :base] = 0
    run(
        table_kernel, grid=(rows,), x_ptr=x, table_ptr=table, y_ptr=Expected(y, start=start),
        base=base, n=columns, K=k, N=128,
    )  # fmt: skip


def test_no_element_of_a_small_table_is_gathered() -> None:
    types = dict.fromkeys(("x_ptr", "table_ptr", "y_ptr"), "*i8") | {"base": "i32", "n": "i32"}
    known = {"base": 0, "n": 128}
    made = compile_kernel(
        table_kernel, types, {"K": 8, "N": 128}, RVVTarget.named("x60"), known=known, grid=(5, 1, 1)
    )
    assert {each.name: each.count for each in made.passes}["load-periods"] == 1
    assert "vlux" not in made.assembly


@triton.jit
def rest_by_product_kernel(x_ptr, y_ptr, z_ptr, first, K: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = first + i
    tl.store(y_ptr + i, tl.load(x_ptr + (at - at // K * K)))
    tl.store(z_ptr + i, tl.load(x_ptr + (at - at // K * (K - 1))))


def test_periods_of_places_that_rise_themselves(run: KernelRunner) -> None:
    """The path of whole periods, which begins behind a part of one, is as far on itself."""
    x, at, k = np.arange(100, dtype=np.int32), 3 + np.arange(128), 4
    run(
        rest_by_product_kernel, x_ptr=x, y_ptr=Expected(x[at % k]),
        z_ptr=Expected(x[at // k + at % k]), first=3, K=k, N=128,
    )  # fmt: skip
