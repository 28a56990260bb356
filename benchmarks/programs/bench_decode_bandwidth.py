"""How fast one row is multiplied with weights of 4 bits, beside what DRAM gives:
python benchmarks/programs/bench_decode_bandwidth.py [--cores 1 4] [--device BOARD]

Four products of drawn sizes, whose weights, 2 to 6 MB with their scales, do not fit into L2.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import numpy as np
from bench_language_model import WEIGHT_BYTES, Step, measured

from foundation.shapes import shape_text
from rvv_runner.devices import load_board, on_cores

_SEED, _DRAWN = 2026112805, 4
_LEAST_BYTES, _MOST_BYTES = 2e6, 6e6
_BLOCKS = tuple({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": columns} for columns in (64, 128))


def drawn_shapes() -> list[dict[str, int]]:
    """Sizes with uniform logarithms: multiples of 16 columns and of 32 elements along K."""
    random, shapes = np.random.default_rng(_SEED), list[dict[str, int]]()
    while len(shapes) < _DRAWN:
        columns = int(2 ** random.uniform(9, 14)) // 16 * 16
        depth = int(2 ** random.uniform(9, 13)) // 32 * 32
        if _LEAST_BYTES < columns * depth * WEIGHT_BYTES < _MOST_BYTES:
            shapes.append({"M": 1, "N": columns, "K": depth})
    return shapes


def cell(device: str, cores: int, shape: Mapping[str, int]) -> str:
    """The time on so many cores, and the weights that are read in a second."""
    board = load_board(on_cores(device, cores))
    board.open()
    time_s, _ = measured(board, Step("matmul_w4a8", shape, "i8", 1, _BLOCKS))
    size_bytes = shape["N"] * shape["K"] * WEIGHT_BYTES
    return f"{time_s * 1e6:.0f} us, {size_bytes / time_s / 1e9:.1f} GB/s"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--device", default="emulated")
    arguments = parser.parse_args()
    heading = ["shape", *(f"{cores} cores" for cores in arguments.cores)]
    print(f"| {' | '.join(heading)} |\n|{'---|' * len(heading)}", flush=True)
    for shape in drawn_shapes():
        cells = [cell(arguments.device, cores, shape) for cores in arguments.cores]
        print(f"| {' | '.join((shape_text(shape), *cells))} |", flush=True)


if __name__ == "__main__":
    main()
