"""llama.cpp's kernels beside these:
LLAMA_CPP=folder python benchmarks/programs/bench_llama_cpp.py [--unit] [--drawn]

LLAMA_CPP is a checkout of llama.cpp, or of ggml alone. Its products of weights in Q4_0 with
activations in Q8_0 are compiled by the C compiler that this project comes with, and run on the
emulated X60, one core, at the shapes of `matmul_w4a8` beside them: a dot product for each element,
and the products of repacked weights, which llama.cpp takes at this vector length. All are checked;
operands that fit into a cache are there. Cycles are estimates. --unit takes llama.cpp's kernel for
the X60's matrix unit, and many rows, on the emulated X60 with that unit. --drawn takes products
with many rows of sizes drawn by a seed: multiples of 4 rows, 16 columns and 32 elements along K,
which llama.cpp's take.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from bench_language_model import Step, measured

from foundation.shapes import shape_text
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.counters import parse_report
from rvv_runner.emulated.run import run_in_qemu
from triton_rvv.codegen.zig import run_zig_cc

DEVICE, DEVICE_WITH_UNIT = "emulated:x60", "emulated:x60-ime"
LIMIT_S = 600.0
DRIVER = Path(__file__).with_name("ggml_products.c")
SHAPES = (
    {"M": 1, "N": 1152, "K": 896},
    {"M": 1, "N": 9728, "K": 896},
    {"M": 1, "N": 896, "K": 4864},
    {"M": 64, "N": 512, "K": 896},
)
_PROMPTS = ({"M": 64, "N": 512, "K": 896}, {"M": 32, "N": 512, "K": 896})
_SEED, _SEED_OF_UNIT, _DRAWN = 20261128, 20261202, 6
_RANGES = {"M": (16, 96), "N": (64, 768), "K": (128, 1024)}
_MULTIPLES = {"M": 4, "N": 16, "K": 32}
_MOST_PRODUCTS = 16 << 20
_ONE_ROW = tuple({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": columns} for columns in (64, 128))
_MANY_ROWS = tuple(
    {"BLOCK_SIZE_M": rows, "BLOCK_SIZE_N": columns}
    for rows, columns in ((4, 64), (16, 32), (16, 64), (32, 64))
)
_ROWS_OF_UNIT = tuple(
    {"BLOCK_SIZE_M": rows, "BLOCK_SIZE_N": columns}
    for rows, columns in ((16, 64), (32, 64), (32, 128), (64, 64))
)
# What is not called is left out, so that two files of ggml's do.
FLAGS = ("-O3", "-DNDEBUG", "-ffunction-sections", "-fdata-sections", "-Wno-everything")
CPU = "-mcpu=baseline_rv64+v+zvl256b+zba+zbb+zbs+zfh+zvfh+zicbop"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shapes", type=int, nargs="+", help="numbers of them; all by default")
    parser.add_argument("--unit", action="store_true", help="the X60's matrix unit")
    parser.add_argument("--drawn", action="store_true", help="products of drawn sizes")
    arguments = parser.parse_args()
    unit: bool = arguments.unit
    shapes: Sequence[Mapping[str, int]] = _PROMPTS if unit else SHAPES
    if arguments.drawn:
        shapes = drawn_shapes(_SEED_OF_UNIT if unit else _SEED)
    folder = os.environ.get("LLAMA_CPP")
    if folder is None:
        print("LLAMA_CPP names no checkout of llama.cpp: nothing is compared")
        return
    board = load_board(DEVICE_WITH_UNIT if unit else DEVICE)
    assert isinstance(board, EmulatedBoard)
    board.open()
    theirs = ["for the unit"] if unit else ["dot products", "repacked"]
    heading = ["shape", *theirs, "this project", f"{theirs[-1]} / this project"]
    print(f"| {' | '.join(heading)} |\n|{'---|' * len(heading)}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        program = linked(ggml_folder(Path(folder)), Path(name), unit)
        for number in arguments.shapes or range(len(shapes)):
            print(row(board, program, shapes[number]), flush=True)


def drawn_shapes(seed: int) -> list[dict[str, int]]:
    """Sizes with uniform logarithms, of products that run for seconds at most."""
    random, shapes = np.random.default_rng(seed), list[dict[str, int]]()
    while len(shapes) < _DRAWN:
        shape = {}
        for name, (least, most) in _RANGES.items():
            size = least * (most / least) ** random.random()
            shape[name] = math.ceil(size / _MULTIPLES[name]) * _MULTIPLES[name]
        if math.prod(shape.values()) <= _MOST_PRODUCTS:
            shapes.append(shape)
    return shapes


def ggml_folder(checkout: Path) -> Path:
    """Where ggml lies in a checkout.

    Raises:
        SystemExit: if it is none.
    """
    for folder in (checkout.resolve() / "ggml", checkout.resolve()):
        if (folder / "src" / "ggml-cpu" / "arch" / "riscv" / "repack.cpp").is_file():
            return folder
    raise SystemExit(f"LLAMA_CPP={checkout} is no checkout of llama.cpp or ggml for RISC-V")


def linked(ggml: Path, folder: Path, unit: bool) -> Path:
    """The program with ggml's functions: those for the matrix unit, or the others."""
    own = ggml / "src" / "ggml-cpu"
    includes = [f"-I{ggml / 'include'}", f"-I{ggml / 'src'}", f"-I{own}"]
    cpp = ["-std=gnu++20", "-lc++", *includes]
    sources = {
        DRIVER: ["-std=gnu11"],
        own / "arch" / "riscv" / "quants.c": ["-std=gnu11", *includes],
        own / "arch" / "riscv" / "repack.cpp": cpp,
    }
    if unit:
        sources = {
            # Computes what QEMU lacks, without vectors of its own.
            Path(str(files("launchers") / "matrix_unit.c")): ["-std=gnu11", "-mcpu=baseline_rv64"],
            DRIVER: ["-std=gnu11", "-DMATRIX_UNIT"],
            own / "spacemit" / "ime1_kernels.cpp": [
                *cpp, "-DRISCV64_SPACEMIT_IME1", "-include", str(DRIVER.with_name("vmadot.h")),
            ],
        }  # fmt: skip
    objects = []
    for source, flags in sources.items():
        objects.append(str(folder / f"{source.stem}.o"))
        command = [*FLAGS, CPU, *flags, "-c", str(source), "-o", objects[-1]]
        run_zig_cc(command, timeout_s=LIMIT_S)
    program = folder / "products"
    link = ["-static", "-Wl,--gc-sections", *objects, "-lm", "-o", str(program)]
    run_zig_cc(link, timeout_s=LIMIT_S)
    return program


def row(board: EmulatedBoard, program: Path, shape: Mapping[str, int]) -> str:
    """Cycles of ggml's products and of this project's, at one shape.

    Raises:
        SystemExit: if one of them is wrong.
    """
    arguments = [str(shape[name]) for name in "MNK"]
    done = run_in_qemu(board.emulator, program, arguments, LIMIT_S)
    if done.result.returncode != 0 or done.report is None:
        reason = done.result.stderr.strip()
        raise SystemExit(f"ggml's products ended with status {done.result.returncode}: {reason}")
    theirs = [region.cycles for region in parse_report(done.report)]
    many = _ROWS_OF_UNIT if board.info.target.matrix_unit else _MANY_ROWS
    configs = _ONE_ROW if shape["M"] == 1 else many
    time_s, _ = measured(board, Step("matmul_w4a8", shape, "i8", 1, configs))
    own = time_s * board.info.frequency_hz
    figures = [f"{cycles / 1e6:.2f} M" for cycles in (*theirs, own)]
    return f"| {' | '.join((shape_text(shape), *figures, f'{theirs[-1] / own:.2f}'))} |"


if __name__ == "__main__":
    main()
