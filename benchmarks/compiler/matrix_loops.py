"""Loops of the X60's matrix instruction whose speed on a board is published, as artifacts.

ime-bench (2026) measured them on an Orange Pi RV2 at a pinned 1.6 GHz: a tile of 8 x 16 results,
which takes six loads for eight instructions, on data in the L1 cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import launchers
from launchers.arguments import Argument
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from rvv_runner.measurement import ElfArtifact
from triton_rvv.codegen.link import link_elf
from triton_rvv.codegen.zig import run_zig_cc
from triton_rvv.targets.target import RVVTarget

__all__ = ["OPERATIONS", "Loop", "artifact_of", "one_by_one", "pipelined", "tiles"]

# Of one instruction: 4 x 8 times 8 x 4, where a product and its sum count as two.
OPERATIONS = 256
TIMEOUT_S = 120.0

_ROWS, _COLUMNS = 2, 4  # operands of A and B in a tile
_STEP_BYTES = 32 * _COLUMNS
_STEPS = 32  # whose operands lie in memory, alike in each
_TURNS = 100

_KERNEL = """
#include "kernel_abi.h"
const uint32_t triton_rvv_vlen_bits = 256;
const char triton_rvv_kernel_name[] = "matrix_loop";
void triton_rvv_kernel(const uint64_t *args, uint32_t x, uint32_t y, uint32_t z, uint32_t nx,
                       uint32_t ny, uint32_t nz) {
    (void)x, (void)y, (void)z, (void)nx, (void)ny, (void)nz;
    __asm__ volatile("TEXT" : : "r"(args[0]), "r"(args[1]), "r"(args[2])
                     : "t0", "t1", "t2", "t3", "t4", "t5", "memory");
}
"""


@dataclass(frozen=True)
class Loop:
    """A loop, as lines of assembly.

    Args:
        lines: take A, B and where sums go in %0, %1 and %2.
        instructions: of the matrix unit, in all.
        steps: along K that are in the sums in the end.
    """

    lines: Sequence[str]
    instructions: int
    steps: int


def _vmadot(sums: int, left: int, right: int) -> str:
    """SpacemiT, "AI Matrix Extension", chapter 8."""
    return f".4byte {0xE200302B | sums << 7 | left << 15 | right << 20:#x}"


def _loads(first: int) -> list[list[str]]:
    """One load and the step of its pointer, for each operand."""
    pointers = ["t1"] * _ROWS + ["t2"] * _COLUMNS
    return [
        [f"vle8.v v{first + n}, ({at})", f"addi {at}, {at}, 32"] for n, at in enumerate(pointers)
    ]


def _products(first: int) -> list[str]:
    """Sums are in v0 to v15."""
    return [
        _vmadot(2 * (_COLUMNS * row + column), first + row, first + _ROWS + column)
        for row in range(_ROWS)
        for column in range(_COLUMNS)
    ]


def _all_loads(first: int) -> list[str]:
    return [line for load in _loads(first) for line in load]


def _two_steps() -> list[str]:
    """The loads for the next step lie between the products of this one."""
    lines = []
    for now, later in ((16, 22), (22, 16)):
        for product, load in zip(_products(now), [*_loads(later), [], []], strict=True):
            lines += [product, *load]
    return lines


def _repeated(lines: Sequence[str], turns: int, counter: str, label: str) -> list[str]:
    turn = [*lines, f"addi {counter}, {counter}, -1", f"bnez {counter}, {label}b"]
    return [f"li {counter}, {turns}", f"{label}:", *turn]


_BEGIN = ["mv t1, %0", "mv t2, %1"]
_CLEAR = [f"vxor.vv v{n}, v{n}, v{n}" for n in range(16)]
_STORE = [line for n in range(16) for line in (f"vse8.v v{n}, (t5)", "addi t5, t5, 32")]


def _loop(lines: Sequence[str], instructions: int, steps: int) -> Loop:
    start = ["vsetvli t0, zero, e8, m1, ta, ma", *_BEGIN, *_all_loads(16), *_CLEAR]
    return Loop([*start, *lines, "mv t5, %2", *_STORE], instructions, steps)


def pipelined() -> Loop:
    """Loads early enough that no product waits for one."""
    steps = _TURNS * _STEPS
    turns = _repeated(_two_steps(), _STEPS // 2, "t3", "1")
    lines = _repeated([*_BEGIN, *turns], _TURNS, "t4", "2")
    return _loop(lines, steps * _ROWS * _COLUMNS, steps)


def one_by_one() -> Loop:
    """All loads of a step, then its products."""
    steps = _TURNS * _STEPS
    turns = _repeated([*_all_loads(16), *_products(16)], _STEPS, "t3", "1")
    lines = _repeated([*_BEGIN, *turns], _TURNS, "t4", "2")
    return _loop(lines, steps * _ROWS * _COLUMNS, steps)


def tiles() -> Loop:
    """Pipelined, and after each 256 elements along K, sums are stored and begin anew."""
    turns = _repeated(_two_steps(), _STEPS // 2, "t3", "1")
    tile = [*_CLEAR, *_BEGIN, *turns, "mv t5, %2", *_STORE]
    lines = _repeated(tile, _TURNS, "t4", "2")
    return _loop(lines, _TURNS * _STEPS * _ROWS * _COLUMNS, _STEPS)


def artifact_of(loop: Loop, folder: Path) -> ElfArtifact:
    """The loop as a kernel whose sums are checked, for any board with the unit."""
    text = "\\n".join([".option push", ".option arch, +v", *loop.lines, ".option pop"])
    source, compiled = folder / "loop.c", folder / "loop.o"
    source.write_text(_KERNEL.replace("TEXT", text), encoding="utf-8")
    include = Path(launchers.__file__).parent
    flags = ["-c", "-O2", f"-I{include}", str(source), "-o", str(compiled)]
    run_zig_cc(flags, timeout_s=TIMEOUT_S)
    elf = folder / "loop.elf"
    link_elf([compiled, launcher_object(RVVTarget.named("x60-ime"))], elf)
    random = np.random.default_rng(20261126)
    a, b = (random.integers(-128, 128, (n, 4, 8), dtype=np.int8) for n in (_ROWS, _COLUMNS))
    sums = loop.steps * np.einsum("rik,cjk->rcij", a.astype(np.int64), b.astype(np.int64))
    ahead = 2  # loads reach beyond the last step
    arguments = [
        Argument("a", "*i8", np.tile(a.reshape(-1), _STEPS + ahead)),
        Argument("b", "*i8", np.tile(b.reshape(-1), _STEPS + ahead)),
        Argument("sums", "*i32", None, sums.astype(np.int32).reshape(-1)),
    ]
    write_data_file(folder / "loop.data", arguments)
    digest = hashlib.sha256(elf.read_bytes()).hexdigest()
    # The last sums of `tiles` are those of any.
    return ElfArtifact(elf, digest, folder / "loop.data", (1, 1, 1), 256, kernel="matrix_loop")
