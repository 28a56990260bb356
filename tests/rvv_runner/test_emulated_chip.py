"""Several cores of an emulated board: what they share, what each has for itself, and that two runs
give the same figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import launchers
from foundation.errors import UserError
from launchers import Argument
from rvv_runner import ElfArtifact
from rvv_runner.board_file import read_board_file
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.counters import parse_report
from rvv_runner.emulated.run import run_in_qemu
from rvv_runner.measurement import Measurement
from rvv_runner.usage import Usage
from triton_rvv.codegen.zig import run_zig_cc

TIMEOUT_S = 120
PROGRAMS = 16
LINE = 16  # elements of fp32

# A program adds up numbers in registers, then stores the sum.
COMPUTE = """
    float *out = (float *)args[0];
    float sum = 0;
    for (int i = 0; i < 3000; i++) { sum += (float)i; __asm__ volatile("" : "+f"(sum)); }
    out[x * 16] = sum > 0;
"""
# A program adds one to its part of an array of 4 MiB, far more than L2 holds.
STREAM_COUNT = 1 << 20
STREAM = """
    float *out = (float *)args[0];
    int part = (1 << 20) / num_x;
    for (int i = 0; i < part; i += 16)
        for (int k = 0; k < 16; k += 8) out[x * part + i + k] = 1;
"""
# A program counts in elements `args[1]` apart from those of its neighbours.
COUNT = """
    volatile float *out = (float *)args[0];
    int apart = (int)args[1];
    for (int i = 0; i < 400; i++) for (int j = 0; j < 4; j++) out[(j * num_x + x) * apart] += 1;
"""
# A program fills a block on its stack, and stores its sum.
ON_STACK = """
    float *out = (float *)args[0];
    volatile float block[4096];
    float sum = 0;
    for (int n = 0; n < 3; n++) {
        for (int i = 0; i < 4096; i += 16) block[i] = 1;
        for (int i = 0; i < 4096; i += 16) sum += block[i];
    }
    out[x * 16] = sum;
"""
# A program asks for the line that it stores to.
AHEAD = """
    float *out = (float *)args[0];
    __asm__ volatile(".insn i 0x13, 6, x0, %0, 1" : : "r"(&out[x * 16]));
    out[x * 16] = 1;
