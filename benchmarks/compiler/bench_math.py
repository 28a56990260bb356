"""Cycles of float32 functions on the emulated X60: python benchmarks/compiler/bench_math.py.

Vector code is compared with a loop in C that calls musl's function for each element. Both include
the load and the store.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice
from ulp_errors import REFERENCES

import launchers
from launchers import Argument
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from rvv_runner import ElfArtifact
from rvv_runner.board_file import read_board_file
from rvv_runner.emulated.board import EmulatedBoard
from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.codegen.link import link_elf
from triton_rvv.codegen.zig import run_zig_cc

__all__ = ["FUNCTIONS", "cycles_per_element"]

ELEMENTS = 2048
TIMEOUT_S = 120.0
# The functions in Triton's language, and some from libdevice.
FUNCTIONS: dict[str, Any] = {
    **{name: getattr(tl, name) for name in ("exp", "exp2", "log", "log2", "sin", "cos", "erf")},
    **{name: getattr(libdevice, name) for name in ("tanh", "pow", "atan", "log1p", "cbrt")},
}

C_KERNEL = """
#include <math.h>
#include "kernel_abi.h"
const char triton_rvv_kernel_name[] = "c_kernel";
const uint32_t triton_rvv_vlen_bits = 256;
void triton_rvv_kernel(const uint64_t *args, uint32_t x, uint32_t y, uint32_t z,
                       uint32_t num_x, uint32_t num_y, uint32_t num_z) {
    const float *in = (const float *)args[0];
    float *out = (float *)args[1];
    for (int i = 0; i < %(elements)d; i++)
        out[i] = %(call)s;
}
"""


@triton.jit
def unary_kernel(x_ptr, out_ptr, FUNCTION: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, FUNCTION(tl.load(x_ptr + offsets)))


@triton.jit
def binary_kernel(x_ptr, out_ptr, FUNCTION: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, FUNCTION(x, x))


def cycles_per_element(board: EmulatedBoard, name: str, compiled: Path, folder: Path) -> float:
    """Estimated cycles per element of an object file that computes a function of `ELEMENTS`."""
    elf, data = folder / "kernel.elf", folder / "data"
    link_elf([compiled, launcher_object(RVVTarget())], elf)
    x = np.random.default_rng(0).uniform(0.1, 2, ELEMENTS).astype(np.float32)
    exact = REFERENCES[name](*_arguments(name, x.astype(np.float64))).astype(np.float32)
    values = [Argument("x", "*fp32", x), Argument("out", "*fp32", None, exact, 1e-6, 1e-6)]
    write_data_file(data, values)
    digest = hashlib.sha256(elf.read_bytes()).hexdigest()
    artifact = ElfArtifact(elf, digest, data, (1, 1, 1), RVVTarget().vlen_bits)
    measurement = board.measure(artifact, 1, TIMEOUT_S)
    if measurement.time_s is None:
        raise SystemExit(f"{name} is {measurement.status}: {measurement.reason}")
    return measurement.time_s * board.info.frequency_hz / ELEMENTS


def _arguments(name: str, x: Any) -> Sequence[Any]:
    return (x, x) if name == "pow" else (x,)


def build_vector_code(name: str, folder: Path) -> Path:
    """An object file from the Triton kernel."""
    kernel = binary_kernel if name == "pow" else unary_kernel
    constants = {"FUNCTION": FUNCTIONS[name], "N": ELEMENTS}
    signature = {"x_ptr": "*fp32", "out_ptr": "*fp32"}
    output = folder / "vector.o"
    compiled = compile_kernel(kernel, signature, constants, RVVTarget(), disjoint_arguments=True)
    output.write_bytes(compiled.object)
    return output


def build_c_loop(name: str, folder: Path) -> Path:
    """An object file from the loop in C."""
    call = f"{name}f({', '.join(_arguments(name, 'in[i]'))})"
    source, output = folder / "loop.c", folder / "loop.o"
    source.write_text(C_KERNEL % {"elements": ELEMENTS, "call": call}, encoding="utf-8")
    include = Path(launchers.__file__).parent
    arguments = ["-c", "-O2", f"-I{include}", str(source), "-o", str(output)]
    run_zig_cc(arguments, timeout_s=TIMEOUT_S)
    return output


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    board = EmulatedBoard(read_board_file("x60"))
    board.open()
    print("estimated cycles per element on the emulated X60: vector code, musl's function")
    for name in FUNCTIONS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            vector = cycles_per_element(board, name, build_vector_code(name, folder), folder)
            scalar = cycles_per_element(board, name, build_c_loop(name, folder), folder)
        print(f"{name:6} {vector:7.1f} {scalar:7.1f}  {scalar / vector:5.1f} times faster")


if __name__ == "__main__":
    main()
