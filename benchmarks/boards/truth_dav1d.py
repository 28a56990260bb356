"""Builds dav1d's inverse transforms from a checkout and runs them on an emulated board.

They are written in assembly, and their published times are looked at by nothing else: no figure of
any cost table was chosen by them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from truth_build import build_program
from truth_scores import Comparison

from rvv_runner.emulated.counters import parse_report
from rvv_runner.emulated.error_band import kernel_class
from rvv_runner.emulated.run import Emulator, run_in_qemu

__all__ = ["compare_transforms"]

_RECORDED = Path(__file__).parent / "recorded" / "dav1d_transforms.tsv"
_DRIVER = Path(__file__).with_name("truth_dav1d.c")
_CPU = "-mcpu=baseline_rv64+v+zba+zbb+zbs"
_RUN_TIMEOUT_S = 300.0
_RUNS = 8  # in the driver
_MEASURED_HZ = 1.6e9


def compare_transforms(emulator: Emulator, checkout: Path, core: str) -> list[Comparison]:
    """Published and estimated cycles of each transform on `core`, "x60" or "c908".

    Raises:
        OSError: if the checkout lacks a file.
        ZigError: if it does not compile.
        RuntimeError: if it fails.
    """
    lines = _RECORDED.read_text(encoding="utf-8").splitlines()
    heading, *rows = (line.split("\t") for line in lines if not line.startswith("#"))
    column = heading.index(core)
    names = sorted({row[0] for row in rows})
    checkout = checkout.absolute()
    functions = "".join(f" X(dav1d_inv_txfm_add_{name}_8bpc_rvv)" for name in names)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "run"
        (Path(folder) / "config.h").touch()  # it says nothing that the transforms ask for
        flags = [_CPU, "-O2", "-w", f"-I{folder}", f"-I{checkout}", f"-DFUNCTIONS(X)={functions}"]
        build_program(flags, [checkout / "src/riscv/64/itx.S", _DRIVER], program)
        arguments = [part for row in rows for part in (str(names.index(row[0])), row[1])]
        run = run_in_qemu(emulator, program, arguments, _RUN_TIMEOUT_S)
    if run.result.returncode != 0 or run.report is None:
        raise RuntimeError(f"the transforms ended with status {run.result.returncode}")
    return [
        Comparison(
            f"{row[0].rsplit('_', 1)[1]} {row[1]}",
            row[0],
            float(row[column]) * _MEASURED_HZ / 1e9,
            region.cycles / _RUNS,
            kernel_class(region.counters),
        )
        for row, region in zip(rows, parse_report(run.report), strict=True)
    ]
