"""How close the best blocks come to the emulated X60's peak: python benchmarks/bench_matmul.py."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from c_matmul import build_c_matmul

from rvv_runner import ElfArtifact
from rvv_runner.board_file import read_board_file
from rvv_runner.emulated.board import EmulatedBoard

__all__ = ["loop_nest_cycles", "tuned_cycles"]

SHAPES = ((256, 512, 256), (256, 480, 256), (128, 128, 128))
TRIALS = 40
LIMIT_S = 900.0
# One 8-lane multiply-add per cycle: 256-bit registers of float32.
LANES = 8


def tuned_cycles(shape: tuple[int, int, int], storage: Path) -> tuple[str, float]:
    """The winner of a study, and its estimated cycles."""
    sizes = ",".join(f"{name}={size}" for name, size in zip("MNK", shape, strict=True))
    command = [sys.executable, "-m", "engine.tune", "matmul", "--json", "--shape", sizes]
    command += ["--trials", str(TRIALS), "--storage", str(storage)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if run.returncode != 0:
        raise SystemExit(f"engine.tune ended with {run.returncode}: {run.stderr[-400:]}")
    winner = json.loads(run.stdout)["winner"]
    names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K")
    block = "x".join(str(winner["config"][name]) for name in names)
    return block, winner["counters"]["u_mode_cycle"]


def loop_nest_cycles(shape: tuple[int, int, int], folder: Path) -> float:
    """Estimated cycles of the C loop nest, compiled by clang -O3 for the same core."""
    flags = ["-O3", "-mcpu=baseline_rv64+v+zvl256b"]
    artifact = build_c_matmul("matmul_loops.c", flags, folder, shape, (1, 1, 1))
    return _cycles(artifact)


def _cycles(artifact: ElfArtifact) -> float:
    board = EmulatedBoard(read_board_file("x60"))
    board.open()
    measurement = board.measure(artifact, 1, LIMIT_S)
    if measurement.status != "correct":
        raise SystemExit(f"the kernel is {measurement.status}: {measurement.reason}")
    return measurement.counters["u_mode_cycle"]


def main() -> None:
    print(f"float32 matmul on one emulated X60 core, best of {TRIALS} trials; cycles are estimates")
    for shape in SHAPES:
        m, n, k = shape
        peak = m * n * k / LANES
        with tempfile.TemporaryDirectory() as folder:
            block, cycles = tuned_cycles(shape, Path(folder, "study.journal"))
            plain = loop_nest_cycles(shape, Path(folder))
        print(
            f"{m}x{n}x{k}: blocks {block} {cycles / 1e6:.2f}M cycles, {peak / cycles:.1%} of peak; "
            f"clang -O3 on a loop nest {plain / 1e6:.2f}M, {peak / plain:.1%} of peak"
        )


if __name__ == "__main__":
    main()
