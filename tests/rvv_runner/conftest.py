"""Runs hand-written assembly and small C kernels on the emulated board."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import launchers
from launchers import Argument
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from rvv_runner import ElfArtifact
from rvv_runner.board_file import BoardFile, read_board_file
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.costs import CostTable, read_cost_table
from rvv_runner.emulated.counters import Region, parse_report
from rvv_runner.emulated.plugin import Kind, build_plugin, write_once
from rvv_runner.emulated.run import Emulator, run_in_qemu
from triton_rvv.codegen.link import link_elf
from triton_rvv.codegen.zig import run_zig_cc
from triton_rvv.runtime.qemu import cpu_option, find_qemu
from triton_rvv.targets.target import RVVTarget, Target

RUN_TIMEOUT_S = 200.0
BUILD_TIMEOUT_S = 200.0

RunRegions = Callable[..., tuple[Region, ...]]
BuildKernel = Callable[..., ElfArtifact]

# Each test program keeps the address of `buffer` in a0 and no libc touches memory before it.
PROGRAM = """
.option arch, +v
.option norvc
.globl _start
_start:
    la a0, buffer
{code}
    li a0, 0
    li a7, 94
    ecall
.bss
.balign 4096
buffer: .skip 4194304
"""
REGION = "{before}\nslti x0, x0, 0x5a1\n{body}\nslti x0, x0, 0x5a2\n"

KERNEL = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel_abi.h"
const char triton_rvv_kernel_name[] = "tiny_kernel";
const uint32_t triton_rvv_vlen_bits = {vlen_bits};
void triton_rvv_kernel(const uint64_t *args, uint32_t x, uint32_t y, uint32_t z,
                       uint32_t num_x, uint32_t num_y, uint32_t num_z) {{
    (void)args, (void)x, (void)y, (void)z, (void)num_x, (void)num_y, (void)num_z;
    {body}
}}
"""


def with_vlen(vlen_bits: int) -> BoardFile:
    """The X60's board file with another vector length."""
    return dataclasses.replace(read_board_file("x60"), vlen_bits=vlen_bits)


def _cost_table(vlen_bits: int) -> CostTable:
    """The X60's costs."""
    board_file = with_vlen(vlen_bits)
    assert board_file.emulation is not None
    folder = Path(__file__).parents[2] / "rvv_runner" / "emulated"
    return read_cost_table(folder / board_file.emulation.cost_table, vlen_bits)


def make_emulator(vlen_bits: int = 256, plugin: Kind = "one", text: str | None = None) -> Emulator:
    """QEMU with the plug-in and these costs, the X60's without any, without the self-test."""
    text = text or _cost_table(vlen_bits).plugin_text()
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    qemu = find_qemu()
    return Emulator(
        qemu=qemu,
        cpu=cpu_option(qemu, RVVTarget(vlen_bits=vlen_bits)),
        plugin=build_plugin(plugin),
        costs=write_once(f"costs-{key}.txt", text),
    )


def _emulator_of(device: str, plugin: Kind | None) -> Emulator:
    board = load_board(device)
    assert isinstance(board, EmulatedBoard)
    board.open()
    emulator = board.emulator
    return dataclasses.replace(emulator, plugin=build_plugin(plugin)) if plugin else emulator


@pytest.fixture(scope="session")
def cost_table() -> CostTable:
    """The X60's costs."""
    return _cost_table(256)


@pytest.fixture
def run_regions(tmp_path: Path) -> RunRegions:
    """Runs (what comes before, the region's body) in turn and returns what each region counted.

    On the X60 with another vector length, or on another emulated core.
    """

    def run(
        *regions: tuple[str, str],
        vlen_bits: int = 256,
        plugin: Kind | None = None,
        text: str | None = None,
        device: str = "",
    ) -> tuple[Region, ...]:
        code = "".join(REGION.format(before=before, body=body) for before, body in regions)
        (tmp_path / "program.S").write_text(PROGRAM.format(code=code))
        flags = ["-static", "-nostdlib", "program.S", "-o", "program.elf"]
        run_zig_cc(flags, timeout_s=BUILD_TIMEOUT_S, folder=tmp_path)
        emulator = (
            _emulator_of(device, plugin)
            if device
            else make_emulator(vlen_bits, plugin or "one", text)
        )
        run = run_in_qemu(emulator, tmp_path / "program.elf", (), RUN_TIMEOUT_S)
        assert run.result.returncode == 0, run.result.stderr
        assert run.report is not None
        return parse_report(run.report)

    return run


@pytest.fixture
def build_kernel(tmp_path: Path) -> BuildKernel:
    """Builds the launcher around the C statements of one program of a grid."""

    def build(
        body: str,
        arguments: Sequence[Argument] = (),
        grid: tuple[int, int, int] = (1, 1, 1),
        vlen_bits: int = 256,
        target: Target | None = None,
    ) -> ElfArtifact:
        target = target or RVVTarget(vlen_bits=vlen_bits)
        source = KERNEL.format(body=body, vlen_bits=target.vector_bits)
        (tmp_path / "kernel.c").write_text(source)
        include = Path(launchers.__file__).parent
        run_zig_cc(
            ["-c", "-O1", f"-I{include}", "kernel.c", "-o", "kernel.o"],
            timeout_s=BUILD_TIMEOUT_S,
            folder=tmp_path,
            backend=target.backend,
        )
        elf = tmp_path / "kernel.elf"
        link_elf([tmp_path / "kernel.o", launcher_object(target)], elf, target.backend)
        write_data_file(tmp_path / "data", arguments)
        digest = hashlib.sha256(elf.read_bytes()).hexdigest()
        data, bits = tmp_path / "data", target.vector_bits
        return ElfArtifact(elf, digest, data, grid, bits, kernel="tiny_kernel")

    return build


@pytest.fixture
def board() -> EmulatedBoard:
    """The emulated X60, opened."""
    board = EmulatedBoard(read_board_file("x60"))
    board.open()
    return board
