"""Builds a matrix product written in C as an artifact for any board."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import launchers
from launchers import Argument
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from rvv_runner import ElfArtifact
from triton_rvv.codegen.link import link_elf
from triton_rvv.codegen.zig import run_zig_cc
from triton_rvv.targets.target import RVVTarget

__all__ = ["build_c_matmul"]

TIMEOUT_S = 120.0


def build_c_matmul(
    source: str,
    flags: Sequence[str],
    folder: Path,
    shape: tuple[int, int, int],
    grid: tuple[int, int, int],
) -> ElfArtifact:
    """The artifact of a C kernel beside this file, with random float32 data of shape M, N, K.

    Args:
        source: the file's name; its kernel takes A, B, C, M, N, K.
        flags: for zig's clang.
        folder: for the files that are written.
        shape: M, N and K.
        grid: programs along x, y and z.
    """
    m, n, k = shape
    include = Path(launchers.__file__).parent
    path = Path(__file__).with_name(source)
    output = folder / "kernel.o"
    arguments = ["-c", *flags, f"-I{include}", str(path), "-o", str(output)]
    run_zig_cc(arguments, timeout_s=TIMEOUT_S)
    elf = folder / "kernel.elf"
    link_elf([output, launcher_object(RVVTarget())], elf)
    random = np.random.default_rng(0)
    a = random.standard_normal((m, k), dtype=np.float32)
    b = random.standard_normal((k, n), dtype=np.float32)
    values = [
        Argument("a", "*fp32", a),
        Argument("b", "*fp32", b),
        Argument("c", "*fp32", None, a @ b, atol=1e-3, rtol=1e-4),
        *(Argument(name, "i32", size) for name, size in zip("mnk", shape, strict=True)),
    ]
    write_data_file(folder / "data", values)
    digest = hashlib.sha256(elf.read_bytes()).hexdigest()
    return ElfArtifact(elf, digest, folder / "data", grid, RVVTarget().vlen_bits)
