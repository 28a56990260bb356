"""Compares the emulated board with plain QEMU: python benchmarks/boards/bench_emulator.py."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from c_matmul import build_c_matmul

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from rvv_runner import ElfArtifact
from rvv_runner.board_file import read_board_file
from rvv_runner.emulated.board import EmulatedBoard
from triton_rvv.targets.target import RVVTarget

__all__ = ["build_handwritten_matmul", "build_triton_matmul", "measure_ratio"]

SHAPE = (256, 512, 256)
ROUNDS = 5
TIMEOUT_S = 120.0


def build_handwritten_matmul(folder: Path, shape: tuple[int, int, int]) -> ElfArtifact:
    """The hand-written matmul of `matmul_rvv.c`, on random data of shape M, N, K."""
    m, n, _ = shape
    return build_c_matmul("matmul_rvv.c", ["-O2"], folder, shape, (n // 32, m // 4, 1))


def build_triton_matmul(folder: Path, shape: tuple[int, int, int]) -> ElfArtifact:
    """The Triton matmul with blocks of 16x32x16, at shape M, N, K."""
    sizes = dict(zip("MNK", shape, strict=True))
    store = ArtifactStore(folder.resolve() / "store")
    builder = KernelBuilder(BuildRequest("matmul", sizes, "fp32", RVVTarget(), store))
    names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M")
    built = builder.build(Config(dict(zip(names, (16, 32, 16, 8), strict=True))))
    if isinstance(built, BuildFailure):
        raise SystemExit(f"the kernel does not build: {built.reason}")
    return built


def measure_ratio(artifact: ElfArtifact, rounds: int) -> tuple[float, float]:
    """Median wall times of plain QEMU and the emulated board in seconds, measured in turns."""
    board = EmulatedBoard(read_board_file("x60"))
    board.open()
    qemu, cpu = board.emulator.qemu, board.emulator.cpu
    plain = [str(qemu), "-cpu", cpu, str(artifact.elf_path), str(artifact.data_path)]
    plain_s, board_s = [], []
    for _ in range(rounds):
        start_s = time.perf_counter()
        subprocess.run(
            [*plain, *artifact.launcher_options, "--repeats", "1"],
            check=True,
            capture_output=True,
            timeout=TIMEOUT_S,
        )
        middle_s = time.perf_counter()
        measurement = board.measure(artifact, 1, TIMEOUT_S)
        board_s.append(time.perf_counter() - middle_s)
        plain_s.append(middle_s - start_s)
        if measurement.status != "correct":
            raise SystemExit(f"the kernel is {measurement.status}: {measurement.reason}")
    return statistics.median(plain_s), statistics.median(board_s)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    shape = "x".join(map(str, SHAPE))
    print(f"matmul {shape}, check and one timed run, medians of {ROUNDS} measured in turns")
    builds = {"hand-written": build_handwritten_matmul, "Triton 16x32x16": build_triton_matmul}
    for name, build in builds.items():
        with tempfile.TemporaryDirectory() as folder:
            plain_s, board_s = measure_ratio(build(Path(folder), SHAPE), ROUNDS)
        print(
            f"{name}: plain QEMU {plain_s:.2f} s, emulated board {board_s:.2f} s, "
            f"ratio {board_s / plain_s:.2f}"
        )


if __name__ == "__main__":
    main()
