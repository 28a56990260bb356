"""Products on a matrix unit that add to one another, and totals that scale what they add."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from qemu_kernels import Expected, KernelRunner, as_argument

from launchers.objects import launcher_object
from triton_rvv.codegen.link import link_elf
from triton_rvv.pipeline import CompiledKernel, compile_kernel
from triton_rvv.targets.target import RVVTarget

TARGET = RVVTarget.named("x60-ime")
SIGNATURE = {
    "a_ptr": "*i8", "b_ptr": "*i8", "scale_ptr": "*fp32", "of_columns": "*fp32",
    "out_ptr": "*i32", "scaled_ptr": "*fp32", "rows": "i32", "turns": "i32",
}  # fmt: skip
TURNS = 3


@triton.jit
def chain_kernel(
    a_ptr, b_ptr, scale_ptr, of_columns, out_ptr, scaled_ptr, rows, turns,
    M: tl.constexpr, N: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr,
    SCALED: tl.constexpr, USED: tl.constexpr, COLUMNS_FIRST: tl.constexpr = False,
    VOLATILE: tl.constexpr = False,
):  # fmt: skip
    """Turns of two products, the second of which adds to the first; A and B hold both along K."""
    K: tl.constexpr = FIRST + SECOND
    row, column = tl.arange(0, M), tl.arange(0, N)
    first, second = tl.arange(0, FIRST), FIRST + tl.arange(0, SECOND)
    inside = row[:, None] < rows
    out = row[:, None] * N + column[None, :]
    sums = tl.zeros((M, N), dtype=tl.int32)
    total = tl.zeros((M, N), dtype=tl.float32)
    for turn in range(turns):
        a_row = a_ptr + (turn * rows + row[:, None]) * K
        b_row = b_ptr + turn * K * N + column[None, :]
        a = tl.load(a_row + first[None, :], mask=inside, other=0)
        c = tl.load(a_row + second[None, :], mask=inside, other=0)
        b, d = tl.load(b_row + first[:, None] * N), tl.load(b_row + second[:, None] * N)
        if SCALED:
            both = tl.dot(c, d - 3, tl.dot(a, b - 3, out_dtype=tl.int32), out_dtype=tl.int32)
            scale = tl.load(scale_ptr + turn * rows + row, mask=row < rows, other=0.0)
            by_column = tl.load(of_columns + column)[None, :]
            if COLUMNS_FIRST:
                total += both.to(tl.float32) * by_column * scale[:, None]
            else:
                total += both.to(tl.float32) * scale[:, None] * by_column
        else:
            low = tl.dot(a, b, sums, out_dtype=tl.int32)
            if VOLATILE:
                c = tl.load(a_row + second[None, :], mask=inside, other=0, volatile=True)
            sums = tl.dot(c, d, low, out_dtype=tl.int32)
            if USED:
                sums += low
    if SCALED:
        tl.store(scaled_ptr + out, total, mask=inside)
    else:
        tl.store(out_ptr + out, sums, mask=inside)


def compiled(
    size: tuple[int, int],
    depths: tuple[int, int],
    *,
    scaled: bool,
    used: bool = False,
    **more: bool,
) -> CompiledKernel:
    first, second = depths
    sizes = {"M": size[0], "N": size[1], "FIRST": first, "SECOND": second}
    kinds = {"SCALED": scaled, "USED": used, **more}
    return compile_kernel(chain_kernel, SIGNATURE, {**sizes, **kinds}, TARGET)


@pytest.mark.parametrize(
    ("size", "rows", "depths", "scaled", "used"),
    [
        ((32, 32), 21, (16, 16), True, False),
        ((16, 16), 16, (32, 16), True, False),
        ((32, 16), 29, (16, 32), False, False),
        ((8, 32), 8, (16, 8), True, False),
        ((16, 32), 13, (16, 16), False, True),
    ],
)
def test_products_that_add_to_one_another_are_exact(
    run: KernelRunner, tmp_path: Path, size: tuple[int, int], rows: int,
    depths: tuple[int, int], scaled: bool, used: bool,
) -> None:  # fmt: skip
    kernel = compiled(size, depths, scaled=scaled, used=used)
    (tmp_path / "kernel.o").write_bytes(kernel.object)
    link_elf([tmp_path / "kernel.o", launcher_object(TARGET)], tmp_path / "kernel.elf")
    random, depth = torch.Generator().manual_seed(rows), sum(depths)
    a = torch.randint(-128, 128, (TURNS, rows, depth), generator=random, dtype=torch.int8)
    b = torch.randint(-100, 100, (TURNS, depth, size[1]), generator=random, dtype=torch.int8)
    scale = 2.0 ** torch.randint(-2, 3, (TURNS, rows), generator=random)
    of_columns = 2.0 ** torch.randint(-2, 3, (size[1],), generator=random)
    products = a.int() @ (b.int() - 3) if scaled else a.int() @ b.int()
    sums = torch.zeros(rows, size[1], dtype=torch.int32)
    for turn in range(TURNS):
        low = sums + a[turn, :, : depths[0]].int() @ b[turn, : depths[0]].int()
        sums = sums + products[turn] + (low if used else 0)
    values = {
        "a_ptr": a,
        "b_ptr": b,
        "scale_ptr": scale,
        "of_columns": of_columns,
        "out_ptr": torch.zeros(1, dtype=torch.int32) if scaled else Expected(sums),
        "scaled_ptr": Expected((products * scale[:, :, None] * of_columns).sum(0))
        if scaled
        else torch.zeros(1),
        "rows": rows,
        "turns": TURNS,
    }
    arguments = [as_argument(name, value) for name, value in values.items()]
    run.run_elf(tmp_path / "kernel.elf", arguments, (1,), TARGET)


@triton.jit
def scaled_kernel(
    a_ptr, b_ptr, of_rows, of_columns, out_ptr, turns,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    row, column, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for turn in range(turns):
        a = tl.load(a_ptr + (turn * M + row[:, None]) * K + depth[None, :])
        b = tl.load(b_ptr + (turn * K + depth[:, None]) * N + column[None, :])
        product = tl.dot(a, b, out_dtype=tl.int32)
        scales = tl.load(of_rows + row)[:, None], tl.load(of_columns + column)[None, :]
        total += product.to(tl.float32) * scales[0] * scales[1]
    tl.store(out_ptr + row[:, None] * N + column[None, :], total)


@pytest.mark.parametrize(("depth", "function"), [(128, "3x4_16_011"), (256, "3x4_0_011")])
def test_the_largest_and_the_smallest_sums_are_scaled_exactly(
    run: KernelRunner, tmp_path: Path, depth: int, function: str
) -> None:
    """Sums of as many products as are counted from a float's bits, and of more."""
    rows, columns = 32, 16
    names = {"a_ptr": "*i8", "b_ptr": "*i8", "of_rows": "*fp32", "of_columns": "*fp32"}
    sizes = {"M": rows, "N": columns, "K": depth}
    signature = {**names, "out_ptr": "*fp32", "turns": "i32"}
    kernel = compile_kernel(scaled_kernel, signature, sizes, TARGET)
    assert f"call\ttriton_rvv_tile_4x8_{function}" in kernel.assembly
    (tmp_path / "kernel.o").write_bytes(kernel.object)
    link_elf([tmp_path / "kernel.o", launcher_object(TARGET)], tmp_path / "kernel.elf")
    a = torch.full((TURNS, rows, depth), -128, dtype=torch.int8)
    b = torch.full((TURNS, depth, columns), -128, dtype=torch.int8)
    b[:, :, ::2] = 127
    a[:, 1::3] = 0
    of_rows, of_columns = 2.0 ** torch.arange(-4, 4).repeat(4), 2.0 ** torch.arange(-8, 8)
    values = {
        "a_ptr": a,
        "b_ptr": b,
        "of_rows": of_rows,
        "of_columns": of_columns,
        "out_ptr": Expected((a.int() @ b.int()).sum(0) * of_rows[:, None] * of_columns),
        "turns": TURNS,
    }
    arguments = [as_argument(name, value) for name, value in values.items()]
    run.run_elf(tmp_path / "kernel.elf", arguments, (1,), TARGET)


