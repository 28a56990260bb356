"""The matrix instruction on the emulated X60: exact, counted once, and as fast as on a board."""

from __future__ import annotations

from pathlib import Path

import pytest

import launchers
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.counters import Region, parse_report
from rvv_runner.emulated.run import run_in_qemu
from triton_rvv.codegen.zig import run_zig_cc

LIMIT_S = 120.0
TURNS = 200

# The body runs once before it is measured, which puts software in the place of its instructions.
# Then the sums of one more are compared with what the instruction is specified to give.
MAIN = """
#include <stdint.h>
static _Alignas(64) int8_t a[1024], b[1024];
static int32_t sums[16];
__attribute__((noinline)) static void body(long turns) {
    __asm__ volatile(BODY : : "r"(a), "r"(b), "r"(turns) : "t0", "t1", "t2", "t3", "memory");
}
int main(void) {
    for (int i = 0; i < 1024; i++) {
        a[i] = (int8_t)(7 * i + 3);
        b[i] = (int8_t)(5 * i - i / 9);
    }
    body(1);
    __asm__ volatile("slti x0, x0, 0x5a1");
    body(TURNS);
    __asm__ volatile("slti x0, x0, 0x5a2");
    __asm__ volatile(ONCE : : "r"(a), "r"(b), "r"(sums) : "t0", "memory");
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int32_t expected = 0;
            for (int k = 0; k < 8; k++)
                expected += a[i * 8 + k] * b[j * 8 + k];
            if (sums[i * 4 + j] != expected)
                return 1;
        }
    return 0;
}
"""


def vmadot(sums: int, left: int, right: int) -> str:
    return f".4byte {0xE200302B | sums << 7 | left << 15 | right << 20:#x}"


ONCE = [
    "vsetvli t0, zero, e8, m1, ta, ma",
    "vle8.v v2, (%0)",
    "vle8.v v3, (%1)",
    "vxor.vv v0, v0, v0",
    "vxor.vv v1, v1, v1",
    vmadot(0, 2, 3),
    "vs2r.v v0, (%2)",
]


def loop(lines: list[str]) -> list[str]:
    start = ["vsetvli t0, zero, e8, m1, ta, ma", "mv t3, %2", "1:", "mv t1, %0", "mv t2, %1"]
    return [*start, *lines, "addi t3, t3, -1", "bnez t3, 1b"]


def loads(first: int) -> list[list[str]]:
    """Six registers: two of A, four of B."""
    pointers = ["t1", "t1", "t2", "t2", "t2", "t2"]
    return [
        [f"vle8.v v{first + n}, ({at})", f"addi {at}, {at}, 32"] for n, at in enumerate(pointers)
    ]


def products(first: int) -> list[str]:
    """The tile of 8 x 16, whose sums are in v0 to v15."""
    return [
        vmadot(2 * (4 * row + column), first + row, first + 2 + column)
        for row in range(2)
        for column in range(4)
    ]


def one_by_one() -> list[str]:
    loaded = [line for load in loads(16) for line in load]
    return [*loaded, *products(16)] * 2


def pipelined() -> list[str]:
    """The loads for the next step lie between the products of this one."""
    lines = []
    for now, later in ((16, 22), (22, 16)):
        for product, load in zip(products(now), [*loads(later), [], []], strict=True):
            lines += [product, *load]
    return lines


@pytest.fixture(scope="module")
def board() -> EmulatedBoard:
    board = load_board("emulated:x60-ime")
    assert isinstance(board, EmulatedBoard)
    board.open()
    return board


def run(board: EmulatedBoard, folder: Path, lines: list[str]) -> Region:
    source = MAIN.replace("TURNS", str(TURNS))
    for name, body in (("BODY", loop(lines)), ("ONCE", ONCE)):
        text = "\\n".join([".option push", ".option arch, +v", *body, ".option pop"])
        source = source.replace(name, f'"{text}"')
    (folder / "main.c").write_text(source)
    stand_in = Path(launchers.__file__).with_name("matrix_unit.c")
    flags = ["-static", "-O2"]
    run_zig_cc([*flags, "main.c", str(stand_in), "-o", "main"], timeout_s=LIMIT_S, folder=folder)
    done = run_in_qemu(board.emulator, folder / "main", (), LIMIT_S)
    assert done.result.returncode == 0, done.result.stderr
    assert done.report is not None
    (region,) = parse_report(done.report)
    return region


# Of an Orange Pi RV2 at 1.6 GHz (ime-bench): 1.80 to 1.91 cycles for an instruction where loads are
# pipelined, 2.77 without.
@pytest.mark.parametrize(("lines", "measured"), [(pipelined(), 1.855), (one_by_one(), 2.77)])
def test_a_loop_in_l1_takes_what_a_board_took(
    board: EmulatedBoard, tmp_path: Path, lines: list[str], measured: float
) -> None:
    region = run(board, tmp_path, lines)
    count = 16 * TURNS
    assert region.raw["vector_instructions"] == count + 12 * TURNS
    assert region.cycles / count == pytest.approx(measured, rel=0.15)


def test_a_board_without_the_unit_ends_the_program(board: EmulatedBoard, tmp_path: Path) -> None:
    run(board, tmp_path, pipelined())
    other = load_board("emulated:x60")
    assert isinstance(other, EmulatedBoard)
    other.open()
    done = run_in_qemu(other.emulator, tmp_path / "main", (), LIMIT_S)
    assert done.result.returncode == -4  # SIGILL
