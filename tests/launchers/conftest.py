"""Builds launchers around small kernels written in C and runs them under a real QEMU."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import launchers
from launchers import Argument
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from triton_rvv.codegen.link import link_elf
from triton_rvv.codegen.zig import run_zig_cc
from triton_rvv.targets.target import RVVTarget

RUN_TIMEOUT_S = 200

BuildElf = Callable[[str], Path]
Run = Callable[..., subprocess.CompletedProcess[str]]
RunKernel = Callable[..., subprocess.CompletedProcess[str]]

# A kernel as the compiler exports it, around the statements of one program.
KERNEL_TEMPLATE = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "kernel_abi.h"
const char triton_rvv_kernel_name[] = "tiny_kernel";
const uint32_t triton_rvv_vlen_bits = 256;
void triton_rvv_kernel(const uint64_t *args, uint32_t x, uint32_t y, uint32_t z,
                       uint32_t num_x, uint32_t num_y, uint32_t num_z) {
    (void)args, (void)x, (void)y, (void)z, (void)num_x, (void)num_y, (void)num_z;
    %s
}
"""


@pytest.fixture(scope="session")
def build_object(tmp_path_factory: pytest.TempPathFactory) -> BuildElf:
    """Compiles the statements of a kernel to an object file, once for the whole test run."""
    built: dict[str, Path] = {}
    include = Path(launchers.__file__).parent

    def build(body: str) -> Path:
        if body not in built:
            folder = tmp_path_factory.mktemp("kernel")
            (folder / "kernel.c").write_text(KERNEL_TEMPLATE.replace("%s", body))
            run_zig_cc(
                ["-c", "-O1", f"-I{include}", "kernel.c", "-o", "kernel.o"],
                timeout_s=200,
                folder=folder,
            )
            built[body] = folder / "kernel.o"
        return built[body]

    return build


@pytest.fixture(scope="session")
def build_elf(build_object: BuildElf) -> BuildElf:
    """Links the launcher and a kernel given by its statements."""

    def build(body: str) -> Path:
        kernel = build_object(body)
        elf = kernel.with_name("kernel.elf")
        if not elf.exists():
            link_elf([kernel, launcher_object(RVVTarget(vlen_bits=256))], elf)
        return elf

    return build


@pytest.fixture(scope="session")
def run() -> Run:
    """Runs an executable under QEMU, by default on a core with vectors of 256 bits."""

    def run_elf(
        elf: Path,
        *arguments: str,
        cpu: str = "rv64,v=true,vlen=256,vext_spec=v1.0",
        before: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*before, "qemu-riscv64", "-cpu", cpu, str(elf), *arguments],
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_S,
            check=False,
        )

    return run_elf


@pytest.fixture
def run_kernel(build_elf: BuildElf, run: Run, tmp_path: Path) -> RunKernel:
    """Builds a kernel and runs it on arguments, with further options of the launcher."""

    def run_body(
        body: str, arguments: Sequence[Argument], *options: str, grid: str = "1,1,1"
    ) -> subprocess.CompletedProcess[str]:
        data_path = tmp_path / "data"
        write_data_file(data_path, arguments)
        return run(build_elf(body), str(data_path), "--grid", grid, *options)

    return run_body
