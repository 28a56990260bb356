"""The launcher's C under the address and undefined-behaviour sanitizers, on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import launchers
from launchers import STORAGE_TYPES, Argument, objects
from launchers.data_file import write_data_file
from launchers.output import ExitStatus

FOLDER = Path(launchers.__file__).parent
SOURCES = [str(FOLDER / name) for name in objects.SOURCES]
FLAGS = ["-std=gnu11", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

KERNEL = """
#include <string.h>
#include "kernel_abi.h"
const char triton_rvv_kernel_name[] = "kernel";
const uint32_t triton_rvv_vlen_bits = 256;
void triton_rvv_kernel(const uint64_t *args, uint32_t x, uint32_t y, uint32_t z,
                       uint32_t num_x, uint32_t num_y, uint32_t num_z) {
    (void)args, (void)x, (void)y, (void)z, (void)num_x, (void)num_y, (void)num_z;
    %s
}
"""

# Copies every odd argument from the one before it; the sizes in bytes are the last arguments.
COPY = """for (int i = 0; i < %d; i++)
        memcpy((void *)args[2 * i + 1], (void *)args[2 * i], args[%d + i]);"""


def build(folder: Path, body: str, more: str = "", flags: Sequence[str] = FLAGS) -> Path:
    source, program = folder / "kernel.c", folder / "program"
    source.write_text(more + KERNEL.replace("%s", body))
    command = ["gcc", *flags, f"-I{FOLDER}", str(source), *SOURCES, "-lm", "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=200)
    return program


@pytest.fixture(scope="module")
def copier(tmp_path_factory):
    kinds = len(STORAGE_TYPES)
    return build(tmp_path_factory.mktemp("copier"), COPY % (kinds, 2 * kinds))


def run(program: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """What a program ends with; a sanitizer's report is a failure."""
    command = [str(program), *map(str, arguments)]
    # The launcher leaves its memory to the system.
    environment = {"ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert "Sanitizer" not in done.stderr, done.stderr
    assert "runtime error" not in done.stderr, done.stderr
    return done


def every_type(wrong: bool = False) -> list[Argument]:
    pairs, sizes = [], []
    for kind, storage in STORAGE_TYPES.items():
        value = (np.arange(65) % 2).astype(storage)
        expected = value.copy()
        expected[-1] += wrong
        pairs += [Argument(f"in_{kind}", f"*{kind}", value)]
        pairs += [Argument(f"out_{kind}", f"*{kind}", None, expected)]
        sizes.append(Argument(f"size_{kind}", "i64", value.nbytes))
    return [*pairs, *sizes]


@pytest.mark.parametrize(
    ("wrong", "status"), [(False, ExitStatus.OK), (True, ExitStatus.WRONG_OUTPUT)]
)
def test_every_type_is_read_checked_and_timed(copier, tmp_path, wrong, status):
    write_data_file(tmp_path / "data", every_type(wrong))
    done = run(copier, tmp_path / "data", "--grid", "2,3,1", "--repeats", "3", "--warmup", "1")
    assert done.returncode == status, done


# Asked for the size of a page, a system answers so that has larger ones.
LARGE_PAGES = """
#include <sys/auxv.h>
unsigned long getauxval(unsigned long type) { return type == AT_PAGESZ ? 65536 : 0; }
"""


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        pytest.param(
            "((char *)args[0])[999] = 7;", ExitStatus.OK, "out OK", marks=pytest.mark.long
        ),
        ("((char *)args[0])[999] = 7; ((char *)args[0])[1000] = 1;", 1, "index=1000 "),
        pytest.param(
            "((char *)args[0])[999] = 7; ((char *)args[0])[-1] = 1;",
            1,
            "index=-1 ",
            marks=pytest.mark.long,
        ),
        ("((char *)args[0])[1023] = 7; ((char *)args[0])[1024] = 1;", 6, "index=1024 "),
    ],
    ids=["within", "behind", "before", "into-the-guard"],
)
def test_guards_lie_at_large_pages_too(tmp_path, body, status, says):
    program = build(tmp_path, body, more=LARGE_PAGES, flags=["-std=gnu11", "-O1"])
    value = np.zeros(1000, np.uint8)
    expected = value.copy()
    expected[999] = 7
    write_data_file(tmp_path / "data", [Argument("a", "*u8", value, expected)])
    done = run(program, tmp_path / "data", "--grid", "1,1,1")
    assert done.returncode == status, done
    assert says in done.stdout


def test_damaged_files_are_refused_or_compared(tmp_path):
    idle, path = build(tmp_path, ""), tmp_path / "data"
    write_data_file(path, every_type())
    whole, random, statuses = path.read_bytes(), np.random.default_rng(1), set()
    for _ in range(60):
        damaged = bytearray(whole)
        for place in random.integers(0, 3000, 3):
            damaged[place] = random.integers(0, 256)
        path.write_bytes(damaged)
        statuses.add(run(idle, path, "--grid", "1,1,1", "--repeats", "1").returncode)
    assert statuses == {ExitStatus.USAGE, ExitStatus.WRONG_OUTPUT}
