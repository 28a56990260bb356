"""Times the GEMM micro-kernels inside published BPI-F3 executables on an emulated board.

The executables and their logs come from a checkout of
BabarHussain786/riscv-openblas-gemm-accelerator, which has no licence: nothing of it is kept here.
"""

from __future__ import annotations

import re
import statistics
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rvv_runner.emulated.counters import parse_report
from rvv_runner.emulated.run import Emulator, run_in_qemu
from triton_rvv.codegen.zig import run_zig_cc

__all__ = ["GemmKernel", "build_loader", "read_gemm_kernels", "run_gemm"]

_TIMEOUT_S = 300.0
_RATE = re.compile(r"^G(?:FL)?OPS: ([\d.]+)", re.MULTILINE)
_SHAPE = re.compile(r"^M=(\d+) N=(\d+) K=(\d+)", re.MULTILINE)
_TILE = re.compile(r"_(\d+)x(\d+)_")
_KINDS = {"sgemm": "s", "dgemm": "d", "igemm": "i"}
_SOURCE = Path(__file__).with_name("truth_gemm.c")
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True)
class GemmKernel:
    """A published micro-kernel.

    Args:
        suite: the folder of its kind and tile.
        name: its own folder, which says LMUL and unrolling.
        executable: the published ELF file.
        kind: "s", "d" or "i".
        tile: rows and columns of its main loop.
        size: of the square product that was measured.
        gflops: the median of the published runs.
    """

    suite: str
    name: str
    executable: Path
    kind: str
    tile: tuple[int, int]
    size: int
    gflops: float


def read_gemm_kernels(checkout: Path) -> tuple[GemmKernel, ...]:
    """The kernels that come with an executable and a log of square products.

    Raises:
        OSError: if the checkout cannot be read.
    """
    return tuple(sorted(_kernels(checkout), key=lambda kernel: (kernel.suite, kernel.name)))


def _kernels(checkout: Path) -> Iterator[GemmKernel]:
    for executable in checkout.glob("kernels*/*/*/bench"):
        folder = executable.parent
        logs = sorted(folder.parent.glob(f"summary_results/{folder.name}_*.log"))
        logs += sorted(folder.glob("*.log"))
        for log in logs:
            text = log.read_text(encoding="utf-8", errors="replace")
            rates = [float(rate) for rate in _RATE.findall(text)]
            shapes = set(_SHAPE.findall(text))
            tile = _TILE.search(folder.name)
            if rates and len(shapes) == 1 and tile is not None:
                m, n, k = map(int, shapes.pop())
                if m == n == k:
                    kind = _KINDS[folder.name.split("_")[0]]
                    rows_columns = (int(tile[1]), int(tile[2]))
                    rate = statistics.median(rates)
                    yield GemmKernel(
                        folder.parent.name, folder.name, executable, kind, rows_columns, m, rate
                    )
                    break


def build_loader(folder: Path) -> Path:
    """The program that loads and times them, linked where they are not.

    Raises:
        ZigError: if it does not compile.
    """
    output = folder / "gemm_loader"
    flags = ["-O2", "-static", "-Wl,--image-base=0x40000000", "-mcmodel=medany"]
    run_zig_cc([*flags, str(_SOURCE), "-o", str(output)], timeout_s=_TIMEOUT_S)
    return output


def run_gemm(
    emulator: Emulator, loader: Path, kernel: GemmKernel, frequency_hz: float
) -> tuple[float, Mapping[str, float]]:
    """Estimated GFLOP/s of a part of the published product that repeats throughout it, and the
    counters of the run.

    Raises:
        RuntimeError: if it fails.
    """
    rows, columns = kernel.tile
    symbols = _symbols(kernel.executable)
    function = next(
        address
        for name, address in symbols.items()
        if address and re.match(r"[sdi]gemm_kernel", name)
    )
    m, warm = rows * 3, rows  # each tile goes through the panel of B once more
    numbers = (m, columns, kernel.size, kernel.size, warm)
    arguments: list[str | Path] = [
        kernel.executable,
        f"{function:x}",
        f"{symbols.get('__global_pointer$', 0):x}",
        kernel.kind,
        *map(str, numbers),
    ]
    run = run_in_qemu(emulator, loader, arguments, _TIMEOUT_S)
    if run.result.returncode != 0 or run.report is None:
        raise RuntimeError(f"{kernel.name} ended with status {run.result.returncode}")
    (region,) = parse_report(run.report)
    gflops = 2.0 * m * columns * kernel.size * frequency_hz / region.cycles / 1e9
    return gflops, region.counters


def _symbols(path: Path) -> dict[str, int]:
    """Addresses of an ELF64 file's symbols."""
    data = path.read_bytes()
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQII", data, offset + i * size) for i in range(count)]
    found = {}
    for _, kind, _, _, start, length, link, _ in sections:
        if kind == 2:  # SHT_SYMTAB
            strings = sections[link][4]
            for at in range(start, start + length, _SYMBOL.size):
                name, _, _, _, address, _ = _SYMBOL.unpack_from(data, at)
                end = data.index(b"\0", strings + name)
                found[data[strings + name : end].decode()] = address
    return found
