"""Times the link of a kernel object with the launcher: python benchmarks/compiler/bench_link.py."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import launchers
from launchers.objects import launcher_object
from triton_rvv.codegen.link import link_elf, warm_up
from triton_rvv.codegen.zig import run_zig_cc
from triton_rvv.targets.target import RVVTarget

__all__ = ["link_times_s"]

REPETITIONS = 20

KERNEL = """
#include "kernel_abi.h"
const char triton_rvv_kernel_name[] = "scale_kernel";
const uint32_t triton_rvv_vlen_bits = 256;
void triton_rvv_kernel(const uint64_t *args, uint32_t x, uint32_t y, uint32_t z,
                       uint32_t num_x, uint32_t num_y, uint32_t num_z) {
    ((float *)args[0])[x] *= 2;
}
"""


def link_times_s(repetitions: int) -> list[float]:
    """Seconds of each of several links, with a warm cache."""
    warm_up()
    launcher = launcher_object(RVVTarget())
    times_s = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "kernel.c").write_text(KERNEL, encoding="utf-8")
        include = Path(launchers.__file__).parent
        run_zig_cc(
            ["-c", "-O2", f"-I{include}", "kernel.c", "-o", "kernel.o"],
            timeout_s=120,
            folder=folder,
        )
        for _ in range(repetitions):
            start_s = time.perf_counter()
            link_elf([folder / "kernel.o", launcher], folder / "kernel.elf")
            times_s.append(time.perf_counter() - start_s)
    return times_s


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    times_s = link_times_s(REPETITIONS)
    print(
        f"link to a static ELF, warm: median {statistics.median(times_s) * 1e3:.1f} ms, "
        f"largest {max(times_s) * 1e3:.1f} ms, of {REPETITIONS}"
    )


if __name__ == "__main__":
    main()
