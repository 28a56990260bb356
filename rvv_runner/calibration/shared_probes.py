"""Probes of what cores share: L2, the bus to DRAM, and lines that several of them write.

Each core walks over lines of its own, in a part of the array that no other one touches; only the
last probe's cores all write one line. On one core, the same walks tell what a core has for itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from rvv_runner.calibration.memory_kernels import LINE_BYTES
from rvv_runner.calibration.micro_kernel import MicroKernel, unrolled
from rvv_runner.calibration.probe import Probe

__all__ = ["CORE_COUNTS", "shared_probes"]

CORE_COUNTS = (1, 2, 4, 8)
_PART_SHIFT = 22  # 4 MiB of each core: eight of them fit into the array
_COPIES = 16

# A core's part is at a7, and full of zeros that it wrote itself: of pages that nobody wrote, a
# system has one for all. The offset is t1 and its mask t5; t4 is another line in each run.
_SETUP = f"""mv s1, a0
la a7, arena
slli t0, a0, {_PART_SHIFT}
add a7, a7, t0
la t0, arena_ready
add t0, t0, a0
lbu t1, (t0)
bnez t1, 7f
li t1, 1
sb t1, (t0)
mv t0, a7
li t1, 1 << {_PART_SHIFT}
add t1, t1, t0
1:
sd x0, (t0)
addi t0, t0, {LINE_BYTES}
bltu t0, t1, 1b
7:
la t0, arena_runs
ld t4, (t0)
addi t3, t4, 1
sd t3, (t0)
li t3, 40503
mul t4, t4, t3
slli t4, t4, 6
addi t5, a2, -1
slli t5, t5, 6
li t2, 0
li t1, 0
"""
_NEXT = f"addi t1, t1, {LINE_BYTES}\nand t6, t1, t5\nadd t6, t6, a7\n"
_LOAD = "ld t3, (t6)\nadd t2, t2, t3\n"
_ELSEWHERE = "mv t1, t4\n"
_LINE_OF_ZEROS = "li t3, 64\nvsetvli x0, t3, e8, m4, ta, ma\nvmv.v.i v8, 0\n"
# Each program's result, behind that of the one before.
_FINISH = "slli s1, s1, 3\nadd s1, s1, a6\nsd t2, (s1)"

# By name: bytes that a core goes over, what it does before the loop, and at each line.
_WALKS: Mapping[str, tuple[int, str, str]] = {
    "64 KiB of its own again": (64 << 10, "", _LOAD),
    "256 KiB of its own again": (256 << 10, "", _LOAD),
    "loads of lines in a row from DRAM": (1 << _PART_SHIFT, _ELSEWHERE, _LOAD),
    "stores of lines in a row to DRAM": (
        *(1 << _PART_SHIFT, _ELSEWHERE + _LINE_OF_ZEROS),
        "vse8.v v8, (t6)\n",
    ),
}
_WORD = "la t6, arena\nslli t0, s1, 3\nadd t6, t6, t0\nsd x0, (t6)\n"
_COUNT = "ld t2, (t6)\naddi t2, t2, 1\nsd t2, (t6)\n"


def shared_probes(cores: int) -> tuple[Probe, ...]:
    """The probes that run on so many cores at once."""
    where = "one core" if cores == 1 else f"{cores} cores"
    walks = [_walk(f"{name}, on {where}", cores, *walk) for name, walk in _WALKS.items()]
    return (*walks, _one_line(f"counts in words of one line, on {where}", cores))


def _walk(name: str, cores: int, size_bytes: int, setup: str, use: str) -> Probe:
    kernel = MicroKernel(
        name,
        _SETUP + setup,
        unrolled([_NEXT + use], _COPIES),
        _FINISH,
        lambda vlen_bits, parameters: bytes(8 * cores),  # the lines hold zeros
        copies=_COPIES,
        parameters={"count": size_bytes // LINE_BYTES},
    )
    return Probe(kernel, cores)


def _one_line(name: str, cores: int) -> Probe:
    def expected(vlen_bits: int, parameters: Mapping[str, int]) -> bytes:
        return (_COPIES * parameters["iterations"]).to_bytes(8, "little") * cores

    body = unrolled([_COUNT], _COPIES)
    kernel = MicroKernel(name, f"mv s1, a0\n{_WORD}", body, _FINISH, expected, copies=_COPIES)
    return Probe(kernel, cores, "count")
