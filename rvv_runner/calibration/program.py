"""All micro-kernels as one executable with the launcher, and the data file of one run."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from launchers.arguments import Argument
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from rvv_runner.calibration.memory_kernels import ARENA_BYTES
from rvv_runner.calibration.micro_kernel import (
    BUFFER_BYTES,
    PARAMETERS,
    UNTOUCHED,
    MicroKernel,
    input_bytes,
)
from rvv_runner.measurement import ElfArtifact
from triton_rvv.codegen.link import link_elf
from triton_rvv.codegen.zig import run_zig_cc
from triton_rvv.targets.target import Target

__all__ = ["build_program", "with_data"]

_COMPILE_LIMIT_S = 300.0
_SAVED = [f"s{number}" for number in range(12)]

# The kernel's first argument says which micro-kernel runs. The others are loaded into a1 to a6, and
# the program's number into a0. The arena has a section of its own, behind all others: what stands
# in for a matrix unit in emulators has to be near the code.
_NAME = "micro_kernels"
_PROGRAM = """
.option arch, +v, +zba
.option norvc
.text
.globl triton_rvv_kernel
triton_rvv_kernel:
addi sp, sp, -112
sd ra, 96(sp)
{save}
mv t6, a1
ld t0, 0(a0)
ld a1, 8(a0)
ld a2, 16(a0)
ld a3, 24(a0)
ld a4, 32(a0)
ld a5, 40(a0)
ld a6, 48(a0)
mv a0, t6
la t1, kernels
slli t0, t0, 2
add t0, t0, t1
lw t0, (t0)
add t0, t0, t1
jalr t0
ld ra, 96(sp)
{restore}
addi sp, sp, 112
ret
{kernels}
.section .rodata
.balign 8
kernels:
{table}
.globl triton_rvv_kernel_name
triton_rvv_kernel_name: .asciz "{name}"
.balign 4
.globl triton_rvv_vlen_bits
triton_rvv_vlen_bits: .word {vlen_bits}
.bss
.balign 8
arena_ready: .skip 8
arena_runs: .skip 8
.section behind_all, "aw", @nobits
.balign 4096
arena: .skip {arena_bytes}
"""
_KERNEL = """
.balign 64
kernel_{number}:
{setup}
.balign 16
5:
{body}
addi a1, a1, -1
bnez a1, 5b
{finish}
ret
"""


def build_program(kernels: Sequence[MicroKernel], target: Target, folder: Path) -> ElfArtifact:
    """The executable of all of them; it has no data file yet.

    Args:
        kernels: their places are their numbers.
        target: the vector length is built in, so that the launcher refuses another.
        folder: for the executable.

    Raises:
        ZigError, LinkError: where it cannot be built, as with a full disk.
    """
    source, compiled, elf = (folder / f"{_NAME}.{suffix}" for suffix in ("S", "o", "elf"))
    texts = (
        _KERNEL.format(number=number, setup=k.setup, body=k.body, finish=k.finish)
        for number, k in enumerate(kernels)
    )
    source.write_text(
        _PROGRAM.format(
            name=_NAME,
            save="\n".join(f"sd {name}, {8 * n}(sp)" for n, name in enumerate(_SAVED)),
            restore="\n".join(f"ld {name}, {8 * n}(sp)" for n, name in enumerate(_SAVED)),
            kernels="".join(texts),
            table="\n".join(f".word kernel_{n} - kernels" for n in range(len(kernels))),
            vlen_bits=target.vector_bits,
            arena_bytes=ARENA_BYTES,
        ),
        encoding="utf-8",
    )
    arguments = ["-c", str(source), "-o", str(compiled)]
    run_zig_cc(arguments, timeout_s=_COMPILE_LIMIT_S, backend=target.backend)
    link_elf([compiled, launcher_object(target)], elf, target.backend)
    return ElfArtifact(
        elf_path=elf,
        sha256=hashlib.sha256(elf.read_bytes()).hexdigest(),
        data_path=folder / f"{_NAME}.data",
        grid=(1, 1, 1),
        vlen_bits=target.vector_bits,
        kernel=_NAME,
    )


def with_data(
    program: ElfArtifact,
    number: int,
    kernel: MicroKernel,
    parameters: Mapping[str, int],
    programs: int = 1,
) -> ElfArtifact:
    """The executable with the data of one run: which micro-kernel, and what it has to write.

    Args:
        program: from `build_program`.
        number: of the micro-kernel.
        kernel: the micro-kernel.
        parameters: of `PARAMETERS`, all that it uses.
        programs: how many of it run, each on a core.
    """
    output = np.full(BUFFER_BYTES, UNTOUCHED, np.uint8)
    expected = output.copy()
    written = np.frombuffer(kernel.expected(program.vlen_bits, parameters), np.uint8)
    expected[: written.size] = written
    scalars = {"number": number} | {name: parameters.get(name, 0) for name in PARAMETERS}
    path = program.data_path.with_name(f"{'-'.join(map(str, scalars.values()))}.data")
    write_data_file(
        path,
        [
            *(Argument(name, "i64", value) for name, value in scalars.items()),
            Argument("input", "*u8", input_bytes()),
            Argument("output", "*u8", output, expected),
        ],
    )
    # No other order of several programs says more of the core.
    grid, ordered = (programs, 1, 1), programs > 1
    return dataclasses.replace(program, data_path=path, grid=grid, ordered=ordered)
