"""Products by the X60's matrix unit whose sizes no tile divides, against exact integers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected, KernelRunner, as_argument

from launchers.objects import launcher_object
from triton_rvv.codegen.link import link_elf
from triton_rvv.lowering.products import matrix_columns
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.target import RVVTarget

TARGET = RVVTarget.named("x60-ime")
# Operands have 4 x 8 elements, tiles 12 x 16: rows in two tiles of 8; in two of 12 and one of 8. In
# the last block, what nobody wants is left out, and complete tiles are stored in the loop, which
# takes arguments that are known to be disjoint. Rows of the second are longer than a cache
# line. B lies by row or by column.
BLOCKS = [
    ((16, 32, 8), False, False),
    ((16, 32, 128), False, False),
    ((16, 32, 64), False, True),
    pytest.param((16, 4, 128), False, True, marks=pytest.mark.long),
    pytest.param((32, 64, 32), True, False, marks=pytest.mark.long),
    pytest.param((32, 64, 32), True, True, marks=pytest.mark.long),
]
SIGNATURE = {"sizes_ptr": "*i32", "a_ptr": "*i8", "b_ptr": "*i8", "c_ptr": "*i32"}


@triton.jit
def many_products_kernel(
    sizes_ptr, a_ptr, b_ptr, c_ptr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BY_COLUMN: tl.constexpr,
):  # fmt: skip
    """A product for each program; sizes: rows, columns, depth and where A, B and C begin."""
    sizes_ptr += tl.program_id(0) * 6
    m, n, k = tl.load(sizes_ptr), tl.load(sizes_ptr + 1), tl.load(sizes_ptr + 2)
    a_ptr += tl.load(sizes_ptr + 3)
    b_ptr += tl.load(sizes_ptr + 4)
    c_ptr += tl.load(sizes_ptr + 5)
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    for row in range(0, m, M):
        in_m = row + rows < m
        for column in range(0, n, N):
            in_n = column + columns < n
            total = tl.zeros((M, N), dtype=tl.int32)
            for first in range(0, k, K):
                in_k = first + depth < k
                a_ptrs = a_ptr + (row + rows)[:, None] * k + (first + depth)[None, :]
                b_ptrs = b_ptr + (first + depth)[:, None] * n + (column + columns)[None, :]
                if BY_COLUMN:
                    b_ptrs = b_ptr + (first + depth)[:, None] + (column + columns)[None, :] * k
                a = tl.load(a_ptrs, mask=in_m[:, None] & in_k[None, :], other=0)
                b = tl.load(b_ptrs, mask=in_k[:, None] & in_n[None, :], other=0)
                total = tl.dot(a, b, total, out_dtype=tl.int32)
            c_ptrs = c_ptr + (row + rows)[:, None] * n + (column + columns)[None, :]
            tl.store(c_ptrs, total, mask=in_m[:, None] & in_n[None, :])


def ragged_sizes(blocks: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """Every remainder of each size, with less than a block, with one and with two."""
    random = np.random.default_rng(20261126)
    found = []
    for axis, block in enumerate(blocks):
        for size in range(1, 2 * block + 2):
            sizes = random.integers(1, 2 * np.array(blocks) + 2)
            sizes[axis] = size
            m, n, k = map(int, sizes)
            found.append((m, n, k))
    return found


@pytest.mark.parametrize(("blocks", "disjoint", "by_column"), BLOCKS)
def test_every_remainder_is_exact(
    run: KernelRunner, tmp_path: Path,
    blocks: tuple[int, int, int], disjoint: bool, by_column: bool,
) -> None:  # fmt: skip
    random = np.random.default_rng(20261127)
    table = []
    factors: tuple[list[np.ndarray], ...] = ([], [], [])
    starts = [0, 0, 0]
    for m, n, k in ragged_sizes(blocks):
        a, b = (random.integers(-128, 128, shape, dtype=np.int8) for shape in ((m, k), (k, n)))
        table.append((m, n, k, *starts))
        stored = b.T if by_column else b
        for kept, array in zip(factors, (a, stored, a.astype(np.int32) @ b), strict=True):
            kept.append(array.reshape(-1))
        starts = [start + kept[-1].size for start, kept in zip(starts, factors, strict=True)]
    a, b, c = map(np.concatenate, factors)
    constants = {**dict(zip("MNK", blocks, strict=True)), "BY_COLUMN": by_column}
    kernel = compile_kernel(
        many_products_kernel, SIGNATURE, constants, TARGET, disjoint_arguments=disjoint
    )
    assert "smt.vmadot" in kernel.assembly
    (tmp_path / "kernel.o").write_bytes(kernel.object)
    link_elf([tmp_path / "kernel.o", launcher_object(TARGET)], tmp_path / "kernel.elf")
    values = {
        "sizes_ptr": np.array(table, np.int32),
        "a_ptr": a,
        "b_ptr": b,
        "c_ptr": Expected(c),
    }
    arguments = [as_argument(name, value) for name, value in values.items()]
    run.run_elf(tmp_path / "kernel.elf", arguments, (len(table),), TARGET)


@triton.jit
def wrapped_product_kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """Rows and columns behind the last ones wrap around."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + (rows % M)[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + (columns % N)[None, :])
    total = tl.dot(a, b, out_dtype=tl.int32)
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total, mask=mask)


