"""The X60's matrix unit beside what others measured on boards:
python benchmarks/compiler/bench_matrix_unit.py [--drawn] [--device BOARD] [--out FILE]

The published figures are those of ime-bench (2026, on an Orange Pi RV2 at 1.6 GHz), and so are the
loops in the L1 cache. Whole products are this project's own code for `matmul` of 8-bit integers at
its sizes: of a few block sizes, the fastest. --drawn takes six products of sizes drawn by a seed in
their place. On a board, FILE has every figure, to be sent back.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from matrix_loops import OPERATIONS, Loop, artifact_of, one_by_one, pipelined, tiles

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.command_line import run_script
from foundation.config import Config
from foundation.scratch import scratch_folder
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import Board
from rvv_runner.devices import load_board, on_cores
from search_spaces.rules import next_power_of_two

REPEATS = 5  # on a board whose times vary
_LIMIT_S = 200.0


@dataclass(frozen=True)
class Row:
    """One figure.

    Args:
        what: was measured.
        published: on a board; "" where none was.
        gops: operations a second, in billions; a product and its sum are two.
        instruction_cycles: for one instruction of the unit.
    """

    what: str
    published: str
    gops: float
    instruction_cycles: float


LOOPS: Mapping[str, tuple[Loop, str]] = {
    "8x16 tile in L1, loads pipelined": (pipelined(), "1.80 to 1.91 cycles"),
    "the same, loads first": (one_by_one(), "2.77 cycles"),
    "the same pipelined, sums cleared and stored": (tiles(), "193 GOP/s"),
}

PRODUCTS: Sequence[tuple[Mapping[str, int], int, str]] = (
    ({"M": 256, "N": 256, "K": 256}, 1, "33 GOP/s"),
    ({"M": 768, "N": 768, "K": 512}, 1, "42 GOP/s, with B packed beforehand 68"),
    ({"M": 768, "N": 768, "K": 512}, 4, "80 GOP/s"),
    ({"M": 256, "N": 512, "K": 256}, 1, ""),
    ({"M": 256, "N": 512, "K": 256}, 4, ""),
)
# Rows and columns of a block, and its depth at most. Several cores take smaller ones.
_BLOCKS = ((64, 128, 512), (128, 256, 256), (256, 256, 256), (256, 512, 256))
_SEED, _DRAWN, _SMALLEST, _LARGEST = 20261202, 6, 32, 512


def loop_row(what: str, loop: Loop, published: str, board: Board) -> Row:
    """The measurement of a loop."""
    with scratch_folder("matrix-loop-") as folder:
        measurement = board.measure(artifact_of(loop, folder), REPEATS, _LIMIT_S)
    if measurement.time_s is None:
        raise SystemExit(f"{what}: {measurement.status}, {measurement.reason}")
    return _row(what, published, OPERATIONS * loop.instructions, measurement.time_s, board)


def product_row(
    shape: Mapping[str, int], published: str, board: Board, store: ArtifactStore
) -> Row:
    """The fastest of a few configurations of a product."""
    spec = load_kernel("matmul")
    problem = make_problem(spec, shape, "i8")
    request = BuildRequest("matmul", problem.shape, "i8", board.info.target, store)
    builder, times_s = KernelBuilder(request), []
    for rows, columns, most in _BLOCKS:
        depth = min(most, next_power_of_two(shape["K"]))
        sizes = {"BLOCK_SIZE_M": rows, "BLOCK_SIZE_N": columns, "BLOCK_SIZE_K": depth}
        built = builder.build(Config({**sizes, "GROUP_SIZE_M": 1}))
        if isinstance(built, BuildFailure):
            raise SystemExit(f"a product does not build: {built.reason}")
        measurement = board.measure(built, REPEATS, _LIMIT_S)
        if measurement.time_s is None:
            raise SystemExit(f"a product is {measurement.status}: {measurement.reason}")
        times_s.append(measurement.time_s)
    cores = board.info.used_cores
    what = f"product of {'x'.join(map(str, shape.values()))}" + (f", {cores} cores" * (cores > 1))
    return _row(what, published, spec.flops(problem), min(times_s), board)


def drawn_shapes() -> list[dict[str, int]]:
    """Sizes of products; their logarithms are uniform."""
    low, high = math.log2(_SMALLEST), math.log2(_LARGEST)
    sizes = 2 ** np.random.default_rng(_SEED).uniform(low, high, (_DRAWN, 3))
    return [dict(zip("MNK", map(round, each), strict=True)) for each in sizes.tolist()]


def _row(what: str, published: str, operations: float, time_s: float, board: Board) -> Row:
    cycles = time_s * board.info.frequency_hz * board.info.used_cores
    return Row(what, published, operations / time_s / 1e9, cycles * OPERATIONS / operations)


def main(argv: Sequence[str]) -> None:
    """Print the table; with --out, write it too."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="emulated:x60-ime")
    parser.add_argument("--drawn", action="store_true", help="products of drawn sizes alone")
    parser.add_argument("--out", type=Path, help="a file for the figures")
    arguments = parser.parse_args(argv)
    board = load_board(arguments.device)
    board.open()
    print(
        "| | published, of a board | this device | cycles for an instruction |\n|---|---|---|---|"
    )
    rows = []

    def add(row: Row) -> None:
        rows.append(row)
        figures = f"{row.gops:.0f} GOP/s | {row.instruction_cycles:.2f}"
        print(f"| {row.what} | {row.published or '-'} | {figures} |", flush=True)

    products: Sequence[tuple[Mapping[str, int], int, str]] = PRODUCTS
    if arguments.drawn:
        products = [(shape, 1, "") for shape in drawn_shapes()]
    for what, (loop, published) in () if arguments.drawn else LOOPS.items():
        add(loop_row(what, loop, published, board))
    with scratch_folder("matrix-products-") as folder:
        store = ArtifactStore(folder)
        for shape, cores, published in products:
            used = board if cores == 1 else load_board(on_cores(arguments.device, cores))
            used.open()
            add(product_row(shape, published, used, store))
    if arguments.out is not None:
        arguments.out.write_text(
            json.dumps({"board": asdict(board.info), "rows": [asdict(row) for row in rows]})
        )


if __name__ == "__main__":
    run_script(lambda: main(sys.argv[1:]))
