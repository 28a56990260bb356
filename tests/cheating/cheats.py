"""The kernels in in_c/: their names, how they are built, and the arguments for each."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

import launchers
from launchers import Argument
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from rvv_runner import ElfArtifact, Measurement
from triton_rvv.codegen.link import link_elf
from triton_rvv.codegen.zig import run_zig_cc
from triton_rvv.targets.target import Target

__all__ = ["CHEATS", "FOILED", "HONEST", "artifact", "build", "skip_if_starved"]

COUNT = 1000
PROGRAMS = 4
_FOLDER = Path(__file__).parent / "in_c"
_FILES = ("runs.c", "outputs.c", "bounds.c", "reports.c", "left_to_others.c", "process.c")
_SOURCE = "".join((_FOLDER / name).read_text() for name in _FILES)
_NAMES = re.findall(r"^(?:HONEST|CHEAT|FOILED)\((\w+)\)", _SOURCE, re.MULTILINE)
HONEST = re.findall(r"^HONEST\((\w+)\)", _SOURCE, re.MULTILINE)
FOILED = re.findall(r"^FOILED\((\w+)\)", _SOURCE, re.MULTILINE)
CHEATS = re.findall(r"^CHEAT\((\w+)\)", _SOURCE, re.MULTILINE)

_ENTRY = """
static void (*const kernels[])(struct job) = {{{names}}};
const char triton_rvv_kernel_name[] = "cheating_kernel";
const uint32_t triton_rvv_vlen_bits = {vlen_bits};
void triton_rvv_kernel(const uint64_t *args, uint32_t x, uint32_t y, uint32_t z,
                       uint32_t num_x, uint32_t num_y, uint32_t num_z) {{
    (void)y, (void)z, (void)num_y, (void)num_z;
    struct job job = {{(float *)args[0], (float *)args[1], (int *)args[2], (int64_t *)args[3], x}};
    kernels[args[4]](job);
    runs += x == num_x - 1;
}}
"""


def build(folder: Path, target: Target) -> ElfArtifact:
    """One executable with every kernel."""
    entry = _ENTRY.format(names=", ".join(_NAMES), vlen_bits=target.vector_bits)
    included = "".join(f'#include "{name}"\n' for name in _FILES)
    (folder / "kernel.c").write_text(included + entry)
    include = Path(launchers.__file__).parent
    run_zig_cc(
        ["-c", "-O1", f"-I{include}", f"-I{_FOLDER}", "kernel.c", "-o", "kernel.o"],
        timeout_s=200,
        folder=folder,
        backend=target.backend,
    )
    elf = folder / "kernel.elf"
    link_elf([folder / "kernel.o", launcher_object(target)], elf, target.backend)
    digest = hashlib.sha256(elf.read_bytes()).hexdigest()
    data, bits = folder / "data", target.vector_bits
    return ElfArtifact(elf, digest, data, (PROGRAMS, 1, 1), bits, kernel="cheating_kernel")


def artifact(built: ElfArtifact, name: str, folder: Path) -> ElfArtifact:
    """One of the kernels with its arguments."""
    data = folder / f"{name}.data"
    check = np.arange(COUNT, dtype=np.float32)
    timed = np.random.default_rng(1).standard_normal(COUNT).astype(np.float32)
    write_data_file(data, _arguments(name, check), _arguments(name, timed))
    return dataclasses.replace(built, data_path=data)


def skip_if_starved(measurement: Measurement) -> None:
    """End the test here if this machine was too busy to tell how long a kernel takes.

    The tuner gives such a configuration back, so it is not accepted either.
    """
    if measurement.status == "board" and "it got a processor for" in measurement.reason:
        pytest.skip(measurement.reason)


def _arguments(name: str, x: np.ndarray) -> list[Argument]:
    state = np.zeros(16, np.int32)
    state[0] = 5
    total = np.array([100], np.int64)
    return [
        Argument("x", "*fp32", x),
        Argument("y", "*fp32", None, 2 * x + 1, atol=1e-6, rtol=1e-6),
        Argument("state", "*i32", state),
        Argument("total", "*i64", total, total + COUNT * (COUNT - 1) // 2),
        Argument("which", "i32", _NAMES.index(name)),
    ]
