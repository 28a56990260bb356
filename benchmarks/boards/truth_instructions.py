"""Measures the emulated board's throughput for the rows of rvv-bench's instruction table."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rvv_runner.cores.results_page import InstructionRow
from rvv_runner.emulated.counters import parse_report
from rvv_runner.emulated.run import Emulator, run_in_qemu
from triton_rvv.codegen.zig import run_zig_cc

__all__ = ["Cell", "measure_cells"]

Cell = tuple[str, int, str]  # instruction, element width, LMUL

_TIMEOUT_S = 600.0
_CELLS_IN_A_PROGRAM = 1500
_COPIES = 8
_REPEATS = 8
_ROUNDS = 4
_GROUP_SIZES = {"m2": 2, "m4": 4, "m8": 8}
# As rvv-bench groups them: what it takes to narrow or to write a mask has other registers.
_WIDENS_OR_NARROWS = re.compile(r"vf?(w(?!red)|n)")
_MASKS = re.compile(r"vm\w+\.mm|vcpop|vfirst")
_RAISED = ("t0", "t1", "t2", "t3", "t4", "t5", "t6", "s4")

# Addresses lie in the middle of a buffer that nothing else touches; strides are small.
_PROGRAM = """
.option arch, +v, +zba, +zbb, +zbs, +zfh
.option norvc
.globl _start
_start:
{code}
    li a0, 0
    li a7, 94
    ecall
.bss
.balign 4096
buffer: .skip 1048576
"""
_CELL = """
    la t0, buffer + 524288
    la t2, buffer + 524288
    li t3, {stride}
    li t1, -{size}
    vsetvli t4, x0, e{sew}, {lmul}, ta, ma
    li a0, {rounds}
{body}
    slti x0, x0, 0x5a1
1:
.rept {repeats}
{body}
.endr
    addi a0, a0, -1
    bnez a0, 1b
    slti x0, x0, 0x5a2
"""


def measure_cells(
    emulator: Emulator, rows: Sequence[InstructionRow]
) -> dict[Cell, tuple[float, float]]:
    """Published and estimated cycles of each cell of the table that QEMU 7.2 can run.

    Raises:
        RuntimeError: if a program fails.
    """
    cells = [
        (row.text, sew, lmul) for row in rows for sew, lmul in row.cycles if _runs(row.text, sew)
    ]
    published = {(row.text, *key): cycles for row in rows for key, cycles in row.cycles.items()}
    found = {}
    for start in range(0, len(cells), _CELLS_IN_A_PROGRAM):
        part = cells[start : start + _CELLS_IN_A_PROGRAM]
        for cell, cycles in zip(part, _run(emulator, part), strict=True):
            found[cell] = published[cell], cycles
    return found


def _runs(text: str, sew: int) -> bool:
    """Half precision is unknown to QEMU 7.2, and conversions that name their rounding crash it."""
    return not (text.startswith(("vf", "vmf")) and sew == 16) and ".rtz." not in text


def _run(emulator: Emulator, cells: Sequence[Cell]) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cells.S").write_text(_PROGRAM.format(code="".join(map(_code, cells))))
        flags = ["-static", "-nostdlib", "cells.S", "-o", "cells"]
        run_zig_cc(flags, timeout_s=_TIMEOUT_S, folder=folder)
        run = run_in_qemu(emulator, folder / "cells", (), _TIMEOUT_S)
    if run.result.returncode != 0 or run.report is None:
        raise RuntimeError(f"cells from {cells[0]} ended with status {run.result.returncode}")
    for region in parse_report(run.report):
        yield region.cycles / (_COPIES * _REPEATS * _ROUNDS)


def _code(cell: Cell) -> str:
    text, sew, lmul = cell
    operand = re.match(r"v[ls]\D*\d?e(\d+)", text)
    size = int(operand[1]) // 8 if operand else 1
    body = "\n".join(_copies(text, lmul))
    return _CELL.format(
        stride=3 * size,
        size=size,
        sew=sew,
        lmul=lmul,
        body=body,
        repeats=_REPEATS,
        rounds=_ROUNDS,
    )


def _copies(text: str, lmul: str) -> Iterator[str]:
    """The instruction with neighbouring registers, as rvv-bench repeats it."""
    code = text.replace("/*-1*/", "")
    group = _GROUP_SIZES.get(lmul, 1)
    wide = _WIDENS_OR_NARROWS.match(code) or code.startswith("vrgatherei16")
    if wide and not lmul.startswith("mf"):
        group = min(group * 2, 8)
    if _MASKS.match(code):
        group = _GROUP_SIZES["m2"]
    mnemonic, _, operands = code.partition(" ")
    memory = "(" in operands
    for copy in range(_COPIES):
        offset = copy * group % 8
        yield f"{mnemonic} " + ",".join(
            _shifted(operand, offset, memory) for operand in operands.split(",")
        )


def _shifted(operand: str, offset: int, memory: bool) -> str:
    if operand in ("v8", "v16", "v24"):
        return f"v{int(operand[1:]) + offset}"
    if operand == "ft0":
        return f"ft{offset}"
    if operand == "t0" and not memory:
        return _RAISED[offset]
    return operand
