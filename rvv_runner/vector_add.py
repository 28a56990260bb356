"""Builds a minimal kernel for a board and runs it there, to prove that everything works."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import triton
import triton.language as tl

from foundation.scratch import scratch_folder
from launchers.arguments import Argument
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from rvv_runner.board import Board
from rvv_runner.measurement import ElfArtifact, Measurement
from triton_rvv.codegen.link import LinkError, link_elf
from triton_rvv.codegen.zig import ZigError
from triton_rvv.errors import CompileError
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.target import Target

__all__ = ["ELEMENTS", "try_vector_add"]

ELEMENTS = 65536
_BLOCK_SIZE = 1024
_LIMIT_S = 60.0
_REPEATS = 3
_NUMPY_TYPES: Mapping[str, type[np.floating[Any]]] = {"fp32": np.float32, "fp16": np.float16}


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, output_ptr, BLOCK_SIZE: tl.constexpr):
    """output[i] = x[i] + y[i] + (y[0] + y[1]) for each of the programs' BLOCK_SIZE elements."""
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    # Not all emulators that lack 16-bit floats refuse vectors of them.
    number = tl.load(y_ptr) + tl.load(y_ptr + 1)
    tl.store(output_ptr + offsets, tl.load(x_ptr + offsets) + tl.load(y_ptr + offsets) + number)


def try_vector_add(board: Board, dtype: Literal["fp32", "fp16"] = "fp32") -> Measurement:
    """The measurement of the vector addition in a type on `board`, which must be open.

    The first build on a machine waits a minute for the linker to build its libc.
    """
    with scratch_folder("check-") as folder:
        try:
            artifact = _build(folder, board.info.target, dtype)
        except (CompileError, LinkError, ZigError) as error:
            return Measurement(status="compile", reason=str(error), board=board.info.name)
        return board.measure(artifact, _REPEATS, _LIMIT_S)


def _build(folder: Path, target: Target, dtype: str) -> ElfArtifact:
    arguments = _arguments(dtype)
    signature = {argument.name: argument.type for argument in arguments}
    blocks = {"BLOCK_SIZE": _BLOCK_SIZE}
    kernel = compile_kernel(vector_add_kernel, signature, blocks, target, disjoint_arguments=True)
    compiled, elf, data = (folder / f"vector_add.{suffix}" for suffix in ("o", "elf", "data"))
    compiled.write_bytes(kernel.object)
    link_elf([compiled, launcher_object(target)], elf, target.backend)
    write_data_file(data, arguments)
    return ElfArtifact(
        elf_path=elf,
        sha256=hashlib.sha256(elf.read_bytes()).hexdigest(),
        data_path=data,
        grid=(ELEMENTS // _BLOCK_SIZE, 1, 1),
        vlen_bits=target.vector_bits,
        kernel=kernel.name,
    )


def _arguments(dtype: str) -> tuple[Argument, ...]:
    """Numbers whose sums are exact in both types."""
    numbers = np.arange(ELEMENTS, dtype=np.float32) % 256
    x, y = (part.astype(_NUMPY_TYPES[dtype]) for part in (numbers, numbers[::-1] / 2))
    return (
        Argument("x_ptr", f"*{dtype}", x),
        Argument("y_ptr", f"*{dtype}", y),
        Argument("output_ptr", f"*{dtype}", expected=x + y + (y[0] + y[1])),
    )
