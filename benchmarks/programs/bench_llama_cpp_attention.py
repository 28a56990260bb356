"""llama.cpp's attention beside this project's:
LLAMA_CPP=folder python benchmarks/programs/bench_llama_cpp_attention.py [--drawn]

LLAMA_CPP is a checkout of llama.cpp, or of ggml, whose attention (`flash_attn_ext`, of queries
in fp32 over a cache in fp16) is compiled for RISC-V's vectors with fp16 and run on the emulated
X60, one core: of one query beside `decode_attention`, and of a prompt beside
`flash_attention_fwd_causal`, with keys for each head. All are checked; what fits into a cache is
there. Cycles are estimates. --drawn takes shapes drawn by a seed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from bench_language_model import Step, measured
from bench_llama_cpp import CPU, FLAGS, LIMIT_S, ggml_folder

from foundation.shapes import shape_text
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.counters import parse_report
from rvv_runner.emulated.run import run_in_qemu
from search_spaces.rules import next_power_of_two
from triton_rvv.codegen.zig import run_zig_cc

DRIVER = Path(__file__).with_name("ggml_attention.c")
DECODE, PROMPT = "decode_attention", "flash_attention_fwd_causal"
SHAPES = (
    (DECODE, {"KV_HEADS": 2, "G": 7, "N_CTX": 512, "D_HEAD": 64}),
    (PROMPT, {"Z": 1, "H": 2, "N_CTX": 128, "D_HEAD": 64}),
)
_SEED, _DRAWN = 2026112831, 4  # of each kernel
_MOST_OPERATIONS = 1 << 25
# The driver has these functions without threads.
_OF_THREADS = ("ggml_barrier", "ggml_threadpool_chunk_set", "ggml_threadpool_chunk_add")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--drawn", action="store_true", help="drawn shapes")
    arguments = parser.parse_args()
    folder = os.environ.get("LLAMA_CPP")
    if folder is None:
        print("LLAMA_CPP names no checkout of llama.cpp: nothing is compared")
        return
    board = load_board("emulated:x60")
    assert isinstance(board, EmulatedBoard)
    board.open()
    heading = ["kernel", "shape", "llama.cpp", "this project", "llama.cpp / this project"]
    print(f"| {' | '.join(heading)} |\n|{'---|' * len(heading)}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        program = linked(ggml_folder(Path(folder)), Path(name))
        for kernel, shape in drawn_shapes() if arguments.drawn else SHAPES:
            print(row(board, program, kernel, shape), flush=True)


def drawn_shapes() -> list[tuple[str, Mapping[str, int]]]:
    """Numbers of keys with uniform logarithms; those of a prompt are multiples of 8."""
    random, shapes = np.random.default_rng(_SEED), list[tuple[str, Mapping[str, int]]]()
    while len(shapes) < 2 * _DRAWN:
        kernel = DECODE if len(shapes) < _DRAWN else PROMPT
        size = int(random.choice((64, 128)))
        if kernel == DECODE:
            heads, group = int(random.choice((1, 2, 4, 8))), int(random.integers(1, 9))
            keys = int(2 ** random.uniform(7, 11))
            shape = {"KV_HEADS": heads, "G": group, "N_CTX": keys, "D_HEAD": size}
            operations = 4 * heads * group * keys * size
        else:
            heads, keys = int(random.integers(1, 5)), int(2 ** random.uniform(5, 9)) // 8 * 8
            shape = {"Z": 1, "H": heads, "N_CTX": keys, "D_HEAD": size}
            operations = 2 * heads * keys**2 * size
        if operations <= _MOST_OPERATIONS:
            shapes.append((kernel, shape))
    return shapes


def linked(ggml: Path, folder: Path) -> Path:
    """The program with ggml's attention."""
    own = ggml / "src" / "ggml-cpu"
    includes = [f"-I{ggml / 'include'}", f"-I{ggml / 'src'}", f"-I{own}", "-D_GNU_SOURCE"]
    names = [f"-D{name}={name}_of_threads" for name in _OF_THREADS]
    version = ['-DGGML_VERSION="0"', '-DGGML_COMMIT="0"']
    c, cpp = ["-std=gnu11", *includes, *version], ["-std=gnu++20", "-lc++", *includes]
    sources = {
        DRIVER: c,
        own / "ops.cpp": cpp,
        own / "vec.cpp": cpp,
        own / "ggml-cpu.c": [*c, *names],
        own / "quants.c": c,
        own / "arch" / "riscv" / "quants.c": c,
        ggml / "src" / "ggml.c": c,
        ggml / "src" / "ggml-quants.c": c,
    }
    objects = []
    for number, (source, flags) in enumerate(sources.items()):
        objects.append(str(folder / f"{number}.o"))
        command = [*FLAGS, CPU, *flags, "-c", str(source), "-o", objects[-1]]
        run_zig_cc(command, timeout_s=LIMIT_S)
    program = folder / "attention"
    link = ["-static", "-Wl,--gc-sections", *objects, "-lm", "-lc++", "-o", str(program)]
    run_zig_cc(link, timeout_s=LIMIT_S)
    return program


def row(board: EmulatedBoard, program: Path, kernel: str, shape: Mapping[str, int]) -> str:
    """Cycles of ggml's attention and of this project's, at one shape.

    Raises:
        SystemExit: if one of them is wrong.
    """
    keys, size = shape["N_CTX"], shape["D_HEAD"]
    heads = (shape["KV_HEADS"], shape["G"], 1) if kernel == DECODE else (shape["H"], 1, keys)
    arguments = [str(number) for number in (*heads, keys, size)]
    done = run_in_qemu(board.emulator, program, arguments, LIMIT_S)
    if done.result.returncode != 0 or done.report is None:
        reason = done.result.stderr.strip()
        raise SystemExit(f"ggml's attention ended with {done.result.returncode}: {reason}")
    theirs = sum(region.cycles for region in parse_report(done.report))
    time_s, _ = measured(board, Step(kernel, shape, "fp16", 1, _configs(kernel, shape)))
    own = time_s * board.info.frequency_hz
    cells = (kernel, shape_text(shape), f"{theirs / 1e6:.2f} M", f"{own / 1e6:.2f} M")
    return f"| {' | '.join((*cells, f'{theirs / own:.2f}'))} |"


def _configs(kernel: str, shape: Mapping[str, int]) -> Sequence[Mapping[str, int]]:
    """A few of those that a search would try."""
    dims = next_power_of_two(shape["D_HEAD"])
    if kernel == DECODE:
        rows = next_power_of_two(shape["G"])
        fixed = {"BLOCK_SIZE_M": rows, "BLOCK_SIZE_DMODEL": dims, "SPLITS": 1}
        return [{**fixed, "BLOCK_SIZE_N": keys} for keys in (16, 64)]
    return [
        {"BLOCK_SIZE_M": rows, "BLOCK_SIZE_N": keys, "BLOCK_SIZE_DMODEL": dims}
        for rows, keys in ((16, 16), (16, 32))
    ]


if __name__ == "__main__":
    main()
