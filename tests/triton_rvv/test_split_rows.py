"""Rows that begin at columns of their own, of blocks in which columns have a limit."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner
from test_split_blocks import kernel_of

from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.lowering.ttir.split_rows import split_rows

TYPES = {"x_ptr": "*i32", "shift_ptr": "*i32", "out_ptr": "*i32", "far": "i32"}


@triton.jit
def rows_kernel(
    x_ptr, shift_ptr, out_ptr, M, N, far, R: tl.constexpr, C: tl.constexpr, KIND: tl.constexpr
):
    row = tl.program_id(0) * R + tl.arange(0, R)
    i = tl.arange(0, C)
    inside = (row < M)[:, None] & (i < N)[None, :]
    shift = tl.load(shift_ptr + row, mask=row < M, other=0)
    if KIND == "turned":
        at = (i[None, :] + shift[:, None]) % N
    elif KIND == "mirrored":
        at = tl.abs(row[:, None] * 3 + i[None, :] - far)
        at = tl.where(at >= N, 2 * N - 2 - at, at)
    elif KIND == "own ends":
        at = tl.minimum(i[None, :] + 1, shift[:, None])
    elif KIND == "limited numbers":
        at = tl.load(shift_ptr + row[:, None] * 0 + i[None, :] % 4, mask=inside, other=0)
        at = tl.minimum(at + row[:, None], N - 1)
    elif KIND == "of all rows":
        at = tl.minimum(i + far, N - 1)[None, :] + 0 * row[:, None]
    else:
        at = tl.where(inside & (shift > 2)[:, None], row[:, None] + i[None, :], 0)
        at = tl.where(at < N, at, 0) if KIND == "by masks, limited" else at
    x = tl.load(x_ptr + at, mask=inside, other=-7)
    if KIND == "columns":
        tl.store(out_ptr + i, tl.sum(x, axis=0), mask=i < N)
    else:
        tl.store(out_ptr + row[:, None] * N + i[None, :], x * (1 + row)[:, None], mask=inside)


@triton.jit
def turns_kernel(
    x_ptr, line_ptr, out_ptr, M, N, hop, R: tl.constexpr, C: tl.constexpr, KIND: tl.constexpr
):
    row = tl.program_id(0) * R + tl.arange(0, R)
    sums, total = tl.zeros((R,), tl.int32), tl.zeros((R, C), tl.int32)
    for start in range(0, N, C):
        i = start + tl.arange(0, C)
        inside = (row < M)[:, None] & (i < N)[None, :]
        at = row[:, None] * hop + i[None, :]
        at = tl.where(at >= N, at - N, at)
        line = tl.load(line_ptr + i, mask=i < N, other=0)
        x = tl.load(x_ptr + at, mask=inside, other=0) * line[None, :]
        if KIND == "stored":
            tl.store(out_ptr + row[:, None] * N + i[None, :], x, mask=inside)
        elif KIND == "added up":
            total += x
        else:
            sums += tl.sum(x, axis=1)
    if KIND != "stored":
        tl.store(out_ptr + row, sums + tl.sum(total, axis=1), mask=row < M)


@pytest.mark.parametrize("kind", ["stored", "added up", "summed"])
def test_rows_are_split_in_a_turn_or_around_a_loop(kind: str, run: KernelRunner) -> None:
    """Rows that are summed in each turn stay together."""
    kernel = kernel_of(
        turns_kernel, {"R": 4, "C": 64, "KIND": kind}, {**TYPES, "line_ptr": "*i32", "hop": "i32"}
    )
    assert split_rows(kernel) == (kind != "summed")
    verify(kernel.module)
    loops = [each for each in kernel.module.walk() if each.name == "scf.for"]
    carried = [len(each.results) for each in loops]
    assert carried == {"stored": [0, 0], "added up": [0, 1], "summed": [1]}[kind]
    rows, size, hop = 6, 100, 17
    generator = np.random.default_rng(7)
    x, line = (generator.integers(0, 1000, size).astype(np.int32) for _ in range(2))
    out = x[(np.arange(rows)[:, None] * hop + np.arange(size)) % size] * line
    run(
        turns_kernel, x_ptr=x, line_ptr=line,
        out_ptr=Expected(out if kind == "stored" else out.sum(1, dtype=np.int32)),
        M=rows, N=size, hop=hop, R=4, C=64, KIND=kind, grid=(2,),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "shape", "disjoint", "fires"),
    [
        ("turned", (4, 64), True, True),
        ("mirrored", (8, 64), True, True),
        ("own ends", (4, 64), True, True),
        ("by masks, limited", (4, 64), True, False),
        ("turned", (4, 64), False, False),
        ("turned", (1, 64), True, False),
        ("turned", (4, 16), True, False),
        ("limited numbers", (4, 64), True, False),
        ("of all rows", (4, 64), True, False),
        ("by masks", (4, 64), True, False),
        ("columns", (4, 64), True, False),
    ],
)
def test_rows_of_their_own_are_split(
    kind: str, shape: tuple[int, int], disjoint: bool, fires: bool
) -> None:
    constants = {"R": shape[0], "C": shape[1], "KIND": kind}
    kernel = kernel_of(rows_kernel, constants, TYPES, disjoint=disjoint)
    assert split_rows(kernel) == fires
    verify(kernel.module)
    loops = [each for each in kernel.module.walk() if each.name == "scf.for"]
    assert len(loops) == fires


@pytest.mark.parametrize(
    ("kind", "sizes", "shape", "vlen_bits"),
    in_turn(
        ["turned", "mirrored", "own ends"],
        [[11, 50], [3, 64], [9, 33]],
        [[4, 64], [16, 64]],
        [256, 128, 1024],
    ),
)
def test_each_row_begins_elsewhere(
    run: KernelRunner, kind: str, sizes: list[int], shape: list[int], vlen_bits: int
) -> None:
    (rows, size), generator, far = sizes, np.random.default_rng(6), 20
    x = generator.integers(0, 1000, size).astype(np.int32)
    shift = generator.integers(0, size, rows).astype(np.int32)
    row, i = np.arange(rows)[:, None], np.arange(size)
    near = abs(row * 3 + i - far)
    at = {
        "turned": (i + shift[:, None]) % size,
        "mirrored": np.where(near >= size, 2 * size - 2 - near, near),
        "own ends": np.minimum(i + 1, shift[:, None]),
    }[kind]
    out = (x[at] * (1 + row)).astype(np.int32)
    run(
        rows_kernel, x_ptr=x, shift_ptr=shift, out_ptr=Expected(out),
        M=rows, N=size, far=far, R=shape[0], C=shape[1], KIND=kind, vlen_bits=vlen_bits,
        grid=(-(-rows // shape[0]),),
    )  # fmt: skip