"""

Build = Callable[..., ElfArtifact]


def outputs(expected: np.ndarray) -> Argument:
    return Argument("out", "*fp32", np.zeros_like(expected), expected)


def measured(artifact: ElfArtifact, cores: int) -> Measurement:
    board = EmulatedBoard(read_board_file("x60"), Usage(cores))
    board.open()
    measurement = board.measure(artifact, 1, TIMEOUT_S)
    assert (measurement.status, measurement.reason) == ("correct", "")
    return measurement


def time_of(artifact: ElfArtifact, cores: int) -> float:
    return measured(artifact, cores).time_s or 0.0


def of_each_program(value: float, programs: int = PROGRAMS) -> np.ndarray:
    expected = np.zeros(programs * LINE, np.float32)
    expected[::LINE] = value
    return expected


def test_programs_that_compute_are_as_much_faster_as_there_are_cores(build_kernel: Build) -> None:
    artifact = build_kernel(COMPUTE, [outputs(of_each_program(1))], (PROGRAMS, 1, 1))
    one, two, four, eight = (time_of(artifact, cores) for cores in (1, 2, 4, 8))
    assert [round(one / time, 1) for time in (two, four, eight)] == pytest.approx([2, 4, 8], 0.05)


def test_too_few_programs_leave_cores_idle(build_kernel: Build) -> None:
    artifact = build_kernel(COMPUTE, [outputs(of_each_program(1, 3))], (3, 1, 1))
    one, two, four = (time_of(artifact, cores) for cores in (1, 2, 4))
    assert one / two == pytest.approx(1.5, 0.05)  # two programs on one of them
    assert one / four == pytest.approx(3, 0.05)


def test_the_bus_serves_all_cores_and_no_more(build_kernel: Build) -> None:
    expected = np.zeros(STREAM_COUNT, np.float32).reshape(-1, 8)
    expected[:, 0] = 1
    artifact = build_kernel(STREAM, [outputs(expected.ravel())], (64, 1, 1))
    one, four, eight = (time_of(artifact, cores) for cores in (1, 4, 8))
    assert [four, eight] == pytest.approx([one, one], 0.1)
    # Whole lines are written without being read; L2 keeps some of them.
    assert eight > 0.75 * STREAM_COUNT * 4 / 8e9


def test_lines_that_several_cores_change_go_back_and_forth(build_kernel: Build) -> None:
    """Neighbouring programs count in the same lines; each core takes these from the others."""
    arguments = [outputs(np.full(4 * 64, 400, np.float32)), Argument("apart", "i32", 1)]
    artifact = build_kernel(COUNT, arguments, (64, 1, 1))
    one, four = measured(artifact, 1), measured(artifact, 4)
    assert one.counters["l1d_miss"] < 30  # 16 lines
    assert four.counters["l1d_miss"] > 130  # most programs miss their four


def test_each_core_has_a_stack_of_its_own(build_kernel: Build) -> None:
    artifact = build_kernel(ON_STACK, [outputs(of_each_program(768))], (PROGRAMS, 1, 1))
    one, four = measured(artifact, 1), measured(artifact, 4)
    # Each core fills its L1D once; none takes lines from another.
    assert four.counters["l1d_miss"] < 4 * one.counters["l1d_miss"] + 4 * 256
    assert (one.time_s or 0) / (four.time_s or 1) > 3.5


def test_each_core_knows_what_its_programs_ask_for(build_kernel: Build) -> None:
    """Their numbers come from an atomic instruction, and addresses from these."""
    artifact = build_kernel(AHEAD, [outputs(of_each_program(1))], (PROGRAMS, 1, 1))
    counters = measured(artifact, 4).counters
    assert counters["software_prefetch"] == PROGRAMS
    assert "software_prefetch_unresolved" not in counters


@pytest.mark.parametrize("cores", [2, 4])
def test_two_runs_give_the_same_figures(build_kernel: Build, cores: int) -> None:
    arguments = [outputs(np.full(4 * 64, 400, np.float32)), Argument("apart", "i32", 1)]
    artifact = build_kernel(COUNT, arguments, (64, 1, 1))
    first, second = measured(artifact, cores), measured(artifact, cores)
    assert first == second
    assert first.counters["u_mode_cycle"] > first.time_s * 1.6e9  # of all cores


def test_a_board_has_no_more_cores_than_its_file_says() -> None:
    with pytest.raises(UserError, match="emulated:x60 has 8 cores and --cores asks for 9"):
        EmulatedBoard(read_board_file("x60"), Usage(9))
    with pytest.raises(UserError, match="--timing cold is for one core"):
        EmulatedBoard(read_board_file("x60"), Usage(2, "cold"))


# Two grids of four programs each, of which the last is four times as long as the others.
TWO_GRIDS = """
#include "portions.h"
#include "region.h"
static void spin(const uint64_t *args, uint32_t x, uint32_t y, uint32_t z,
                 uint32_t num_x, uint32_t num_y, uint32_t num_z) {
    (void)args, (void)y, (void)z, (void)num_x, (void)num_y, (void)num_z;
    for (int i = 0; i < (x == 3 ? 40000 : 10000); i++) __asm__ volatile("");
}
int main(void) {
    const uint32_t grid[3] = {4, 1, 1};
    TRITON_RVV_REGION_START();
    for (int i = 0; i < 2; i++) {
        struct portions portions = portions_of(spin, 0, grid, 4);
        portions_run_in_turn(&portions);
    }
    TRITON_RVV_REGION_STOP();
}
"""


def test_a_grid_begins_when_all_cores_are_done_with_the_one_before(tmp_path: Path) -> None:
    source, program = tmp_path / "grids.c", tmp_path / "grids"
    source.write_text(TWO_GRIDS)
    folder = Path(launchers.__file__).parent
    sources = [f"-I{folder}", str(source), f"{folder}/portions.c"]
    run_zig_cc(["-static", "-O1", *sources, "-o", str(program)], timeout_s=TIMEOUT_S)
    regions = {}
    for cores in (1, 4):
        board = EmulatedBoard(read_board_file("x60"), Usage(cores))
        board.open()
        run = run_in_qemu(board.emulator, program, (), TIMEOUT_S)
        (regions[cores],) = parse_report(run.report or "")
    one, four = regions[1], regions[4]
    assert four.cycles == pytest.approx(one.cycles * 4 / 7, 0.02)  # the longest of each grid
    assert four.counters["u_mode_cycle"] == pytest.approx(one.cycles, 0.02)  # and no waits
