"""Builds math kernels from checkouts of XNNPACK and veclibm and runs them on an emulated board."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from truth_build import build_program
from truth_routines import Estimate

from rvv_runner.emulated.counters import parse_report
from rvv_runner.emulated.run import Emulator, run_in_qemu

__all__ = ["MATH_FILE", "MathKernel", "run_math_kernel"]

MATH_FILE = "x60_math.tsv"

_DRIVER = Path(__file__).with_name("truth_math.c")
_CPU = "-mcpu=baseline_rv64+v+zfh+zvfh+zba+zbb+zbs"
_RUN_TIMEOUT_S = 300.0
_CACHED_BYTES = 512 << 10
# The type in C, its size in bytes, and the least and the most input.
_ELEMENTS = {
    "f16": ("_Float16", 2, "-10.0", "10.0"),
    "f32": ("float", 4, "-10.0", "10.0"),
    "qs8": ("int8_t", 1, "-128", "127"),
    "qu8": ("uint8_t", 1, "0", "255"),
}


@dataclass(frozen=True)
class MathKernel:
    """A kernel of one of the libraries at one size.

    Args:
        library: "XNNPACK" or "veclibm".
        name: the function's; of one with slopes, its regime may follow, such as "@-1" where the
            first slope is -1.
        elements: of its input and output.
    """

    library: str
    name: str
    elements: int

    @property
    def group(self) -> str:
        """The function that it computes, which may have kernels for several LMULs."""
        return f"{re.sub('_u[0-9]v', '', self.name)} {self.elements}"

    @property
    def function(self) -> str:
        """Its name in C."""
        return self.name.partition("@")[0]


def run_math_kernel(emulator: Emulator, checkout: Path, kernel: MathKernel) -> Estimate:
    """Its estimate. What fits into the caches has run before, as where it was measured.

    Raises:
        OSError: if the checkout lacks its source.
        ZigError: if it does not compile.
        RuntimeError: if it fails.
    """
    flags, sources, element_bytes = _build(checkout.absolute(), kernel)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "run"
        flags = [_CPU, "-O3", "-w", f"-DKERNEL={kernel.function}", *flags]
        if kernel.library == "XNNPACK":  # its public header includes one of another library
            header = "typedef struct pthreadpool *pthreadpool_t;"
            (Path(folder) / "pthreadpool.h").write_text(header, encoding="utf-8")
            flags.append(f"-I{folder}")
        build_program(flags, [*sources, _DRIVER], program)
        fits = kernel.elements * element_bytes * 2 <= _CACHED_BYTES
        run = run_in_qemu(emulator, program, (str(kernel.elements), str(int(fits))), _RUN_TIMEOUT_S)
    if run.result.returncode != 0 or run.report is None:
        raise RuntimeError(f"{kernel.name} ended with status {run.result.returncode}")
    (region,) = parse_report(run.report)
    return Estimate(region.cycles, region.counters)


def _build(checkout: Path, kernel: MathKernel) -> tuple[list[str], Sequence[Path], int]:
    """Flags, sources and the size of an element in bytes."""
    if kernel.library == "veclibm":
        function = kernel.name.removeprefix("rvvlm_")
        tables = sorted((checkout / "src").glob("*_tbl.c"))
        flags = [f"-I{checkout}/include", "-DELEMENT=double", "-DLOW=0.0", "-DHIGH=1.0"]
        return flags, [checkout / "src" / f"rvvlm_{function}D.c", *tables], 8
    stem = kernel.function.removeprefix("xnn_").replace("_ukernel__", "_").replace("_", "-")
    number, function, _ = stem.split("-", 2)
    element, element_bytes, low, high = _ELEMENTS[number]
    flags = [f"-I{checkout}", f"-I{checkout}/include", f"-DELEMENT={element}", "-DCOUNTS_BYTES"]
    flags += [f"-DLOW={low}", f"-DHIGH={high}", "-DNDEBUG", "-DXNN_ENABLE_RISCV_FP16_VECTOR=1"]
    if "prelu" in function:
        flags.append(f"-DSLOPE={kernel.name.partition('@')[2] or '-1'}")
    return flags, [checkout / "src" / f"{number}-{function}" / "gen" / f"{stem}.c"], element_bytes
