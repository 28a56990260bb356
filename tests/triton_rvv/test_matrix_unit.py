"""`tl.dot` by the X60's matrix unit, computed in QEMU by the launcher."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner, as_argument

from launchers.objects import launcher_object
from triton_rvv.codegen.link import link_elf
from triton_rvv.codegen.matrix_tile import tile_functions
from triton_rvv.compile_command import Mistake, read_target
from triton_rvv.pipeline import CompiledKernel, compile_kernel
from triton_rvv.targets.target import RVVTarget

TARGET = RVVTarget.named("x60-ime")
INT8 = {"a_ptr": "*i8", "b_ptr": "*i8", "c_ptr": "*i32", "out_ptr": "*i32", "turns": "i32"}


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, out_ptr, turns,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, B: tl.constexpr, TRANSPOSED: tl.constexpr,
):  # fmt: skip
    batch = tl.arange(0, B)[:, None, None]
    rows, columns = tl.arange(0, M)[None, :, None], tl.arange(0, N)[None, None, :]
    a_ptrs = a_ptr + (batch * M + rows) * K + tl.arange(0, K)[None, None, :]
    b_ptrs = b_ptr + (batch * K + tl.arange(0, K)[None, :, None]) * N + columns
    if TRANSPOSED:
        b_ptrs = b_ptr + (batch * N + columns) * K + tl.arange(0, K)[None, :, None]
    total = tl.load(c_ptr + (batch * M + rows) * N + columns)
    for turn in range(turns):
        a, b = tl.load(a_ptrs + turn * B * M * K), tl.load(b_ptrs + turn * B * K * N)
        if B == 1:
            total = tl.reshape(total, (M, N))
            total = tl.dot(tl.reshape(a, (M, K)), tl.reshape(b, (K, N)), total, out_dtype=tl.int32)
            total = tl.reshape(total, (B, M, N))
        else:
            total = tl.dot(a, b, total, out_dtype=tl.int32)
    tl.store(out_ptr + (batch * M + rows) * N + columns, total)


def compiled(m: int, n: int, k: int, batch: int = 1, transposed: bool = False) -> CompiledKernel:
    constants = {"M": m, "N": n, "K": k, "B": batch, "TRANSPOSED": transposed}
    return compile_kernel(product_kernel, INT8, constants, TARGET)


@pytest.mark.parametrize(
    ("m", "n", "k", "batch", "transposed"),
    [
        (4, 4, 8, 1, False),
        (8, 4, 64, 1, True),
        (16, 128, 32, 1, False),
        (64, 32, 128, 1, True),
        (16, 8, 16, 2, False),
    ],
)
def test_products_are_exact(
    run: KernelRunner, tmp_path: Path,
    m: int, n: int, k: int, batch: int, transposed: bool,
) -> None:  # fmt: skip
    kernel = compiled(m, n, k, batch, transposed)
    assert "smt.vmadot" in kernel.assembly
    (tmp_path / "kernel.o").write_bytes(kernel.object)
    link_elf([tmp_path / "kernel.o", launcher_object(TARGET)], tmp_path / "kernel.elf")
    random = torch.Generator().manual_seed(m * n)
    a = torch.randint(-128, 128, (3, batch, m, k), generator=random, dtype=torch.int8)
    b = torch.randint(-128, 128, (3, batch, k, n), generator=random, dtype=torch.int8)
    c = torch.randint(-(2**31), 2**31, (batch, m, n), generator=random, dtype=torch.int32)
    total = c + (a.int() @ b.int()).sum(0, dtype=torch.int32)  # wraps, as the instruction does
    stored = b.transpose(-1, -2).contiguous() if transposed else b
    values = {"a_ptr": a, "b_ptr": stored, "c_ptr": c, "out_ptr": Expected(total), "turns": 3}
    arguments = [as_argument(name, value) for name, value in values.items()]
    run.run_elf(tmp_path / "kernel.elf", arguments, (1,), TARGET)


@triton.jit
def int4_kernel(
    a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BY_ROW: tl.constexpr
):
    """B has two elements of 4 bits in a byte, neighbours along K."""
    rows, columns, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    halves = tl.arange(0, K // 2)
    a = tl.load(a_ptr + rows[:, None] * K + k[None, :])
    if BY_ROW:
        packed = tl.load(b_ptr + halves[:, None] * N + columns[None, :])
        both = tl.join((packed << 4).to(tl.int8) >> 4, packed >> 4)
        b = tl.reshape(tl.permute(both, (0, 2, 1)), (K, N))
    else:
        packed = tl.load(b_ptr + columns[:, None] * (K // 2) + halves[None, :])
        both = tl.interleave((packed << 4).to(tl.int8) >> 4, packed >> 4)
        b = tl.trans(both)
    total = tl.dot(a, b, out_dtype=tl.int32)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


@pytest.mark.parametrize("by_row", [True, False])
def test_integers_of_4_bits_are_unpacked_for_it(
    run: KernelRunner, tmp_path: Path, by_row: bool
) -> None:
    m, n, k = 16, 32, 64
    signature = {"a_ptr": "*i8", "b_ptr": "*i8", "out_ptr": "*i32"}
    constants = {"M": m, "N": n, "K": k, "BY_ROW": by_row}
    kernel = compile_kernel(int4_kernel, signature, constants, TARGET)
    assert "smt.vmadot" in kernel.assembly
    (tmp_path / "kernel.o").write_bytes(kernel.object)
    link_elf([tmp_path / "kernel.o", launcher_object(TARGET)], tmp_path / "kernel.elf")
    random = torch.Generator().manual_seed(4)
    a = torch.randint(-128, 128, (m, k), generator=random, dtype=torch.int8)
    b = torch.randint(-8, 8, (k, n), generator=random, dtype=torch.int8)
    packed = (b[::2] & 15) | (b[1::2] << 4)
    stored = packed if by_row else packed.T.contiguous()
    values = {"a_ptr": a, "b_ptr": stored, "out_ptr": Expected(a.int() @ b.int())}
    arguments = [as_argument(name, value) for name, value in values.items()]
    run.run_elf(tmp_path / "kernel.elf", arguments, (1,), TARGET)


@pytest.mark.parametrize(("m", "n", "k"), in_turn([(2, 8, 8), (8, 8, 4), (8, 2, 8)], turns=2))
def test_smaller_products_do_without(m: int, n: int, k: int) -> None:
    assert "smt.vmadot" not in compiled(m, n, k).assembly


def test_only_the_core_with_the_unit_gets_its_instruction() -> None:
    constants = {"M": 16, "N": 16, "K": 16, "B": 1, "TRANSPOSED": False}
    other = compile_kernel(product_kernel, INT8, constants, RVVTarget.named("x60"))
    assert "vmadot" not in other.assembly


def test_the_unit_has_one_vector_length() -> None:
    assert read_target("x60-ime").vector_bits == 256
    with pytest.raises(Mistake, match="works on vectors of 256 bits, not of 512: leave out"):
        read_target("x60-ime:512")


@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (3, 2), (2, 4), (1, 4)])
def test_no_product_of_a_tile_waits_for_a_load(rows: int, columns: int) -> None:
    """A load takes four cycles of its unit: another one, or four products, come before its use."""
    name = f"triton_rvv_tile_4x8_{rows}x{columns}_0_010"
    lines = tile_functions(f"declare void @{name}(ptr)\n").splitlines()
    begin, end = lines.index("1:"), next(n for n, line in enumerate(lines) if "bnez" in line)
    turn = [line.replace(",", "").split() for line in lines[begin + 1 : end]]
    turn = [words for words in turn if words[0] in ("vl1re8.v", "vl2re8.v", "smt.vmadot")]
    turns = turn * 2  # of the second, a use of what the first has loaded last
    assert sum(words[0] == "smt.vmadot" for words in turn) == 2 * rows * columns
    for place, words in enumerate(turn):
        if words[0] == "smt.vmadot":
            continue
        first, count = int(words[1][1:]), int(words[0][2])
        loaded = {f"v{first + n}" for n in range(count)}
        later = turns[place + 1 :]
        used = next(n for n, each in enumerate(later) if loaded & set(each[2:]))
        others = [each[0] for each in later[:used]]
        assert len(others) >= 4 or any(each.startswith("vl") for each in others), words


@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (3, 2), (2, 4), (1, 4)])
def test_a_tile_without_a_loop_reads_its_operands_and_no_more(rows: int, columns: int) -> None:
    name = f"triton_rvv_tile_4x8_{rows}x{columns}_4_011"
    lines = tile_functions(f"declare void @{name}(ptr)\n").splitlines()
    assert not any("bnez" in line for line in lines)
    loads = [line.split() for line in lines if line.split()[0] in ("vl1re8.v", "vl2re8.v")]
    assert sum(int(words[0][2]) for words in loads) == 4 * (rows + columns)
    assert sum("smt.vmadot" in line for line in lines) == 4 * rows * columns


@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (3, 2), (2, 4), (1, 4)])
def test_a_tile_of_many_steps_asks_for_a_line_again_right_before_it_is_written(
    rows: int, columns: int
) -> None:
    name = f"triton_rvv_tile_4x8_{rows}x{columns}_0_010"
    lines = tile_functions(f"declare void @{name}(ptr)\n").splitlines()
    accesses = [line.split()[0] for line in lines if "(t6)" in line or "vse32.v" in line]
    a_row = columns // 2
    for row in range(4 * rows):
        first = [place for place, each in enumerate(accesses) if each == "vse32.v"][row * a_row]
        asked = accesses[:first].count("prefetch.w")
        assert row // 2 * 2 + 2 <= asked <= min(row // 2 * 2 + 4, 4 * rows)


def test_behind_the_last_turn_of_a_tile_nothing_is_loaded() -> None:
    name = "triton_rvv_tile_4x8_3x4_0_010"
    lines = tile_functions(f"declare void @{name}(ptr)\n").splitlines()
    turns = [
        lines[lines.index(begin) : lines.index(end)] for begin, end in (("1:", "2:"), ("2:", "4:"))
    ]
    loaded = [
        sum(int(line.split()[0][2]) for line in turn if line.split()[0].endswith("re8.v"))
        for turn in turns
    ]
    assert loaded == [14, 8]  # 3 + 4 operands a step; without the first ones of the step behind