@pytest.mark.parametrize("n", [48, 56, 50])
def test_columns_that_wrap_around_are_not_copied(
    run: KernelRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    """Whether their number is a multiple of a few or not: those that count do not wrap."""
    m, k = 40, 32
    constants = {"M": m, "N": n, "K": k, "BLOCK_M": 32, "BLOCK_N": 32}
    signature = {"a_ptr": "*i8", "b_ptr": "*i8", "c_ptr": "*i32"}
    in_place, pack = list[object](), matrix_columns._InRows.pack

    def noting(*args: Any) -> None:
        in_place.append(args)
        pack(*args)

    monkeypatch.setattr(matrix_columns._InRows, "pack", noting)
    kernel = compile_kernel(wrapped_product_kernel, signature, constants, TARGET)
    assert in_place
    (tmp_path / "kernel.o").write_bytes(kernel.object)
    link_elf([tmp_path / "kernel.o", launcher_object(TARGET)], tmp_path / "kernel.elf")
    random = np.random.default_rng(n)
    a, b = (random.integers(-128, 128, shape, dtype=np.int8) for shape in ((m, k), (k, n)))
    values = {"a_ptr": a, "b_ptr": b, "c_ptr": Expected(a.astype(np.int32) @ b)}
    arguments = [as_argument(name, value) for name, value in values.items()]
    run.run_elf(tmp_path / "kernel.elf", arguments, (2, 2, 1), TARGET)


@pytest.mark.parametrize(
    ("rows", "columns", "is_a_tile"), [(256, 64, True), (64, 512, False), (64, 64, False)]
)
def test_rows_are_put_in_order_a_tile_at_a_time_where_b_fills_the_cache_with_them_and_not_alone(
    rows: int, columns: int, is_a_tile: bool
) -> None:
    """32 KiB of L1D hold 64 columns of B, and not 512; loads reach 4 operands beyond the last."""
    constants = {"M": rows, "N": columns, "K": 128, "BY_COLUMN": False}
    kernel = compile_kernel(many_products_kernel, SIGNATURE, constants, TARGET)
    arrays = {int(size) for size in re.findall(r"alloca \[(\d+) x i8\]", kernel.llir)}
    assert (12 * 128 + 4 * 32 in arrays) == is_a_tile


@pytest.mark.parametrize("by_column", [False, True])
def test_nothing_behind_the_operands_is_read(
    run: KernelRunner, tmp_path: Path, by_column: bool
) -> None:
    """Behind each array lies memory that ends the program when it is touched."""
    constants = {"M": 32, "N": 32, "K": 32, "BY_COLUMN": by_column}
    kernel = compile_kernel(many_products_kernel, SIGNATURE, constants, TARGET)
    assert "smt.vmadot" in kernel.assembly
    (tmp_path / "kernel.o").write_bytes(kernel.object)
    link_elf([tmp_path / "kernel.o", launcher_object(TARGET)], tmp_path / "kernel.elf")
    random = np.random.default_rng(20261128)
    for m, n, k in [(5, 16, 16), (13, 32, 32), (31, 16, 48), (16, 5, 16), (16, 17, 9), (3, 3, 3)]:
        a, b = (random.integers(-128, 128, shape, dtype=np.int8) for shape in ((m, k), (k, n)))
        values = {
            "sizes_ptr": np.array([[m, n, k, 0, 0, 0]], np.int32),
            "a_ptr": a.reshape(-1),
            "b_ptr": (b.T if by_column else b).reshape(-1),
            "c_ptr": Expected((a.astype(np.int32) @ b).reshape(-1)),
        }
        arguments = [as_argument(name, value) for name, value in values.items()]
        run.run_elf(tmp_path / "kernel.elf", arguments, (1,), TARGET)
