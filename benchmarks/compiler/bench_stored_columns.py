"""Products by the X60's matrix unit with B stored by rows and by columns, as weights often are:
python benchmarks/compiler/bench_stored_columns.py [--device BOARD]

The sizes are drawn by a seed. Each product is checked, and its time is the shorter one of two block
sizes.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import triton
import triton.language as tl

from foundation.command_line import run_script
from foundation.scratch import scratch_folder
from launchers.arguments import Argument
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from rvv_runner.board import Board
from rvv_runner.devices import load_board
from rvv_runner.measurement import ElfArtifact
from triton_rvv.codegen.link import link_elf
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.target import RVVTarget

__all__ = ["product_time_s"]

Sizes = tuple[int, int, int]

_SIGNATURE = {"a": "*i8", "b": "*i8", "c": "*i32", "M": "i32", "N": "i32", "K": "i32"}
_BLOCKS: Sequence[Sizes] = ((128, 128, 256), (256, 256, 256))
_REPEATS, _LIMIT_S = 3, 100.0
_SEED, _DRAWN, _WORKED_ON = 20261130, 6, 3


@triton.jit
def product_kernel(
    a, b, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BY_COLUMN: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    in_m, in_n = m[:, None] < M, n[None, :] < N
    total = tl.zeros((BM, BN), tl.int32)
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        b_places = n[None, :] * K + k[:, None] if BY_COLUMN else k[:, None] * N + n[None, :]
        x = tl.load(a + m[:, None] * K + k[None, :], mask=in_m & (k[None, :] < K), other=0)
        y = tl.load(b + b_places, mask=in_n & (k[:, None] < K), other=0)
        total = tl.dot(x, y, total, out_dtype=tl.int32)
    tl.store(c + m[:, None] * N + n[None, :], total, mask=in_m & in_n)


def product_time_s(board: Board, sizes: Sizes, blocks: Sizes, by_column: bool) -> float:
    """The time of a product of so many rows, columns and steps along K.

    Raises:
        RuntimeError: if it is wrong or does not run.
    """
    m, n, k = sizes
    random = np.random.default_rng(sum(sizes))
    a, b = (random.integers(-128, 128, shape, dtype=np.int8) for shape in ((m, k), (k, n)))
    stored = np.ascontiguousarray(b.T if by_column else b)
    target = RVVTarget.named("x60-ime")
    constants = {**dict(zip(("BM", "BN", "BK"), blocks, strict=True)), "BY_COLUMN": by_column}
    kernel = compile_kernel(product_kernel, _SIGNATURE, constants, target, disjoint_arguments=True)
    arguments = [
        Argument("a", "*i8", a.reshape(-1)),
        Argument("b", "*i8", stored.reshape(-1)),
        Argument("c", "*i32", None, (a.astype(np.int32) @ b).reshape(-1)),
        *(Argument(name, "i32", size) for name, size in zip("MNK", sizes, strict=True)),
    ]
    with scratch_folder("stored-columns-") as folder:
        artifact = _artifact(kernel.object, target, arguments, folder, sizes, blocks)
        measurement = board.measure(artifact, _REPEATS, _LIMIT_S)
    if measurement.time_s is None:
        raise RuntimeError(f"{sizes} is {measurement.status}: {measurement.reason}")
    return measurement.time_s


def _artifact(
    code: bytes, target: RVVTarget, arguments: Sequence[Argument], folder: Path,
    sizes: Sizes, blocks: Sizes,
) -> ElfArtifact:  # fmt: skip
    compiled, elf = folder / "kernel.o", folder / "kernel.elf"
    compiled.write_bytes(code)
    link_elf([compiled, launcher_object(target)], elf)
    write_data_file(folder / "kernel.data", arguments)
    digest = hashlib.sha256(elf.read_bytes()).hexdigest()
    grid = (-(-sizes[0] // blocks[0]), -(-sizes[1] // blocks[1]), 1)
    return ElfArtifact(elf, digest, folder / "kernel.data", grid, 256, kernel="product_kernel")


def drawn_sizes() -> list[Sizes]:
    """M and N from 32 to 512 and K from 64 to 1024 with uniform logarithms.

    Of each three, the first two have a K that is a multiple of 16.
    """
    logs = np.random.default_rng(_SEED).uniform([5, 5, 6], [9, 9, 10], (_DRAWN, 3))
    found = []
    for number, (m, n, k) in enumerate((2**logs).tolist()):
        depth = 16 * round(k / 16) if number % 3 < 2 else round(k)
        found.append((round(m), round(n), depth))
    return found


def main(argv: Sequence[str]) -> None:
    """Print the table of those that were not worked on."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="emulated:x60-ime")
    board = load_board(parser.parse_args(argv).device)
    board.open()
    print("| | B by rows, us | B by columns, us |\n|---|---|---|")
    for sizes in drawn_sizes()[_WORKED_ON:]:
        by_row, by_column = (
            min(product_time_s(board, sizes, blocks, is_by_column) for blocks in _BLOCKS) * 1e6
            for is_by_column in (False, True)
        )
        print(f"| {'x'.join(map(str, sizes))} | {by_row:.0f} | {by_column:.0f} |", flush=True)


if __name__ == "__main__":
    run_script(lambda: main(sys.argv[1:]))