def test_factors_of_columns_come_first_where_the_kernel_has_them_first(
    run: KernelRunner, tmp_path: Path
) -> None:
    """A product times its row's factor would be infinite."""
    kernel = compiled((8, 16), (16, 16), scaled=True, COLUMNS_FIRST=True)
    (tmp_path / "kernel.o").write_bytes(kernel.object)
    link_elf([tmp_path / "kernel.o", launcher_object(TARGET)], tmp_path / "kernel.elf")
    ones = torch.ones(8, 32, dtype=torch.int8)
    values = {
        "a_ptr": ones,
        "b_ptr": torch.full((32, 16), 4, dtype=torch.int8),
        "scale_ptr": torch.full((1, 8), 2.0**125),
        "of_columns": torch.full((16,), 2.0**-125),
        "out_ptr": torch.zeros(1, dtype=torch.int32),
        "scaled_ptr": Expected(torch.full((8, 16), 32.0)),
        "rows": 8,
        "turns": 1,
    }
    arguments = [as_argument(name, value) for name, value in values.items()]
    run.run_elf(tmp_path / "kernel.elf", arguments, (1,), TARGET)


def test_a_volatile_load_stays_between_products() -> None:
    one, two = (
        compiled((16, 32), (16, 16), scaled=False, VOLATILE=volatile).assembly.count(
            "call\ttriton_rvv_tile"
        )
        for volatile in (False, True)
    )
    assert 0 < one < two


def test_products_that_add_to_one_another_become_one() -> None:
    """But not where the second one has half a turn of a tile's loop along K."""
    one, two = (
        compiled((8, 32), (16, second), scaled=True).assembly.count("call\ttriton_rvv_tile")
        for second in (16, 8)
    )
    assert 0 < 2 * one <= two


def test_a_tile_adds_to_a_scaled_total_by_itself() -> None:
    assert (
        "call\ttriton_rvv_tile_4x8_2x4_4_011" in compiled((8, 32), (16, 16), scaled=True).assembly
    )
