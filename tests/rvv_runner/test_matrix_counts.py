"""The matrix instruction on the emulated X60: counted once each, and timed as boards take it."""

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
TURNS = 400
BYTES = 1 << 14

# Each body runs once before it is measured, which puts software in the place of its instructions.
MAIN = """
#include <stdint.h>
static _Alignas(64) int8_t a[{size}], b[{size}];
static int32_t out[16];
{functions}
int main(void) {{
    for (int i = 0; i < {size}; i++) {{
        a[i] = (int8_t)(7 * i + 3);
        b[i] = (int8_t)(5 * i - i / 9);
    }}
    {calls}
    int32_t expected = 0;
    for (int k = 0; k < 8; k++)
        expected += a[1 * 8 + k] * b[2 * 8 + k];
    return out[1 * 4 + 2] == expected ? 0 : 1;
}}
"""
FUNCTION = """
__attribute__((noinline)) static void f{number}(int turns) {{
    __asm__ volatile("vsetvli t0, zero, e8, m1, ta, ma\\n"
                     "1: mv t1, %0\\n mv t2, %1\\n"
                     "{body}"
                     "addi %2, %2, -1\\n bnez %2, 1b\\n"
                     : "+r"((char *){{a}}), "+r"((char *){{b}}), "+r"(turns) : "r"(out)
                     : "t0", "t1", "t2", "memory");
}}
"""


def vmadot(sums: int, left: int, right: int) -> str:
    return f".4byte {0xE200302B | sums << 7 | left << 15 | right << 20:#x}"


def load(register: int, pointer: str) -> list[str]:
    return [f"vle8.v v{register}, ({pointer})", f"addi {pointer}, {pointer}, 32"]
