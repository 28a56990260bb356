"""Which variant of a library's function a call takes, in the library's own C on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from triton_rvv.codegen.zig import run_zig_cc

SOURCE = Path(__file__).with_name("library_dispatch.c")
LIBRARY = Path(__file__).parents[2] / "engine" / "c_library"
LAUNCHERS = Path(__file__).parents[2] / "launchers"
HEADER = "enum { TUNED_OK, TUNED_WRONG_MACHINE, TUNED_BAD_SIZE, TUNED_BAD_STRIDE, "
HEADER += (
    "TUNED_NULL_ARRAY, TUNED_TOO_LARGE, TUNED_OVERLAP, TUNED_OUT_OF_MEMORY, TUNED_NO_CODE };\n"
)
HEADER += "int tuned_status(void);\nconst char *tuned_message(int status);\n"

ONE = 1
# Every program of a 7 x 5 x 3 grid once: 105 programs, and the sums of their places.
LARGE = 105 + 3 * 5 * 21 + 100 * 7 * 3 * 10 + 10000 * 7 * 5 * 3
NO_CODE = 8


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dispatch")
    (folder / "tuned.h").write_text(HEADER)
    folders = [f"-I{each}" for each in (folder, LIBRARY, LAUNCHERS)]
    command = ["-O1", *folders, str(SOURCE), "-o", str(folder / "program")]
    run_zig_cc(command, timeout_s=200, backend="host")
    return folder / "program"


@pytest.mark.parametrize(
    ("rows", "columns", "status", "ran"),
    [
        (16, 64, 0, ONE),  # tuned here
        (1024, 64, 0, LARGE),
        (127, 64, 0, ONE),  # the geometric mean of 16 and 1024 is 128
        (129, 64, 0, LARGE),
        (1, 1, 0, ONE),
        (0, 0, 0, ONE),
        (2000000000, 3, 0, LARGE),
        (1024, 65, 0, ONE),  # what covers 64 columns is wrong here, however near
        (16, 65, 0, LARGE),
        (16, 256, 0, LARGE),
        (16, 257, NO_CODE, 0),  # another vector length has code for it
    ],
)
@pytest.mark.parametrize("threads", [1, 4])
def test_the_nearest_that_covers_runs_every_program_once(
    program, rows, columns, status, ran, threads
):
    assert called(program, "sizes", rows, columns, threads) == [str(status), str(ran)]


@pytest.mark.parametrize(("threads", "ran"), [(1, ONE), (2, ONE), (3, LARGE), (8, LARGE)])
def test_a_call_takes_what_was_tuned_on_the_nearest_number_of_cores(program, threads, ran):
    assert called(program, "cores", 64, 64, threads) == ["0", str(ran)]


@pytest.mark.parametrize(
    ("function", "rows", "ran"),
    [("measured", 64, LARGE), ("measured", 65, ONE), ("apart", 64, ONE)],
)
def test_what_was_measured_runs_at_its_sizes_with_rows_together(program, function, rows, ran):
    assert called(program, function, rows, 64, 1) == ["0", str(ran)]


def called(program: Path, *arguments: object) -> list[str]:
    command = [str(program), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=200
    ).stdout.split()
