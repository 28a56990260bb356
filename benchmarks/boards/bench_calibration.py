"""Calibrates cores with changed constants:
python benchmarks/boards/bench_calibration.py [CORE ...].

For each emulated core: one like it, but with the constants of hidden_cores.py changed, is measured
by `rvv_runner calibrate` as a board would be; of CORE:SEED they are changed at random. Prints each
constant beside what was found, and what the hidden core and the one that was found say of four
kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hidden_cores import CHANGES, drawn_changes, hidden_core

from foundation.command_line import run_script
from rvv_runner.board_file import BoardFile, read_board_file
from rvv_runner.devices import load_board
from rvv_runner.emulated.costs import CostTable, read_cost_table

__all__ = ["main"]

_CORES = ("a100", "x60")
_TABLE = Path(__file__).parents[2] / "rvv_runner" / "emulated" / "x60_costs.toml"
_KERNELS = (
    ("matmul", "M=256,N=512,K=256", "BLOCK_SIZE_M=64,BLOCK_SIZE_N=64,BLOCK_SIZE_K=64"),
    ("matmul", "M=256,N=512,K=256", "BLOCK_SIZE_M=16,BLOCK_SIZE_N=16,BLOCK_SIZE_K=16"),
    ("softmax", "", ""),
    ("layernorm_fwd", "", ""),
)


def _table(board: BoardFile) -> CostTable:
    assert board.emulation is not None
    return read_cost_table(_TABLE, board.vlen_bits, board.emulation.costs)


def _cycles(device: str, kernel: str, shape: str, config: str, home: str) -> float:
    words = [sys.executable, "-m", "engine.measure", kernel, "--json", "--device", device]
    words += ["--shape", shape] if shape else []
    words += ["--config", config] if config else []
    environment = {**os.environ, "XDG_CONFIG_HOME": home}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["counters"]["u_mode_cycle"])


def _calibrated(core: str, home: str) -> float:
    """Calibrate the hidden core `hidden`, from the table of `core`; seconds that it took."""
    started_s = time.monotonic()
    words = [sys.executable, "-m", "rvv_runner", "calibrate", "--device", "emulated:hidden"]
    words += ["--write", "found", "--like", core, "--out", f"{home}/bundle.json"]
    environment = {**os.environ, "XDG_CONFIG_HOME": home}
    subprocess.run(words, env=environment, capture_output=True, check=True)
    return time.monotonic() - started_s


def _compare(core: str, seed: str) -> None:
    changes = drawn_changes(int(seed)) if seed else CHANGES
    with tempfile.TemporaryDirectory() as home:
        boards = Path(home) / "triton-rvv-tuner" / "boards"
        boards.mkdir(parents=True)
        hidden_file = hidden_core(read_board_file(core), changes)
        (boards / "hidden.toml").write_text(hidden_file, encoding="utf-8")
        took_s = _calibrated(core, home)
        hidden, found = (read_board_file(name, boards) for name in ("hidden", "found"))
        print(f"\n{core}, changed, calibrated in {took_s:.0f} s from the table of {core}\n")
        print("| constant | as on " + core + " | hidden | found | off |\n|---|---|---|---|---|")
        for change in changes:
            before = change.value(_table(read_board_file(core)))
            truth, value = change.value(_table(hidden)), change.value(_table(found))
            if truth == 0:  # a core without it, whatever the factor
                continue
            print(
                f"| {change.name} | {before:g} | {truth:g} | {value:g} | {value / truth - 1:+.1%} |"
            )
        print("\n| kernel | " + core + " | hidden | found | off |\n|---|---|---|---|---|")
        for kernel in _KERNELS:
            devices = (core, "hidden", "found")
            old, truth, value = (_cycles(f"emulated:{name}", *kernel, home) for name in devices)
            print(
                f"| {' '.join(kernel).strip()} | {old:,.0f} | {truth:,.0f} | {value:,.0f} | "
                f"{value / truth - 1:+.1%} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cores", nargs="*", metavar="CORE", help="an emulated core, or CORE:SEED")
    chosen = [core.partition(":") for core in parser.parse_args().cores or _CORES]
    for name, _, seed in chosen:
        load_board(f"emulated:{name}")  # before anything is calibrated
        if seed and not seed.isdecimal():
            parser.error(f"the seed of {name} must be a whole number, not {seed}")
    for name, _, seed in chosen:
        _compare(name, seed)


if __name__ == "__main__":
    run_script(main)
